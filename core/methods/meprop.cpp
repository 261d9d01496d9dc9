// meprop: only the largest entries of dY go back (Sun, Ren, Ma & Wang 2017; on convolutions Wei et
// al. 2017, which keep them over an example's whole map, all channels and pixels). Both gradients
// use what stays, unscaled; the bias gradient the whole dY.
// `per=batch` is the unified form: the k output channels whose magnitudes summed over the batch are
// largest, the same for all examples. Ties go to the lower index.
#include <ATen/ATen.h>

#include <cmath>

#include "core/methods/pruning.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

class Meprop final : public PruningMethod {
 public:
  explicit Meprop(const Params& params)
      : k_(params.integer("k")),
        ratio_(params.real("ratio")),
        per_batch_(params.text("per") == "batch") {}

 private:
  Plan prune(const Operands& o, const MethodCall&) override {
    const int64_t length = per_batch_ ? o.dy.size(1) : o.dy[0].numel();
    int64_t k = k_;
    if (ratio_ > 0) {
      k = std::max<int64_t>(1, static_cast<int64_t>(std::floor(double(length) * ratio_)));
    }
    if (k >= length) return Dense{};
    if (!per_batch_) return largest_of_each_example(o.dy, k);
    const auto sums = plane_magnitude(o.dy).sum({0, 2, 3});
    return Sampled{.axis = Axis::kOutputChannels, .index = largest(sums, k), .scale = {}};
  }

  const int64_t k_;
  const double ratio_;
  const bool per_batch_;
};

REGISTER_METHOD("meprop", Meprop)
    .about("the k largest entries of dY go back")
    .from_paper("sun2017", "section 2")
    .in_version(2)
    .rounding_from(1)  // sums are added up otherwise
    .approximates({Product::kDataGradient, Product::kWeightGradient})
    .controlled_by("random_entries")
    .param({"k", int64_t{30}, "entries that stay of an example, or channels of a batch", 1})
    .param({"ratio", 0.0, "share that stays, in place of k; 0: go by k", 0, 1})
    .param({.name = "per",
            .fallback = std::string("example"),
            .help = "each example its own, or one choice of channels for the batch",
            .choices = {"example", "batch"}});

}  // namespace
}  // namespace approx
