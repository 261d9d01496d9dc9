// topk_position: the "approximated gradient" of Wang, Nelaturu & Amarasinghe 2019 (wang2019).
//
// Weight gradient only. In every plane dY[n,c,:,:] keep the k positions of largest magnitude and
// let them stand for the whole plane (Algorithm 1, lines 4-6). The paper has k = 1, where the kept
// position carries the signed sum of the plane and its own value is not used; it gives no formula
// for k > 1. The scales offered, with S the plane's sum and v the kept values:
//   equal   S / k for each: Algorithm 1 at k = 1, never divides by zero (default)
//   signed  v * S / sum(v): Algorithm 1 at k = 1, exact at k = Ho*Wo; blows up where kept values
//           cancel, so a sum of exactly zero keeps the values
//   l1      v * sum|plane| / sum|v|: keeps the plane's L1 norm
//   none    v: exact at k = Ho*Wo
// The paper also multiplies by 1/batch "for effective training"; `factor` offers that, off (1) by
// default, since a mean-reduced loss carries 1/N already.
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include "core/methods/method.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

class TopkPosition final : public Method {
 public:
  explicit TopkPosition(const Params& params)
      : k_(params.integer("k")),
        scale_(params.choice<PeakScale>("scale")),
        factor_(params.real("factor")) {}

  Plan plan(const Operands& operands, const MethodCall& /*call*/) override {
    const bool one_is_the_sum = scale_ == PeakScale::kEqual && k_ == 1;
    if (one_is_the_sum && operands.dy.numel() > 0 && has_plane_peak(operands.dy)) {
      const auto [position, sum] = plane_peak(operands.dy);  // one pass over dY
      return SparseDY::from_topk(position, factor_ == 1 ? sum : sum * factor_);
    }
    if (has_plane_peaks(operands.dy, k_)) {  // likewise
      const auto [position, value] =
          plane_peaks(operands.dy, k_, scale_, static_cast<float>(factor_));
      return SparseDY::from_topk(position, value);
    }
    return by_definition(operands.dy);
  }

  bool looks_at_dy_alone() const override { return true; }

 private:
  SparseDY by_definition(const at::Tensor& dy) const {
    const auto plane = dy.flatten(2).to(at::kFloat);  // [N,Co,Ho*Wo]
    const auto k = std::min(k_, plane.size(-1));
    // A stable sort, since topk breaks ties differently on CPU and CUDA; here: lower index first.
    const auto order = std::get<1>(plane.abs().sort(/*stable=*/true, -1, /*descending=*/true));
    const auto position = order.narrow(-1, 0, k);  // [N,Co,k]  Alg. 1, line 4
    const auto kept = plane.gather(-1, position);  // [N,Co,k]
    const auto value = scaled(plane, kept, k);
    // Sums beyond the range of float, of which what each position carries need not be.
    const auto in_double = scaled(plane.to(at::kDouble), kept.to(at::kDouble), k).to(at::kFloat);
    return SparseDY::from_topk(position, at::where(value.isfinite(), value, in_double) * factor_);
  }

  at::Tensor scaled(const at::Tensor& plane, const at::Tensor& kept, int64_t k) const {
    switch (scale_) {
      case PeakScale::kEqual:
        return (plane.sum(-1, true) / k).expand_as(kept);  // Alg. 1, line 5
      case PeakScale::kSigned: {
        const auto sum = kept.sum(-1, true);
        return kept * at::where(sum == 0, at::ones_like(sum), plane.sum(-1, true) / sum);
      }
      case PeakScale::kL1: {
        const auto sum = kept.abs().sum(-1, true);
        return kept * at::where(sum == 0, at::ones_like(sum), plane.abs().sum(-1, true) / sum);
      }
      case PeakScale::kNone:
        break;
    }
    return kept;
  }

  const int64_t k_;
  const PeakScale scale_;
  const double factor_;
};

REGISTER_METHOD("topk_position", TopkPosition)
    .about("weight gradient from the k largest positions of every plane of dY")
    .from_paper("wang2019", "Algorithm 1")
    .in_version(2)
    .rounding_from(1)  // sums are added up otherwise
    .approximates({Product::kWeightGradient})
    .controlled_by("random_position")
    .param({"k", int64_t{1}, "positions kept per image and output channel", 1})
    .param({.name = "scale",
            .fallback = std::string("equal"),
            .help = "what the kept positions carry",
            .choices = names_of_enum<PeakScale>()})
    .param({"factor", 1.0, "multiplies the result; the paper's runs use 1/batch", 0});

}  // namespace
}  // namespace approx
