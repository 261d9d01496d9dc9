#include <cstdint>
#include <vector>

#include "kernels/multiplications.h"
#include "kernels/quantized/quantized.h"

namespace approx {
namespace {

using DoubleArguments = Arguments<Quantized, double>;

// One operand in multiples of its scales. `slice_of` gives the slice of an element.
template <typename SliceOf>
std::vector<double> rounded(const DoubleArguments& args, const double* from, int64_t count,
                            int64_t slices, bool by_chance, SliceOf slice_of) {
  const bool one_scale = args.scales == Scales::kTensor;
  std::vector<uint32_t> largest(static_cast<size_t>(one_scale ? 1 : slices));
  const auto at = [&](int64_t i) { return static_cast<size_t>(one_scale ? 0 : slice_of(i)); };
  for (int64_t i = 0; i < count; ++i) {
    auto& of_slice = largest[at(i)];
    of_slice = std::max(of_slice, magnitude_bits(static_cast<float>(from[i])));
  }
  std::vector<double> result(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const auto scale = Scale::of(std::bit_cast<float>(largest[at(i)]));
    const auto number = static_cast<float>(from[i]);
    int32_t whole = 0;
    if (by_chance) {
      const auto words = args.rng.block(static_cast<uint32_t>(i / 4));
      whole = rounded_by_chance(number, scale, Rng::uniform(words[static_cast<size_t>(i % 4)]));
    } else {
      whole = rounded_to_nearest(number, scale);
    }
    result[static_cast<size_t>(i)] = whole * static_cast<double>(scale.value);
  }
  return result;
}

void quantized_definition(const DoubleArguments& args, int64_t begin, int64_t end) {
  const Problem& p = args.problem;
  const bool of_weights = p.product == Product::kWeightGradient;
  const int64_t taps = p.kh * p.kw, inputs = p.group_inputs();
  std::vector<double> x, w, dy;
  Arrays<double> arrays = args;
  if (args.x != nullptr) {
    const int64_t image = p.h * p.w * p.ci;
    x = rounded(args, args.x, p.n * image, of_weights ? p.ci : p.n, false,
                [&](int64_t i) { return of_weights ? i % p.ci : i / image; });
    arrays.x = x.data();
  }
  if (args.w != nullptr) {
    const bool by_output = p.product == Product::kForward;
    w = rounded(args, args.w, p.co * taps * inputs, by_output ? p.co : p.ci, false, [&](int64_t i) {
      const int64_t co = i / (taps * inputs);
      const int64_t group = co / (p.co / p.geometry.groups);
      return by_output ? co : group * inputs + i % inputs;
    });
    arrays.w = w.data();
  }
  if (args.dy != nullptr) {
    const int64_t image = p.ho * p.wo * p.co;
    dy = rounded(args, args.dy, p.n * image, of_weights ? p.co : p.n, args.by_chance,
                 [&](int64_t i) { return of_weights ? i % p.co : i / image; });
    arrays.dy = dy.data();
  }
  multiply_all(arrays, begin, end);
}

REGISTER_KERNEL(Quantized, "reference", quantized_definition).definition();

}  // namespace
}  // namespace approx
