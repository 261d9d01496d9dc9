// What the reports that judge methods say of them in a word and in a sentence.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/records/snapshot.h"
#include "results/rows/answer.h"
#include "results/rows/rows.h"

namespace approx {

// Whether the method of a row is worth using (docs/internals/statistics.md, "Is it worth
// using?").
struct Worth {
  Answer answer = Answer::kUndecided;
  // Of a no, what says so: the loss, the speed, the exact training of the same time or accuracy.
  bool loses = false, slow = false, beaten = false;
  // Of an undecided one, what it lacks: timing processes and seeds, so many more; seeds, of which
  // nobody knows how many; an exact training of the same time.
  int64_t timings = 0, seeds = 0;
  bool any_seeds = false, same_time = false;
};

// By row. Rows of exact training have none.
using Worths = std::map<const Row*, Worth>;

// "✔ yes", "✘ loses too much", "? needs 5 more timings".
std::string worth_text(const Worth& worth);

// "3 methods: none worth it, 2 lose too much, 1 undecided (needs 5 more timings)."; "" for none.
std::string worth_sentence(const Worths& worths);

// The words of the command for a report on the same runs: {"report", "advice", "quickstart"}.
std::vector<std::string> report_command(const std::string& report, const ReportOptions& options);

// The words of the sweep that makes what undecided rows lack: {"sweep", "@quickstart", "--set",
// "timing_seeds=0-9"}. None where they lack nothing that a sweep makes, and where the store has
// several experiments and the options name none.
std::vector<std::string> deciding_command(const Worths& worths, const Snapshot& snapshot,
                                          const ReportOptions& options);

}  // namespace approx
