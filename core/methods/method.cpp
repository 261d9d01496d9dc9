#include "core/methods/method.h"

#include <utility>

namespace approx {

MethodEntry& MethodEntry::modes(std::vector<Mode> list, std::string help) {
  products_of_mode = std::move(list);
  ParamSpec spec{.name = kMode, .fallback = products_of_mode.front().choice, .help = {}};
  spec.help = std::move(help);
  for (const auto& mode : products_of_mode) spec.choices.push_back(mode.choice);
  return param(std::move(spec));
}

MethodEntry& MethodEntry::without_mode(std::string_view choice) {
  std::erase_if(products_of_mode, [&](const Mode& mode) { return mode.choice == choice; });
  for (auto& spec : params) {
    if (spec.name == kMode) std::erase(spec.choices, choice);
  }
  return *this;
}

std::unique_ptr<Method> make_method(std::string_view text) {
  const Spec spec = parse_spec(text);
  const auto& entry = Registry<MethodEntry>::instance().find(spec.name);
  return entry.make(Params(entry.params, spec));
}

Catalogue library_methods() {
  Catalogue catalogue;
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    catalogue.methods.push_back(*entry);
  }
  return catalogue;
}

}  // namespace approx
