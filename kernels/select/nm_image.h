// N:M pruning of one image with rescaling while it is in the cache, on plain memory.
#pragma once

#include "kernels/select/pruned.h"

namespace approx {

// Prunes the image of `plane` pixels that begins at element `begin` of args.dy. Multiplies the kept
// entries of each plane so that it keeps its sum of magnitudes (Rescaling::kPlane). The channels
// are a multiple of args.m, the elements of an image a multiple of 4. `first_draw` as for nm_simd.
// Returns the number of chosen entries that are nonzero.
int64_t nm_image_simd(const NmArgs<float>& args, int64_t plane, int64_t begin,
                      int64_t first_draw = 0);
int64_t nm_image_simd(const NmArgs<BFloat16>& args, int64_t plane, int64_t begin,
                      int64_t first_draw = 0);

}  // namespace approx
