// Multiply-adds in registers: work that asks nothing of a machine but its cores.
#pragma once

#include <cstdint>

namespace approx {

// Does `rounds` times a dozen multiply-adds of whole vectors, none of which waits for another and
// none of which touches memory: they take both multipliers of a core, so two threads that share a
// core take twice as long. Returns their sum, so that they are done.
float fma_rounds_simd(int64_t rounds);

// Floating-point operations of a round, two a multiply-add, in the vectors of this machine.
int64_t fma_round_flops_simd();

}  // namespace approx
