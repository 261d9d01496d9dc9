#include "core/experiment/value_ranges.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/range.h"

namespace approx {
namespace {

bool is_number(const ParamSpec& spec) {
  return std::holds_alternative<int64_t>(spec.fallback) ||
         std::holds_alternative<double>(spec.fallback);
}

void check_count(size_t count, std::string_view text) {
  if (count <= kMaxValuesOfNode) return;
  throw usage_error("\"{}\": more than {} values", text.substr(0, 80), kMaxValuesOfNode);
}

}  // namespace

std::vector<std::string> spec_texts(const std::string& text, const std::vector<ParamSpec>& params) {
  Spec given;
  try {
    given = parse_spec(text);
  } catch (const Error&) {
    return {text};  // its reader says what is wrong
  }
  std::vector<std::string> texts = {given.name};
  bool any = false;
  char separator = ':';
  for (const auto& [key, value] : given.arguments) {
    const auto spec = std::find_if(params.begin(), params.end(),
                                   [&key = key](const ParamSpec& p) { return p.name == key; });
    std::vector<std::string> values = {value};
    if (spec != params.end() && is_number(*spec)) values = range_values(value);
    any |= values.front() != value;
    check_count(texts.size() * values.size(), text);
    std::vector<std::string> longer;
    for (const auto& begin : texts) {
      for (const auto& one : values) longer.push_back(begin + separator + key + "=" + one);
    }
    texts = std::move(longer);
    separator = ',';
  }
  return any ? texts : std::vector<std::string>{text};
}

std::vector<Json> setting_values(const ParamSpec& spec, const Json& value) {
  if (!value.is_string() || !is_number(spec)) return {value};
  const auto text = value.get<std::string>();
  const auto pieces = list_values(text);
  if (pieces.size() == 1 && pieces.front() == text) return {value};
  std::vector<Json> values;
  for (const auto& one : pieces) {
    if (const auto whole = parse_integer(one)) {
      values.emplace_back(*whole);
    } else if (const auto real = parse_real(one)) {
      values.emplace_back(*real);
    } else {
      values.emplace_back(one);
    }
    check_count(values.size(), text);
  }
  return values;
}

}  // namespace approx
