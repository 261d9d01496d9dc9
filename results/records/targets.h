// Targets that were derived from exact trainings and stored with their provenance.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "results/store/database.h"

namespace approx {

// The name under which they stand among the studies.
inline constexpr const char* kTargetStudy = "target";

// Its columns: the group of exact trainings, the run and its best accuracy, and the target of the
// group. A row is one run. `db check` reads them by their positions.
inline constexpr const char* kTargetColumns[] = {
    "network", "dataset", "setting", "seed",   "run_key",   "started_utc",
    "commit",  "best",    "median",  "target", "margin_pp", "runs",
};

// A target of one group of exact trainings. Accuracies are shares.
struct StoredTarget {
  std::string experiment;  // "" if it was derived from all runs of a store
  std::string margin;      // as text: "0.5 points"
  std::string derived_utc;
  std::string commit;  // of the program that derived it
  double median = 0, share = 0;
  std::set<std::string> run_keys;  // of the exact trainings
  std::set<std::string> commits;   // of the programs that trained them

  int64_t runs() const { return static_cast<int64_t>(run_keys.size()); }

  // "median best of 12 dense runs less 0.5 points, derived 2026-11-28 by commit 0123abc".
  std::string origin() const;
};

// The origin of a target: "median best of 12 dense runs less 0.5 points".
std::string target_origin(int64_t runs, const std::string& margin);

// All stored targets, the newest last; those of `experiment` come after all others. Rows that no
// target has are left out: `db check` names them. Throws Error(kDatabase).
std::vector<StoredTarget> read_targets(SQLite::Database& db, const std::string& experiment);

}  // namespace approx
