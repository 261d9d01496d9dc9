// Merges stores of several machines into one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace approx {

struct MergeCounts {
  // Runs, kernel benchmarks and studies that the store did not have, or whose end it did not know.
  int64_t added = 0;
  int64_t present = 0;  // results of the other stores that it had already
  // Left out: still running on their machine, or lost there and not yet settled.
  int64_t running = 0;
};

// Adds the content of the stores `from` to the store `into`, which is created if missing. The other
// stores are only read. Results are identified by name (run.uid), so merging twice changes nothing.
// The attempts at a cell are numbered anew in the order in which they began. The result depends on
// the contents of the stores, not on the order in which they are named or were merged before. All
// rows are written anew, in one transaction.
// Two stores may have different texts for an experiment of one name: the text recorded last stays,
// and the cells of both. They may also have different ends and measurements for one run. A result
// then wins over any other end, and any other end wins over a lost or interrupted one.
// Throws Error(kDatabase) as opening does, for a store that is missing, and where a run of `into`
// is running now. Nothing has then changed.
MergeCounts merge_stores(const std::string& into, const std::vector<std::string>& from);

}  // namespace approx
