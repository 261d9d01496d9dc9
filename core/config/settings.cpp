#include "core/config/settings.h"

namespace approx {

std::string setting_text(const ParamSpec& spec, const Json& value, const std::string& what) {
  const bool wants_text = std::holds_alternative<std::string>(spec.fallback);
  if (value.is_string() != wants_text) {
    const bool wants_flag = std::holds_alternative<bool>(spec.fallback);
    throw usage_error("{}: {}: expected {}, got {}", what, spec.name,
                      wants_text   ? "a text"
                      : wants_flag ? "true or false"
                                   : "a number",
                      value.dump());
  }
  if (value.is_number_float() && std::holds_alternative<int64_t>(spec.fallback)) {
    throw usage_error("{}: {}={}: expected an integer", what, spec.name, value.dump());
  }
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return shortest(value.get<double>());
  return value.dump();
}

}  // namespace approx
