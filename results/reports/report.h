// A report: a table of what the store holds, and the figure that shows it. One .cpp in
// results/reports/ each, with a REGISTER_REPORT; `approxtrain report NAME` finds it. A report is
// made of one snapshot of the store and gives the same table for the same content, to the byte; an
// empty store gives an empty table.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/registry.h"
#include "results/records/snapshot.h"
#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

struct Report {
  static constexpr const char* kWhat = "report";
  std::string name;     // of the subcommand
  std::string summary;  // in its --help
  std::string needs;    // what of a store it is made of: said where there is none of it
  std::string script;   // plots/SCRIPT.gp draws its CSV; "" where there is no picture
  // Whether it is of the experiments' runs, and can be of those of one experiment.
  bool of_experiment = true;
  int place = std::numeric_limits<int>::max();  // in --help, from 1; equal ones stand by name
  // The table of a store. Throws Error(kDatabase) for a store that nothing of ours wrote, Error
  // (kUsage) for options that do not fit it, and for one whose rows lack what they would be held
  // against.
  std::function<Table(const Snapshot& snapshot, const ReportOptions& options)> make;

  Report& about(std::string text) { return summary = std::move(text), *this; }
  Report& made_of(std::string text) { return needs = std::move(text), *this; }
  Report& drawn_by(std::string name_of_script) { return script = std::move(name_of_script), *this; }
  Report& of_the_store() { return of_experiment = false, *this; }
  Report& at(int position) { return place = position, *this; }
};

// All reports in the order of their places.
std::vector<const Report*> reports();

// The table gets the name of its report where it has none of its own.
template <typename Make>
Report& register_report(const std::string& name, Make make) {
  auto& report = Registry<Report>::instance().add(name);
  report.make = [name, make](const Snapshot& snapshot, const ReportOptions& options) {
    Table table = make(snapshot, options);
    if (table.name.empty()) table.name = name;
    return table;
  };
  return report;
}

}  // namespace approx

#define REGISTER_REPORT(NAME, MAKE)                                        \
  [[maybe_unused]] static ::approx::Report& APPROX_UNIQUE(report_entry_) = \
      ::approx::register_report(NAME, MAKE)
