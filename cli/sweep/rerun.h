// Which runs a sweep does: runs without a result, and those that --rerun names.
#pragma once

#include <string_view>
#include <vector>

#include "results/store/run_store.h"

namespace approx {

// The runs to repeat.
struct Rerun {
  std::vector<RunState> states;
  bool tainted = false;  // timing runs that finished but were disturbed; no report counts them

  bool has(RunState state) const;
};

// Reads a list such as "failed,oom,tainted". Throws Error(kUsage) for a word that is no end state
// of a run, and for an empty list.
Rerun parse_rerun(std::string_view text);

// Whether a run must be done whose status in the store is `status`. Interrupted and lost runs
// always are; other ended runs are if `rerun` names their state.
bool needs_run(const CellStatus& status, const Rerun& rerun);

}  // namespace approx
