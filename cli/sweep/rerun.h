// Which runs a sweep does: runs without a result, and those that --rerun names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/store/run_store.h"

namespace approx {

// The runs to repeat.
struct Rerun {
  std::vector<RunState> states;
  bool tainted = false;  // timing runs that finished but were disturbed; no report counts them
  bool older = false;    // results of older code

  bool has(RunState state) const;
};

// Whether the result of a cell is by older code: by another commit than `commit`, this program's.
// False where either is not known. Code that changes results gives other keys (versions of methods
// and networks), so such a result still counts.
bool is_older(const CellStatus& status, std::string_view commit);

// Reads a list such as "failed,oom,tainted". Throws Error(kUsage) for a word that is no end state
// of a run, and for an empty list.
Rerun parse_rerun(std::string_view text);

// Whether a run must be done whose status in the store is `status`. Interrupted and lost runs
// always are; other ended runs are if `rerun` names their state, or results older than `commit`.
bool needs_run(const CellStatus& status, const Rerun& rerun, std::string_view commit);

}  // namespace approx
