// random_position: topk_position with positions that are drawn. Of every plane dY[n,c,:,:] any k
// positions, none twice, carry the plane's sum in equal parts (Wang et al. 2019, Algorithm 1, with
// line 4 replaced): what the largest positions must beat at the same cost (sweep --controls
// random). Unbiased only where the input patches are alike, as the method that it controls.
#include <ATen/ATen.h>

#include <algorithm>

#include "core/methods/method.h"
#include "kernels/draws.h"

namespace approx {
namespace {

class RandomPosition final : public Method {
 public:
  explicit RandomPosition(const Params& params)
      : k_(params.integer("k")), factor_(params.real("factor")) {}

  Plan plan(const Operands& operands, const MethodCall& call) override {
    const auto plane = operands.dy.flatten(2).to(at::kFloat);  // [N,Co,Ho*Wo]
    const int64_t length = plane.size(-1), k = std::min(k_, length);
    const auto share = plane.sum(-1, true) * (factor_ / static_cast<double>(k));
    const auto position = draw(plane, k, call.rng);  // [N,Co,k]
    return SparseDY::from_topk(position, share.expand_as(position));
  }

  bool looks_at_dy_alone() const override { return true; }

 private:
  static at::Tensor draw(const at::Tensor& plane, int64_t k, const Rng& rng) {
    const int64_t n = plane.size(0), c = plane.size(1), length = plane.size(2);
    if (k == 1) {  // one draw a plane
      const auto u = draws_among(rng, length, {n, c, 1}, plane.device()).to(at::kDouble);
      return (u * static_cast<double>(length)).floor().clamp_max(length - 1).to(at::kLong);
    }
    const auto draws = draws_among(rng, length, {n, c, length}, plane.device());
    return std::get<1>(draws.sort(/*stable=*/true, -1, /*descending=*/false)).narrow(-1, 0, k);
  }

  const int64_t k_;
  const double factor_;
};

REGISTER_METHOD("random_position", RandomPosition)
    .about("weight gradient from k drawn positions of every plane of dY: a control")
    .approximates({Product::kWeightGradient})
    .param({"k", int64_t{1}, "positions of an image and output channel", 1})
    .param({"factor", 1.0, "multiplies the result; the paper's runs use 1/batch", 0});

}  // namespace
}  // namespace approx
