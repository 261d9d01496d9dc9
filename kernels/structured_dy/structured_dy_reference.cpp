#include <cmath>
#include <vector>

#include "kernels/multiplications.h"
#include "kernels/select/pruned.h"
#include "kernels/structured_dy/structured_dy.h"

namespace approx {
namespace {

// Multiplies each plane of what stays by what keeps its sum of magnitudes.
void rescale_planes(const Problem& p, const double* dy, std::vector<double>& kept) {
  const int64_t plane = p.ho * p.wo;
  for (int64_t n = 0; n < p.n; ++n) {
    for (int64_t c = 0; c < p.co; ++c) {
      const int64_t first = n * plane * p.co + c;
      double all = 0, left = 0;
      for (int64_t i = first; i < first + plane * p.co; i += p.co) {
        all += std::abs(dy[i]);
        left += std::abs(kept[static_cast<size_t>(i)]);
      }
      const double factor = rescaling_factor(all, left);
      for (int64_t i = first; i < first + plane * p.co; i += p.co) {
        kept[static_cast<size_t>(i)] *= factor;
      }
    }
  }
}

void structured_definition(const Arguments<StructuredDY, double>& args, int64_t begin,
                           int64_t end) {
  const Problem& p = args.problem;
  const int64_t pixels = p.n * p.ho * p.wo;
  const std::vector<float> dy(args.dy, args.dy + pixels * p.co);
  std::vector<float> chosen(dy.size());
  nm_reference<float>(
      {pixels, p.co, args.choice.n, args.choice.m, args.choice.random,
       args.choice.rescaling == Rescaling::kGroup, dy.data(), chosen.data(), args.rng},
      0, pixels);
  std::vector<double> kept(chosen.begin(), chosen.end());
  if (args.choice.rescaling == Rescaling::kPlane) rescale_planes(p, args.dy, kept);
  auto replaced = static_cast<const Arrays<double>&>(args);
  replaced.dy = kept.data();
  multiply_all(replaced, begin, end);
}

REGISTER_KERNEL(StructuredDY, "reference", structured_definition)
    .computes({Product::kDataGradient, Product::kWeightGradient})
    .definition();

}  // namespace
}  // namespace approx
