// The data gradient of a dY in bfloat16 with few entries, which are multiplied in pairs, from any
// source of entries (kernels/pruned_dy/data_gradient_bf16.cpp). Defined where Highway says
// HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL.
#pragma once

#include <cstdint>

#include "kernels/bfloat16.h"
#include "kernels/team.h"
#include "products/problem.h"

namespace approx {

// The variant for a pruned dY. Its rows in the current table (products/rules.h) say where pairs
// pay.
inline constexpr const char* kPairRows = "pair_rows_bf16";

// The images of dY, one at a time.
class PairImages {
 public:
  virtual ~PairImages() = default;

  // The numbers of image `index`, [Ho,Wo,Co]. They may be written to `room`, and are valid until
  // the next call with that room. Called by several threads.
  virtual const uint16_t* image(int64_t index, uint16_t* room) const = 0;

  // The required size of `room`, in numbers.
  virtual int64_t room() const { return 0; }
};

// Whether the machine has products of pairs, and the kernel can compute the data gradient of the
// problem.
bool pair_rows_fit(const Problem& problem);

// Writes that data gradient for w [Co,Kh,Kw,Ci] to `out` [N,H,W,Ci]. Numbers of dY with magnitude
// zero are not multiplied.
void pair_data_gradient(const Problem& problem, const BFloat16* w, const PairImages& dy,
                        BFloat16* out, const Team& team);

}  // namespace approx
