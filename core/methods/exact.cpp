// exact: the exact products, computed through the same path as every approximation.
//
// It approximates nothing. A run with it on some steps or layers differs from `dense` only by the
// machinery (the layer's own autograd function, planning, dispatch, switching from step to step),
// so their ratio is what the machinery costs.
#include "core/methods/method.h"

namespace approx {
namespace {

class Exact final : public Method {
 public:
  explicit Exact(const Params&) {}

  Plan plan(const Operands&, const MethodCall&) override { return Dense{}; }
};

REGISTER_METHOD("exact", Exact)
    .about("the exact products through the approximations' path: measures the machinery's cost")
    .approximates({Product::kForward, Product::kDataGradient, Product::kWeightGradient});

}  // namespace
}  // namespace approx
