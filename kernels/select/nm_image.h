// N:M pruning of one image, rescaled while it is in the cache, on plain memory.
#pragma once

#include "kernels/select/pruned.h"

namespace approx {

// Prunes the image of `plane` pixels that begins at element `begin` of args.dy, and multiplies what
// stays of each of its planes by what keeps the plane's sum of magnitudes (Rescaling::kPlane).
// args.m divides the channels, and 4 the elements of an image. `first_draw` as of nm_simd. Returns
// how many entries chosen are not zero.
int64_t nm_image_simd(const NmArgs<float>& args, int64_t plane, int64_t begin,
                      int64_t first_draw = 0);
int64_t nm_image_simd(const NmArgs<BFloat16>& args, int64_t plane, int64_t begin,
                      int64_t first_draw = 0);

}  // namespace approx
