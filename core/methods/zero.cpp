// zero: the weight gradient is zero (Wang, Nelaturu & Amarasinghe 2019, section 2.1).
//
// The optimizer still runs with that gradient, as in the paper: momentum, Adam's averages and
// weight decay go on moving the weight. With freeze=true there is no gradient at all, and the
// optimizer leaves the weight and its state alone at that step.
#include "core/methods/method.h"

namespace approx {
namespace {

class Zero final : public Method {
 public:
  explicit Zero(const Params& params) : freeze_(params.flag("freeze")) {}

  Plan plan(const Operands&, const MethodCall&) override { return Skip{freeze_}; }
  Keep keep() const override { return Keep::kNothing; }
  bool abstains() const override { return true; }

 private:
  const bool freeze_;
};

REGISTER_METHOD("zero", Zero)
    .about("weight gradient zero")
    .from_paper("wang2019", "section 2.1")
    .approximates({Product::kWeightGradient})
    .param({"freeze", false, "no gradient at all: the optimizer passes the weight over"});

}  // namespace
}  // namespace approx
