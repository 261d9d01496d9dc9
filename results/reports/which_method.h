// Which method to use on which hardware, as `scripts/make-results` found it in the stored results.
#pragma once

#include <string>
#include <string_view>

#include "results/render/table.h"

namespace approx {

struct WhichMethodFilter {
  std::string hardware;   // "cpu" or "gpu", "" for both
  std::string precision;  // "bf16", "" for every precision
  // Else of each hardware, precision and method the one line that rests on most.
  bool all_networks = false;
};

// The decision table from the text of results/measured/which-method.json (schema
// "approxtrain.advice/1"): one row for each hardware, precision, method and network that fit the
// filter, in the order of the file. The notes say what the columns mean, and on which machines, on
// which days and by which commits each database was made. A table without rows has no notes.
// Throws Error(kUsage), to which the caller adds the file's name, where the text is no such file.
Table which_method(std::string_view text, const WhichMethodFilter& filter);

}  // namespace approx
