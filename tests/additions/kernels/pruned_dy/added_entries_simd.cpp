// The weight gradient of a pruned dY in plain loops that pass over its zeros: a variant with a
// rule.
#include <algorithm>

#include "kernels/multiplications.h"
#include "kernels/pruned_dy/pruned_dy.h"

namespace approx {
namespace {

void added_entries(const Arguments<PrunedDY, float>& args, int64_t begin, int64_t end) {
  const Problem& p = args.problem;
  std::fill(args.slice(begin), args.slice(end), 0.0f);
  for (int64_t co = begin; co < end; ++co) {
    for (int64_t n = 0; n < p.n; ++n) {
      for (int64_t oy = 0; oy < p.ho; ++oy) {
        for (int64_t ox = 0; ox < p.wo; ++ox) {
          const float dy = args.dy[((n * p.ho + oy) * p.wo + ox) * p.co + co];
          if (dy == 0) continue;
          for_taps(p, oy, ox, [&](int64_t tap, int64_t y, int64_t x) {
            const float* in = args.x + ((n * p.h + y) * p.w + x) * p.ci;
            float* out = args.slice(co) + tap * p.ci;
            for (int64_t i = 0; i < p.ci; ++i) out[i] += dy * in[i];
          });
        }
      }
    }
  }
}

REGISTER_KERNEL(PrunedDY, "added_entries", added_entries)
    .computes({Product::kWeightGradient})
    .on({Hardware::kCpu})
    .where([](const Problem& p) { return p.one_group(); })
    .ruled_against("exact")  // it pays where a table of rules says so, up to some density
    .rank(-9);

}  // namespace
}  // namespace approx
