// Shares the stopped steps out among residual blocks by what each is worth.
#pragma once

#include <cstdint>
#include <vector>

namespace approx {

// One block, as a rule knows it.
struct BlockWorth {
  double sensitivity = 0;  // how much a gradient changes if the block is stopped; 0 or more
  int64_t work = 1;        // multiply-accumulates of its backward pass; 1 or more
};

// In how many of the patterns of steps (StepDraws) each block is stopped. The mean over the blocks,
// weighted by their work, is `patterns`, or more by less than one pattern of one block. So as much
// work is left out as with equal rates.
//
// As in the published code of DropBP (Woo et al. 2024), the block whose sensitivity times its next
// rate is least gets one pattern more, again and again; the earlier one among equals. No block is
// stopped in more than nine tenths of the steps, or in more than `patterns` if that is more.
std::vector<int64_t> rates_by_sensitivity(const std::vector<BlockWorth>& blocks, int64_t patterns);

}  // namespace approx
