// gradient_filter: both gradients at the resolution of patches (Yang, Li & Marculescu 2023,
// "Efficient On-device Training via Gradient Filtering", section 4).
//
// dY is averaged over patches of r x r outputs, x is summed over the inputs of a patch, and the
// weights are summed over the kernel. Both gradients are then those of a 1x1 convolution with one
// pixel for each patch: r^2 times fewer pixels, and one tap in place of Kh * Kw. All inputs of a
// patch get the same dX, and all taps the same dW. The result is biased. kernels/pooled/patches.h
// and pooled_reference.cpp have the definition.
//
// As in the published code, the patches lie centred on the map, a patch at the edge is smaller and
// has the mean of what it has, and a patch larger than the map is the map.
//
// Departures.
// - Strides. The published code gives all inputs of a patch the full sum of the weights, and the
//   weight gradient the full sum of the inputs. With a stride s it so counts every output s^2
//   times, and both gradients come out s^2 times too large. Here they are divided by s^2: constant
//   x and dY have the exact sum of gradients, apart from edges.
// - Edges. The published code centres the patches of x by themselves. Where r does not divide the
//   outputs of a strided layer, they lie beside those of dY by up to half a stride of pixels.
//   Without padding x has pixels beyond the patches, and the published code stops. Here each output
//   has its own inputs, and inputs of no output have dX = 0 and no part in dW.
// - Dilation. Where it is r or more, the published code keeps the taps apart in dX. Here they are
//   summed.
// - Memory. The paper keeps x summed over patches from the forward pass on. Here the layer keeps x.
//
// A product that is a sum of one patch of one pixel with one tap, such as a linear layer, is exact.
#include "core/methods/method.h"

namespace approx {
namespace {

class GradientFilter final : public Method {
 public:
  explicit GradientFilter(const Params& params) : r_(params.integer("r")) {}

  Plan plan(const Operands& o, const MethodCall&) override {
    return changes(o) ? Plan(Pooled{r_}) : Plan(Dense{});
  }

 private:
  bool changes(const Operands& o) const {
    const Geometry& g = o.geometry;
    const bool has_one_tap = o.w.size(2) == 1 && o.w.size(3) == 1;
    const bool has_one_pixel = o.dy.size(2) == 1 && o.dy.size(3) == 1;
    const bool is_plain = has_one_tap && g.stride == Spatial(1) && g.padding == Spatial(0);
    return !is_plain || !(r_ == 1 || has_one_pixel);
  }

  const int64_t r_;
};

REGISTER_METHOD("gradient_filter", GradientFilter)
    .about("both gradients at the resolution of patches of r x r outputs")
    .from_paper("yang2023", "section 4")
    .approximates({Product::kDataGradient, Product::kWeightGradient})
    .param({"r", int64_t{2}, "side of a patch, in outputs", 1});

}  // namespace
}  // namespace approx
