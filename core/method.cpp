#include "core/method.h"

namespace approx {

std::unique_ptr<Method> make_method(std::string_view text) {
  const Spec spec = parse_spec(text);
  const auto& entry = Registry<MethodEntry>::instance().find(spec.name);
  return entry.make(Params(entry.params, spec));
}

}  // namespace approx
