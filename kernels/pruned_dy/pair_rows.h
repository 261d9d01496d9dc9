// The data gradient of a dY in bfloat16 with few entries by pairs of them, whatever tells the
// entries (kernels/pruned_dy/data_gradient_bf16.cpp). Defined where Highway says HWY_ARCH_X86 &&
// HWY_COMPILER_GCC_ACTUAL.
#pragma once

#include <cstdint>

#include "kernels/bfloat16.h"
#include "kernels/team.h"
#include "products/problem.h"

namespace approx {

// The variant that takes a pruned dY, whose rows of the table in use (products/rules.h) say where
// pairs pay.
inline constexpr const char* kPairRows = "pair_rows_bf16";

// The images of dY, one at a time.
class PairImages {
 public:
  virtual ~PairImages() = default;

  // The numbers of image `index`, [Ho,Wo,Co]. May be made in `room`, where they stay until the next
  // call with that room. Called by several threads.
  virtual const uint16_t* image(int64_t index, uint16_t* room) const = 0;

  // How many numbers `room` has.
  virtual int64_t room() const { return 0; }
};

// Whether the machine has products of pairs, and they compute the data gradient of the problem.
bool pair_rows_fit(const Problem& problem);

// Writes that data gradient of w [Co,Kh,Kw,Ci] to `out` [N,H,W,Ci]. Numbers of dY whose magnitude
// is zero are not multiplied.
void pair_data_gradient(const Problem& problem, const BFloat16* w, const PairImages& dy,
                        BFloat16* out, const Team& team);

}  // namespace approx
