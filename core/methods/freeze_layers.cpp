// freeze_layers: layers that stop training, the first ones first, so that the backward pass ends
// above them (Brock, Lim, Ritchie & Weston 2017, "FreezeOut"; layer freezing in Composer). It is
// one of the trivial savers that other methods have to beat.
//
// A frozen layer has no gradient at all: the optimizer leaves its weight and bias, their momentum
// and their decay alone. While all layers up to some place are frozen, so is everything else before
// the first layer that trains: the backward pass ends there, and neither products nor norms nor
// ReLUs before it have one. Running statistics of norms move as always. The schedule says when a
// layer is frozen: `freeze_layers` freezes convolution after convolution.
//
// Departures. FreezeOut gives each layer a learning rate that falls to zero at the moment when it
// is frozen; here all have the recipe's. Composer takes frozen parameters out of the optimizer for
// good; here a rule may end, and the layer trains on with the momentum that it had.
#include "core/methods/freezing.h"

namespace approx {
namespace {

class FreezeLayers final : public FreezingMethod {
 public:
  explicit FreezeLayers(const Params& /*params*/) {}
};

REGISTER_METHOD("freeze_layers", FreezeLayers)
    .about("layers that stop training; the backward pass ends above the first ones")
    .from_paper("brock2017", "section 2")
    .approximates({Product::kWeightGradient});

}  // namespace
}  // namespace approx
