// Verdicts on methods as a word and as a sentence, for the reports that judge methods.
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
  // The reasons of a no: the loss, the speed, or exact training of the same time or accuracy.
  bool loses = false, slow = false, beaten = false;
  // The data that an undecided verdict lacks. `timings` and `seeds` count further timing processes
  // and seeds. `any_seeds` stands for an unknown number of seeds, `same_time` for exact training of
  // the same time.
  int64_t timings = 0, seeds = 0;
  bool any_seeds = false, same_time = false;
};

// The worth of each row. Rows of exact training have none.
using Worths = std::map<const Row*, Worth>;

// A verdict in a table: "✔ yes", "✘ loses too much", "? needs 5 more timings".
std::string worth_text(const Worth& worth);

// A sentence about all methods: "3 methods: none worth it, 2 lose too much, 1 undecided (needs 5
// more timings)."; "" for none.
std::string worth_sentence(const Worths& worths);

// The most that any undecided row lacks: "5 more timings, 2 more seeds"; "" where that cannot be
// counted.
std::string lacks_text(const Worths& worths);

// The words of the sweep of an experiment by its name in a store: {"sweep", "@wang2019:table5",
// "--scale", "reduced"}. None where neither its name nor the file that it was read from is known.
std::vector<std::string> sweep_command(const Snapshot& snapshot, const std::string& experiment);

// The words of the command for a report on the same runs: {"report", "advice", "quickstart"}.
std::vector<std::string> report_command(const std::string& report, const ReportOptions& options);
// The words of the command for its picture: {"report", "tta", "quickstart", "--format", "svg",
// "--out", "tta.svg"}.
std::vector<std::string> picture_command(const std::string& report, const ReportOptions& options);

// The words of the sweep that makes the data that undecided rows lack: {"sweep", "@quickstart",
// "--set", "timing_seeds=0-9"}. None where they lack nothing that a sweep makes. None also where
// the store has several experiments and the options name none.
std::vector<std::string> deciding_command(const Worths& worths, const Snapshot& snapshot,
                                          const ReportOptions& options);

}  // namespace approx
