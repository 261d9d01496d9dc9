// Which runs a sweep does: those without a result, and what --rerun names.
#pragma once

#include <string_view>
#include <vector>

#include "results/store/run_store.h"

namespace approx {

// Whose runs are done again.
struct Rerun {
  std::vector<RunState> states;
  bool tainted = false;  // timing runs that finished but were disturbed, which no report counts

  bool has(RunState state) const;
};

// "failed,oom,tainted". Throws Error(kUsage) for a word that is no end of a run, and for none.
Rerun parse_rerun(std::string_view text);

// Whether a run is to be done, of which the store knows `status`. Interrupted and lost ones are in
// any case, others that ended if `rerun` says so.
bool needs_run(const CellStatus& status, const Rerun& rerun);

}  // namespace approx
