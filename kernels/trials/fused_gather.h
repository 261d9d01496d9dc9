// Products of 1x1 layers under a sample of channels, on plain pointers of a GPU: what is sampled is
// read through the list of channels, and no copy of a map's channels is made. Maps are matrices, a
// row of channels for each pixel. All but lists lies by sixteen bytes.
#pragma once

#include "products/problem.h"

namespace approx {

// The weights as such a product reads them: B [rows,depth], one of the two along the list and the
// other along all channels of the other side; zero beyond. Small beside the maps, and read by every
// block of pixels, so they are gathered and scaled once, before. Weight (r, d) is
// w[at(r) * of_row + at(d) * of_depth], where `at` is the list's on the side that it is of.
template <typename Number>
struct ListedWeights {
  const Number* w = nullptr;
  int64_t of_row = 0, of_depth = 0;  // how far neighbours of each side are apart; one of them 1
  int64_t rows = 0, depth = 0;       // what there is of each; `kept` on the side of the list
  bool list_on_rows = false;
  const int64_t* index = nullptr;  // [kept]
  const float* scale = nullptr;    // [kept], rounded with the weight, once; null: 1
  Number* out = nullptr;           // [padded_rows,padded_depth], both in 32s
  int64_t padded_rows = 0, padded_depth = 0;
};

// Sums over a sample of channels: R[p,c] = sum over j of from[p,index[j]] * weights[c,j].
template <typename Number>
struct SampleSum {
  int64_t pixels = 0, columns = 0;  // of the result; eight divides the columns
  int64_t channels = 0, kept = 0;   // of a row of `from`; of which so many are summed
  const Number* from = nullptr;     // [pixels,channels]
  const int64_t* index = nullptr;   // [kept], in any order; null: all channels
  const Number* weights = nullptr;  // [columns in 128s, depth]
  int64_t depth = 0;                // kept, in 32s
  Number* out = nullptr;            // [pixels,columns]
};

// The sampled channels of a result, among zeros: R[p,index[j]] = scale[j] * sum over d of
// from[p,d] * weights[j,d].
template <typename Number>
struct SampleSpread {
  int64_t pixels = 0, channels = 0, kept = 0;  // of the result; eight divides the channels
  int64_t terms = 0;                           // of each sum; eight divides them
  const Number* from = nullptr;                // [pixels,terms]
  const int64_t* index = nullptr;              // [kept], ascending, none twice
  const float* scale = nullptr;                // [kept]; null: 1
  const Number* weights = nullptr;             // [kept + 128, depth]
  int64_t depth = 0;                           // terms, in 32s
  Number* out = nullptr;                       // [pixels,channels]
};

// What both are padded to.
constexpr int64_t in_multiples(int64_t count, int64_t of) { return (count + of - 1) / of * of; }
inline constexpr int64_t kPaddedDepth = 32, kPaddedColumns = 128;

// Whether they compute such a product. The weight gradient has no list to go through: a layer that
// samples its input keeps the sample, and has nothing else to multiply with; what is left of the
// plan is to put Co times k numbers of the result back. Of a sample of dY's channels it sums over
// the pixels, of which there are so many that blocks must share them and join what each has, as
// cuDNN's engines do.
constexpr bool takes_fused_gather(const Problem& p) {
  const bool is_half = p.element == ElementType::kBFloat16 || p.element == ElementType::kHalf;
  const Geometry& g = p.geometry;
  const bool is_matrix = p.kh == 1 && p.kw == 1 && g.stride.h == 1 && g.stride.w == 1 &&
                         g.padding.h == 0 && g.padding.w == 0 && p.one_group();
  return p.product != Product::kWeightGradient && is_half && is_matrix && p.ci % 8 == 0 &&
         p.co % 8 == 0;
}

}  // namespace approx
