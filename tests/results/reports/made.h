// Reports as the program calls them: by their names.
#pragma once

#include <string>

#include "results/reports/report.h"

namespace approx {

inline Table made(const std::string& report, const std::string& db,
                  const ReportOptions& options = {}) {
  return Registry<Report>::instance().find(report).make(Snapshot(db), options);
}

}  // namespace approx
