// random: fresh normal draws in place of the weight gradient (Wang, Nelaturu & Amarasinghe 2019,
// section 2.2: standard deviation 1/128, the inverse of their batch size).
#include "core/methods/method.h"

namespace approx {
namespace {

class Random final : public Method {
 public:
  explicit Random(const Params& params) : stddev_(params.real("std")) {}

  Plan plan(const Operands&, const MethodCall& call) override {
    return Gaussian{0, stddev_, call.rng};
  }
  Keep keep() const override { return Keep::kNothing; }

 private:
  const double stddev_;
};

REGISTER_METHOD("random", Random)
    .about("weight gradient drawn from a normal distribution of mean 0, fresh at every step")
    .from_paper("wang2019", "section 2.2")
    .approximates({Product::kWeightGradient})
    .param({"std", 1.0 / 128, "standard deviation", 0});

}  // namespace
}  // namespace approx
