// Products of 1x1 layers under a sample of channels, on plain pointers to GPU memory. Sampled
// channels are read through their list, without a copy of a map's channels. Maps are matrices with
// a row of channels for each pixel. All arrays except lists are aligned to sixteen bytes.
#pragma once

#include "products/problem.h"

namespace approx {

// The weights as such a product reads them: B [rows,depth], zero beyond. One dimension is along the
// list, the other along all channels of the other side. They are small beside the maps, and every
// block of pixels reads them, so they are gathered and scaled once, beforehand. Weight (r, d) is
// w[at(r) * of_row + at(d) * of_depth], where `at` maps through the list on the list's side.
template <typename Number>
struct ListedWeights {
  const Number* w = nullptr;
  int64_t of_row = 0, of_depth = 0;  // strides of both sides; one of them is 1
  int64_t rows = 0, depth = 0;       // sizes of both sides; `kept` on the side of the list
  bool list_on_rows = false;
  const int64_t* index = nullptr;  // [kept]
  const float* scale = nullptr;    // [kept], rounded with the weight, once; null: 1
  Number* out = nullptr;           // [padded_rows,padded_depth], both multiples of 32
  int64_t padded_rows = 0, padded_depth = 0;
};

// Sums over a sample of channels: R[p,c] = sum over j of from[p,index[j]] * weights[c,j].
template <typename Number>
struct SampleSum {
  int64_t pixels = 0, columns = 0;  // of the result; columns are a multiple of eight
  int64_t channels = 0, kept = 0;   // of a row of `from`; number of channels that are summed
  const Number* from = nullptr;     // [pixels,channels]
  const int64_t* index = nullptr;   // [kept], in any order; null: all channels
  const Number* weights = nullptr;  // [columns padded to a multiple of 128, depth]
  int64_t depth = 0;                // kept, padded to a multiple of 32
  Number* out = nullptr;            // [pixels,columns]
};

// The sampled channels of a result, among zeros:
//   R[p,index[j]] = scale[j] * sum over d of from[p,d] * weights[j,d].
template <typename Number>
struct SampleSpread {
  int64_t pixels = 0, channels = 0, kept = 0;  // of the result; channels are a multiple of eight
  int64_t terms = 0;                           // of each sum; a multiple of eight
  const Number* from = nullptr;                // [pixels,terms]
  const int64_t* index = nullptr;              // [kept], ascending, none twice
  const float* scale = nullptr;                // [kept]; null: 1
  const Number* weights = nullptr;             // [kept + 128, depth]
  int64_t depth = 0;                           // terms, padded to a multiple of 32
  Number* out = nullptr;                       // [pixels,channels]
};

// Rounds `count` up to a multiple of `of`.
constexpr int64_t in_multiples(int64_t count, int64_t of) { return (count + of - 1) / of * of; }
inline constexpr int64_t kPaddedDepth = 32, kPaddedColumns = 128;

// Whether these kernels compute such a product. The weight gradient is left out. A layer that
// samples its input keeps only the sample, so there is no list to read through. Only Co times k
// numbers of the result must be put back. With a sample of dY's channels, the product sums over the
// pixels. These are so many that blocks must share them and join their sums, as cuDNN's engines do.
constexpr bool takes_fused_gather(const Problem& p) {
  const bool is_half = p.element == ElementType::kBFloat16 || p.element == ElementType::kHalf;
  const Geometry& g = p.geometry;
  const bool is_matrix = p.kh == 1 && p.kw == 1 && g.stride.h == 1 && g.stride.w == 1 &&
                         g.padding.h == 0 && g.padding.w == 0 && p.one_group();
  return p.product != Product::kWeightGradient && is_half && is_matrix && p.ci % 8 == 0 &&
         p.co % 8 == 0;
}

}  // namespace approx
