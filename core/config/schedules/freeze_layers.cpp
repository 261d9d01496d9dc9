// freeze_layers: the first convolutions stop training one after the other, for the method of this
// name. Convolution i of L is frozen from a share of the training on that rises evenly from `from`
// to `until`.
#include <fmt/format.h>

#include "base/error.h"
#include "base/numbers.h"
#include "core/config/named_schedule.h"

namespace approx {
namespace {

std::vector<Rule> freeze_layers(const Params& params) {
  const int64_t layers = params.integer("layers");
  const double from = params.real("from"), until = params.real("until");
  if (until < from) {
    throw usage_error("freeze_layers: until = {} is before from = {}", until, from);
  }
  std::vector<Rule> rules;
  for (int64_t i = 0; i < layers; ++i) {
    const double share = layers == 1 ? 0 : static_cast<double>(i) / static_cast<double>(layers - 1);
    Rule rule;
    rule.layers = std::to_string(i + 1);
    rule.products = {Product::kWeightGradient};
    rule.from = shortest(from + share * (until - from)) + "dur";
    rules.push_back(std::move(rule));
  }
  return rules;
}

REGISTER_SCHEDULE("freeze_layers", freeze_layers)
    .about("the first convolutions stop training, one after the other")
    .from_paper("brock2017", "section 2")
    .param({"layers", int64_t{2}, "convolutions that are frozen in the end", 1, 1000})
    .param({"from", 0.25, "share of the training after which the first is frozen", 0, 1})
    .param({"until", 0.5, "share of the training after which the last is frozen", 0, 1});

}  // namespace
}  // namespace approx
