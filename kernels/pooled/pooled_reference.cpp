// With m the mean of dY over the outputs of a patch, and s the stride down times that across:
//   dX of an input    sum over output channels of m * (weights summed over the kernel) / s
//   dW, at all taps   sum over examples and patches of m * (inputs of the patch, summed) / s
// An output has s inputs, so the division counts it once, as in the exact gradients.
#include <algorithm>

#include "kernels/pooled/pooled.h"

namespace approx {
namespace {

using DoublePatches = Arguments<Pooled, double>;

double inputs_of_output(const Problem& p) {
  return static_cast<double>(p.geometry.stride.h * p.geometry.stride.w);
}

double mean_of_patch(const DoublePatches& args, int64_t n, int64_t down, int64_t across,
                     int64_t co) {
  const Problem& p = args.problem;
  const auto grid = args.grid();
  double sum = 0;
  int64_t outputs = 0;
  for (int64_t y = grid.down.begin(down); y < grid.down.end(down); ++y) {
    for (int64_t x = grid.across.begin(across); x < grid.across.end(across); ++x, ++outputs) {
      sum += args.dy[((n * p.ho + y) * p.wo + x) * p.co + co];
    }
  }
  return sum / static_cast<double>(outputs);
}

double weights_over_taps(const DoublePatches& args, int64_t co, int64_t ci) {
  const Problem& p = args.problem;
  double sum = 0;
  for (int64_t tap = 0; tap < p.kh * p.kw; ++tap) {
    sum += args.w[(co * p.kh * p.kw + tap) * p.group_inputs() + ci];
  }
  return sum;
}

// Calls body(n, y, x, down, across) for every pixel of x that lies in a patch.
template <typename Body>
void for_inputs(const DoublePatches& args, int64_t first, int64_t last, Body body) {
  const Problem& p = args.problem;
  const auto grid = args.grid();
  for (int64_t n = first; n < last; ++n) {
    for (int64_t y = 0; y < p.h; ++y) {
      for (int64_t x = 0; x < p.w; ++x) {
        const int64_t down = grid.down.of_input(y), across = grid.across.of_input(x);
        if (down >= 0 && across >= 0) body(n, y, x, down, across);
      }
    }
  }
}

void data_gradient_of_patches(const DoublePatches& args, int64_t begin, int64_t end) {
  const Problem& p = args.problem;
  const int64_t inputs = p.group_inputs(), group_outputs = p.co / p.geometry.groups;
  for_inputs(args, begin, end, [&](int64_t n, int64_t y, int64_t x, int64_t down, int64_t across) {
    for (int64_t co = 0; co < p.co; ++co) {
      const double mean = mean_of_patch(args, n, down, across, co) / inputs_of_output(p);
      for (int64_t i = 0; i < inputs; ++i) {
        const int64_t ci = co / group_outputs * inputs + i;
        args.out[((n * p.h + y) * p.w + x) * p.ci + ci] += mean * weights_over_taps(args, co, i);
      }
    }
  });
}

void weight_gradient_of_patches(const DoublePatches& args, int64_t begin, int64_t end) {
  const Problem& p = args.problem;
  const int64_t inputs = p.group_inputs(), group_outputs = p.co / p.geometry.groups;
  for_inputs(args, 0, p.n, [&](int64_t n, int64_t y, int64_t x, int64_t down, int64_t across) {
    for (int64_t co = begin; co < end; ++co) {
      const double mean = mean_of_patch(args, n, down, across, co) / inputs_of_output(p);
      for (int64_t i = 0; i < inputs; ++i) {
        const int64_t ci = co / group_outputs * inputs + i;
        const double product = mean * args.x[((n * p.h + y) * p.w + x) * p.ci + ci];
        for (int64_t tap = 0; tap < p.kh * p.kw; ++tap) {
          args.out[(co * p.kh * p.kw + tap) * inputs + i] += product;
        }
      }
    }
  });
}

void pooled_definition(const DoublePatches& args, int64_t begin, int64_t end) {
  std::fill(args.slice(begin), args.slice(end), 0.0);
  if (args.problem.product == Product::kDataGradient) {
    data_gradient_of_patches(args, begin, end);
  } else {
    weight_gradient_of_patches(args, begin, end);
  }
}

REGISTER_KERNEL(Pooled, "reference", pooled_definition)
    .computes({Product::kDataGradient, Product::kWeightGradient})
    .definition();

}  // namespace
}  // namespace approx
