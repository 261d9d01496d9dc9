// random: fresh normal draws in place of the weight gradient (Wang, Nelaturu & Amarasinghe 2019,
// section 2.2: standard deviation 1/128, the inverse of their batch size). What the optimizer sees
// has the deviation asked for: of gradients that are scaled the draws are scaled alike, and ranks
// that train together draw alike, for the mean of draws of their own would be less.
#include "core/methods/method.h"

namespace approx {
namespace {

class Random final : public Method {
 public:
  explicit Random(const Params& params) : stddev_(params.real("std")) {}

  Plan plan(const Operands&, const MethodCall& call) override {
    return Gaussian{
        .mean = 0, .stddev = stddev_, .rng = call.rng.shared(), .factor = call.loss_scale};
  }
  Keep keep() const override { return Keep::kNothing; }

 private:
  const double stddev_;
};

REGISTER_METHOD("random", Random)
    .about("weight gradient drawn from a normal distribution of mean 0, fresh at every step")
    .from_paper("wang2019", "section 2.2")
    .approximates({Product::kWeightGradient})
    .in_half_version(2)
    .param({"std", 1.0 / 128, "standard deviation", 0});

}  // namespace
}  // namespace approx
