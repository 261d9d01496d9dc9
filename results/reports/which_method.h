// Which method to use on which hardware, as `scripts/make-results` found from the stored results.
#pragma once

#include <string>
#include <string_view>

#include "results/render/table.h"

namespace approx {

struct WhichMethodFilter {
  std::string hardware;   // "cpu" or "gpu", "" for both
  std::string precision;  // "bf16", "" for every precision
  // Otherwise only the line with the most data for each hardware, precision and method.
  bool all_networks = false;
};

// The decision table from the text of results/measured/which-method.json (schema
// "approxtrain.advice/1"). It has one row for each hardware, precision, method and network that
// match the filter, in the order of the file. The notes explain the columns. They also name the
// machines, days and commits of each database. A table without rows has no notes.
// Throws Error(kUsage), to which the caller adds the file's name, where the text is not such a
// file.
Table which_method(std::string_view text, const WhichMethodFilter& filter);

}  // namespace approx
