// part_batch: the weight gradient from a random part of the examples, scaled to be unbiased. The
// example of docs/own-method.md, from no paper.
#include <ATen/ATen.h>

#include "core/methods/method.h"
#include "kernels/draws.h"

namespace approx {
namespace {

class PartBatch final : public Method {
 public:
  explicit PartBatch(const Params& params) : share_(params.real("share")) {}

  Plan plan(const Operands& o, const MethodCall& call) override {
    const int64_t n = o.dy.size(0);
    const int64_t k = std::clamp<int64_t>(std::llround(share_ * n), 1, n);
    const double scale = static_cast<double>(n) / static_cast<double>(k);
    return Sampled{.axis = Axis::kExamples,
                   .index = subset_draws(call.rng, n, k, o.dy.device()),
                   .scale = at::full({k}, scale, o.dy.options().dtype(at::kFloat))};
  }

 private:
  const double share_;
};

REGISTER_METHOD("part_batch", PartBatch)
    .about("weight gradient from a random part of the examples")
    .approximates({Product::kWeightGradient})
    .param({"share", 0.5, "of the examples", 0, 1});

}  // namespace
}  // namespace approx
