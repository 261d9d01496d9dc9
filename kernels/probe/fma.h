// Multiply-adds in registers: work that uses only the cores of a machine.
#pragma once

#include <cstdint>

namespace approx {

// Does `rounds` times a dozen multiply-adds of whole vectors. They are independent and do not touch
// memory. They use both multipliers of a core, so two threads that share a core take twice as long.
// Returns their sum, so that the compiler keeps them.
float fma_rounds_simd(int64_t rounds);

// Floating-point operations of a round, two per multiply-add, with the vectors of this machine.
int64_t fma_round_flops_simd();

}  // namespace approx
