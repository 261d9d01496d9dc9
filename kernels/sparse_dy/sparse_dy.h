// The weight gradient with a sparse dY, and the selection of one position per plane, on plain
// pointers.
#pragma once

#include <cstdint>

namespace approx {

// Sizes and strides of a convolution whose x is [N,H,W,Ci] in memory (channels last) and whose
// dw is written as [Co,Kh,Kw,Ci]: a patch is then rows of Kw * Ci neighbouring numbers.
struct SparseDYArgs {
  int64_t n = 0, ci = 0, h = 0, w = 0;
  int64_t co = 0, ho = 0, wo = 0;
  int64_t kh = 1, kw = 1;
  int64_t stride = 1, padding = 0, dilation = 1;
  const float* x = nullptr;            // [N,H,W,Ci]
  const int64_t* row_start = nullptr;  // [N*Co + 1]
  const int32_t* position = nullptr;   // [entries], h * Wo + w
  const float* value = nullptr;        // [entries]
  float* dw = nullptr;                 // [Co,Kh,Kw,Ci]
};

// dW[c] for output channels c in [begin, end), overwriting them:
//   dW[c, r, s, :] = sum over n and the entries (p, v) of row (n, c) of
//                    v * x[n, h(p) * stride - padding + r * dilation, w(p) * ..., :]
// where x is zero outside its map. The reference sums in double precision.
void sparse_dy_weight_gradient_reference(const SparseDYArgs& args, int64_t begin, int64_t end);
void sparse_dy_weight_gradient_simd(const SparseDYArgs& args, int64_t begin, int64_t end);

// For every plane (n, c) of dy, [N,Ho*Wo,Co] in memory: the position of its largest magnitude (the
// first of equals) and the signed sum of the plane (Wang et al. 2019, Algorithm 1, lines 4 and 5).
struct PeakArgs {
  int64_t n = 0, plane = 0, co = 0;
  const float* dy = nullptr;    // [N,plane,Co]
  int32_t* position = nullptr;  // [N,Co]
  float* sum = nullptr;         // [N,Co]
};

// For images n in [begin, end).
void plane_peak_reference(const PeakArgs& args, int64_t begin, int64_t end);
void plane_peak_simd(const PeakArgs& args, int64_t begin, int64_t end);

}  // namespace approx
