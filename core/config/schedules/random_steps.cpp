// random_steps: each layer by itself, or each block of a method that stops blocks, at steps that
// are drawn (core/config/step_draws.h). LayerDropBack draws tensors so, DropBP draws blocks.
#include "base/numbers.h"
#include "core/config/named_schedule.h"

namespace approx {
namespace {

std::vector<Rule> random_steps(const Params& params) {
  Rule rule;
  rule.layers = params.text("layers");
  rule.from = params.text("from");
  rule.until = params.text("until");
  rule.chance = shortest(params.real("p"));
  rule.rates = params.text("rates");
  return {rule};
}

REGISTER_SCHEDULE("random_steps", random_steps)
    .about("chosen layers, or blocks, at steps that are drawn for each of them")
    .param({"p", 0.5, "share of the steps, rounded to a 64th", 0, 1})
    .param({.name = "rates",
            .fallback = std::string("equal"),
            .help = "blocks alike, or by a sensitivity that is measured at a tenth of the training",
            .choices = {"equal", "sensitivity"}})
    .param_layers()
    .params_window();

}  // namespace
}  // namespace approx
