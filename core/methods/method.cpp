#include "core/methods/method.h"

#include <algorithm>

namespace approx {

MethodEntry& MethodEntry::without_mode(std::string_view choice) {
  for (auto& spec : params) {
    if (spec.name != "mode") continue;
    const auto found = std::find(spec.choices.begin(), spec.choices.end(), choice);
    products_of_mode.erase(products_of_mode.begin() + (found - spec.choices.begin()));
    spec.choices.erase(found);
  }
  return *this;
}

std::unique_ptr<Method> make_method(std::string_view text) {
  const Spec spec = parse_spec(text);
  const auto& entry = Registry<MethodEntry>::instance().find(spec.name);
  return entry.make(Params(entry.params, spec));
}

}  // namespace approx
