// The methods that the tests of captured steps go through.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "core/methods/method.h"

namespace approx {

// Every registered method, and those of their parameters that lead another way.
inline std::vector<std::string> method_texts() {
  std::vector<std::string> texts = {"zero:freeze=true",
                                    "topk_position:k=3,scale=signed",
                                    "random_position:k=3",
                                    "stochastic_pruning:statistics=previous",
                                    "stochastic_pruning:placement=input",
                                    "sdgp:rank=random",
                                    "sdgp:rescale=channel",
                                    "sdgp:n=3,m=7",
                                    "meprop:per=batch,k=3",
                                    "random_entries:per=batch,k=3",
                                    "topk_crs:mode=backward",
                                    "topk_crs:share=0.5",
                                    "uniform_crs:mode=weight_gradient",
                                    "uniform_crs:share=0.5",
                                    "topk_weights:mode=black_box",
                                    "crs:size=fixed",
                                    "crs:mode=backward,size=fixed",
                                    "crs:share=0.5,size=fixed",
                                    "bernoulli_crs:size=fixed",
                                    "bernoulli_crs:mode=backward,size=fixed",
                                    "nm_unbiased:n=3,m=7",
                                    "nm_unbiased:chances=equal",
                                    "wta_crs:size=fixed",
                                    "wta_crs:mode=backward,size=fixed",
                                    "gradient_filter:r=5",
                                    "int8:min_uses=0",
                                    "int8:min_uses=0,scales=tensor,rounding=nearest",
                                    "vcas:norm=drop",
                                    "vcas:weight_ratio=0.5,chances=equal"};
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    if (!entry->stops_blocks) texts.push_back(entry->name);  // the network has no blocks
  }
  std::ranges::sort(texts);
  return texts;
}

// The products that one approximates.
inline std::vector<Product> products_of(const std::string& text) {
  const auto spec = parse_spec(text);
  const auto& entry = Registry<MethodEntry>::instance().find(spec.name);
  return entry.products_with(Params(entry.params, spec));
}

inline std::string test_name(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

}  // namespace approx
