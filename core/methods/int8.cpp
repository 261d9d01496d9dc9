// int8: products of operands that are rounded to 8-bit integers, one scale for each slice or
// tensor. x and w are rounded to nearest, and dY up or down by chance, so that its rounding adds
// no bias (Banner, Hubara, Hoffer & Soudry 2018, "Scalable Methods for 8-bit Training of Neural
// Networks"; rounding by chance: Gupta, Agrawal, Gopalakrishnan & Narayanan 2015, "Deep Learning
// with Limited Numerical Precision").
//
// The scale of a slice is its largest magnitude / 127. Nothing is cut off. A slice is what meets in
// no sum with another, so that results are rescaled alone:
//   forward          an example of x, an output channel of w
//   data gradient    an example of dY, an input channel of w
//   weight gradient  an input channel of x, an output channel of dY
//
// Layers that rounding would not pay for stay exact: those whose largest tensor has fewer than
// `min_uses` multiplications for each number (1x1 convolutions of few channels, linear layers).
//
// `scales=tensor` has one scale for each operand. `rounding=nearest` rounds dY to nearest, which is
// biased: where most of dY is below half a scale, most of it is lost.
//
// Departures.
// - The published code maps the range from the least to the largest number to 0 ... 255, and cuts x
//   off at a mean of such ranges. Here the levels lie evenly around zero, and nothing is cut off.
// - The paper scales tensors, and rounds x and w once for all products. Here each product rounds
//   its operands by its own slices.
// - The paper keeps dY in 16 bits for the weight gradient, and the published code whole.
// - Norms, sums and updates stay as they are. The paper's norms are 8-bit too.
#include <algorithm>

#include "core/methods/method.h"
#include "kernels/plan_traits.h"

namespace approx {

constexpr auto enum_texts(Scales) {
  return std::to_array<EnumText<Scales>>(
      {{Scales::kSlices, "slices"}, {Scales::kTensor, "tensor"}});
}

namespace {

enum class Rounding { kChance, kNearest };

constexpr auto enum_texts(Rounding) {
  return std::to_array<EnumText<Rounding>>(
      {{Rounding::kChance, "chance"}, {Rounding::kNearest, "nearest"}});
}

class Int8 final : public Method {
 public:
  explicit Int8(const Params& params)
      : scales_(params.choice<Scales>("scales")),
        by_chance_(params.choice<Rounding>("rounding") == Rounding::kChance),
        min_uses_(params.integer("min_uses")) {}

  Plan plan(const Operands& o, const MethodCall& call) override {
    if (uses(o) < min_uses_) return Dense{};
    return Quantized{.scales = scales_, .by_chance = by_chance_, .rng = call.rng};
  }

 private:
  // Multiplications for each number of the layer's largest tensor: one answer for all products.
  static int64_t uses(const Operands& o) {
    const Problem p = problem_of(o);
    const int64_t inputs = p.n * p.ci * p.h * p.w, outputs = p.n * p.co * p.ho * p.wo;
    return dense_macs(o) / std::max({inputs, outputs, o.w.numel(), int64_t{1}});
  }

  const Scales scales_;
  const bool by_chance_;
  const int64_t min_uses_;
};

REGISTER_METHOD("int8", Int8)
    .about("operands rounded to 8-bit integers, dY by chance and so without bias")
    .from_paper("banner2018", "section 4")
    .in_version(2)  // dW of small maps is summed in another order
    .rounding_from(1)
    .approximates({Product::kForward, Product::kDataGradient, Product::kWeightGradient})
    .param({.name = "scales",
            .fallback = std::string("slices"),
            .help = "what has a scale of its own: each slice that no sum joins, or each operand",
            .choices = names_of_enum<Scales>()})
    .param({.name = "rounding",
            .fallback = std::string("chance"),
            .help = "how dY is rounded",
            .choices = names_of_enum<Rounding>()})
    .param({"min_uses", int64_t{200},
            "multiplications for each number of a layer's largest tensor, below which it is exact",
            0});

}  // namespace
}  // namespace approx
