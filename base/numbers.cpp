#include "base/numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace approx {

std::optional<int64_t> parse_integer(std::string_view text, int64_t min, int64_t max) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < min || value > max) return std::nullopt;
  return value;
}

std::optional<double> parse_real(std::string_view text, double min, double max) {
  const auto quantity = parse_quantity(text);
  if (!quantity || !quantity->unit.empty()) return std::nullopt;
  if (quantity->value < min || quantity->value > max) return std::nullopt;
  return quantity->value;
}

std::optional<Quantity> parse_quantity(std::string_view text, std::chars_format format) {
  Quantity quantity;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, quantity.value, format);
  if (error != std::errc() || !std::isfinite(quantity.value)) return std::nullopt;
  quantity.unit = {rest, static_cast<size_t>(end - rest)};
  return quantity;
}

std::string shortest(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);  // whatever the sign of a NaN
}

Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

std::optional<std::string> special_name(double value) {
  if (std::isfinite(value)) return std::nullopt;
  return std::isnan(value) ? "nan" : value > 0 ? "+inf" : "-inf";
}

double special_value(std::string_view name) {
  if (name == "+inf" || name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace approx
