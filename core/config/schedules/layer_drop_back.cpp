// layer_drop_back: the schedule of LayerDropBack (Neiterman & Ben-Artzi 2024), for
// zero:freeze=true. In every other epoch each layer has no weight gradient at a share p of the
// steps, and the learning rate is doubled. The other epochs are exact.
//
// Departures. They draw for each parameter tensor; here norms and biases always train, and a layer
// is drawn. Which epoch comes first is chosen here: the second, so that training begins exactly.
#include "base/numbers.h"
#include "core/config/named_schedule.h"

namespace approx {
namespace {

std::vector<Rule> layer_drop_back(const Params& params) {
  Rule rule;
  rule.layers = "name=*";
  rule.products = {Product::kWeightGradient};
  rule.chance = shortest(params.real("p"));
  rule.epochs = "1::2";
  rule.rate = shortest(params.real("rate"));
  return {rule};
}

REGISTER_SCHEDULE("layer_drop_back", layer_drop_back)
    .about("every layer at steps that are drawn, in every other epoch, at a higher rate")
    .from_paper("neiterman2024", "Algorithm 1")
    .param({"p", 0.5, "share of the steps in those epochs, rounded to a 64th", 0, 1})
    .param({"rate", 2.0, "factor on the learning rate in those epochs", 0.001, 1000});

}  // namespace
}  // namespace approx
