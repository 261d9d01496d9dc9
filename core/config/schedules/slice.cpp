// slice: one rule written as a schedule's name, for the command line: every part has a default.
#include "base/text.h"
#include "core/config/named_schedule.h"

namespace approx {
namespace {

std::vector<Rule> one_slice(const Params& params) {
  Rule rule;
  rule.layers = params.text("layers");
  rule.steps = params.text("steps");
  rule.from = params.text("from");
  rule.until = params.text("until");
  rule.ranks = params.text("ranks");
  const std::string& products = params.text("products");
  if (!products.empty()) {
    for (const auto product : split(products, "+")) {
      rule.products.push_back(parse_product(product));
    }
  }
  return {rule};
}

REGISTER_SCHEDULE("slice", one_slice)
    .about("one rule: chosen layers, batches and products")
    .param_layers()
    .param({"steps", std::string("::1"), "start:stop:step over the batches, from 0"})
    .param({"products", std::string(),
            "forward, data_gradient, weight_gradient joined by +; empty: all of the method"})
    .params_window()
    .param({"ranks", std::string(), "start:stop:step over the ranks, from 0; empty: all"});

}  // namespace
}  // namespace approx
