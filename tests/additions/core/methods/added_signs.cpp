// added_signs: every entry of dY becomes its sign times the mean magnitude of its example, It drops
// nothing, and approximates all the same.
#include <ATen/ATen.h>

#include "core/methods/pruning.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

class AddedSigns final : public PruningMethod {
 public:
  explicit AddedSigns(const Params&) {}

 private:
  Plan prune(const Operands& o, const MethodCall&) override {
    const auto mean = o.dy.abs().mean({1, 2, 3}, /*keepdim=*/true);  // [N,1,1,1]
    return counted(o.dy.sign() * mean);
  }
};

REGISTER_METHOD("added_signs", AddedSigns)
    .about("the sign of dY times the mean magnitude of its example")
    .approximates({Product::kDataGradient, Product::kWeightGradient});

}  // namespace
}  // namespace approx
