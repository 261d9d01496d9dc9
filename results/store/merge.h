// Stores of several machines made one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace approx {

struct MergeCounts {
  // Runs, kernel benchmarks and studies that the store did not have, or whose end it did not know.
  int64_t added = 0;
  int64_t present = 0;  // of the others' that it had already
  int64_t running = 0;  // left out: still running where they are, or lost there and not yet settled
};

// Takes what is in the stores `from` into the store `into`, which is made where it is missing; the
// others are only read. What was computed is known by its name (run.uid), so that to take it twice
// changes nothing. The attempts at a cell are counted anew in the order in which they began. The
// result depends on what is in the stores and not on the order in which they are named or were
// merged before: all rows are written anew, in one transaction.
//
// Where two stores say different things of an experiment of one name, the text that was recorded
// last stays, and the cells of both. Where they say different things of how a run ended, with all
// that it measured: a result rather than another end, and that rather than one that was lost or
// interrupted.
//
// Throws Error(kDatabase) as opening does, for a store that is missing, and where a run of `into`
// is running now. Nothing has then changed.
MergeCounts merge_stores(const std::string& into, const std::vector<std::string>& from);

}  // namespace approx
