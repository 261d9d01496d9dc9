#include "results/store/json_values.h"

#include <cmath>

#include "base/error.h"
#include "base/numbers.h"

namespace approx {

std::string text_or(const Json& json, const char* key, const std::string& fallback) {
  if (!json.is_object()) return fallback;
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : fallback;
}

std::optional<int64_t> whole_number(const Json& json) {
  if (!json.is_number()) return std::nullopt;
  const Json whole = json.is_number_float() ? Json(std::trunc(json.get<double>())) : json;
  if (!holds_whole<int64_t>(whole)) return std::nullopt;
  return whole.get<int64_t>();
}

std::optional<int64_t> integer_or_none(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it == json.end() ? std::nullopt : whole_number(*it);
}

int64_t integer_at(const Json& json, const char* key) {
  const auto found = integer_or_none(json, key);
  if (!found) throw usage_error("{} is no whole number", key);
  return *found;
}

StoredNumber to_number(const Json& json, const Json& special) {
  if (json.is_number()) {
    const auto value = json.get<double>();
    if (const auto name = special_name(value)) return {std::nullopt, name};
    return {value, std::nullopt};
  }
  if (!json.is_null()) throw usage_error("not a number");
  const std::string name = special.is_string() ? special.get<std::string>() : "nan";
  return {std::nullopt, special_name(special_value(name))};
}

std::vector<int64_t> times_of(const Json& event, const char* key) {
  std::vector<int64_t> times;
  const auto it = event.find(key);
  if (it == event.end() || !it->is_array()) return times;
  for (const auto& entry : *it) {
    const auto time = std::llround(entry.get<double>());
    if (time < 0) throw usage_error("a negative time");
    times.push_back(time);
  }
  return times;
}

Json to_blob(const std::vector<int64_t>& values) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  return Json::binary({bytes, bytes + 8 * values.size()});
}

}  // namespace approx
