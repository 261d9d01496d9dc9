#include "base/params.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace approx {
namespace {

std::string describe(const ParamSpec& spec) {
  if (!spec.choices.empty()) return fmt::format("one of {}", fmt::join(spec.choices, ", "));
  if (std::holds_alternative<bool>(spec.fallback)) return "true or false";
  if (std::holds_alternative<std::string>(spec.fallback)) return "a text";
  const bool whole = std::holds_alternative<int64_t>(spec.fallback);
  std::string kind = whole ? "an integer" : "a number";
  const auto bound = [whole](double value) {
    return whole ? fmt::format("{:.0f}", value) : fmt::format("{:g}", value);
  };
  if (spec.step > 1) kind = fmt::format("{0} {1:.0f} + {2}n,", kind, spec.min, spec.step);
  if (std::isfinite(spec.min) && std::isfinite(spec.max)) {
    return fmt::format("{} from {} to {}", kind, bound(spec.min), bound(spec.max));
  }
  if (std::isfinite(spec.min)) return fmt::format("{} of at least {}", kind, bound(spec.min));
  if (std::isfinite(spec.max)) return fmt::format("{} of at most {}", kind, bound(spec.max));
  return kind;
}

std::optional<Value> parse_value(const ParamSpec& spec, std::string_view text) {
  if (std::holds_alternative<bool>(spec.fallback)) {
    if (text == "true") return Value(true);
    if (text == "false") return Value(false);
    return std::nullopt;
  }
  if (std::holds_alternative<std::string>(spec.fallback)) {
    const bool known = spec.choices.empty() || std::find(spec.choices.begin(), spec.choices.end(),
                                                         text) != spec.choices.end();
    return known ? std::optional<Value>(std::string(text)) : std::nullopt;
  }
  if (std::holds_alternative<int64_t>(spec.fallback)) {
    const auto number = parse_integer(text);
    if (!number) return std::nullopt;
    const auto real = static_cast<double>(*number);
    if (real < spec.min || real > spec.max) return std::nullopt;
    const bool on_step = spec.step == 1 || (*number - std::llround(spec.min)) % spec.step == 0;
    return on_step ? std::optional<Value>(*number) : std::nullopt;
  }
  const auto number = parse_real(text, spec.min, spec.max);
  return number ? std::optional<Value>(*number) : std::nullopt;
}

Json to_json_value(const Value& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

std::string to_text(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value)) return shortest(*real);
  return std::get<std::string>(value);
}

}  // namespace

void to_json(Json& json, const ParamSpec& spec) {
  json = Json{{"name", spec.name}, {"default", to_json_value(spec.fallback)}, {"help", spec.help}};
  // The type cannot be read back from the default alone: 1.0 and 1 are the same JSON number.
  static constexpr const char* kTypes[] = {"bool", "integer", "real", "text"};
  json["type"] = kTypes[spec.fallback.index()];
  if (std::isfinite(spec.min)) json["min"] = spec.min;
  if (std::isfinite(spec.max)) json["max"] = spec.max;
  if (!spec.choices.empty()) json["choices"] = spec.choices;
  if (spec.added_later) json["added_later"] = true;
  if (spec.step != 1) json["step"] = spec.step;
  if (!spec.at_most.empty()) json["at_most"] = spec.at_most;
}

void from_json(const Json& json, ParamSpec& spec) {
  spec.name = json.at("name");
  spec.help = json.at("help");
  const std::string type = json.at("type");
  const Json& fallback = json.at("default");
  if (type == "bool") {
    spec.fallback = fallback.get<bool>();
  } else if (type == "integer") {
    spec.fallback = fallback.get<int64_t>();
  } else if (type == "real") {
    spec.fallback = fallback.get<double>();
  } else {
    spec.fallback = fallback.get<std::string>();
  }
  if (json.contains("min")) spec.min = json["min"];
  if (json.contains("max")) spec.max = json["max"];
  if (json.contains("choices")) spec.choices = json["choices"].get<std::vector<std::string>>();
  spec.added_later = json.value("added_later", false);
  spec.step = json.value("step", int64_t{1});
  spec.at_most = json.value("at_most", std::string());
}

Spec parse_spec(std::string_view text) {
  Spec spec;
  const auto colon = text.find(':');
  spec.name = trim(text.substr(0, colon));
  if (spec.name.empty()) {
    throw usage_error("\"{}\": expected name or name:key=value,key=value", text);
  }
  if (colon == std::string_view::npos) return spec;
  for (const auto piece : split(text.substr(colon + 1), ",")) {
    const auto part = trim(piece);
    const auto equals = part.find('=');
    const std::string key{trim(part.substr(0, equals))};
    if (equals == std::string_view::npos || key.empty()) {
      throw usage_error("\"{}\": \"{}\" is not key=value", text, part);
    }
    for (const auto& [known, value] : spec.arguments) {
      if (known == key) throw usage_error("\"{}\": {} is given twice", text, key);
    }
    spec.arguments.emplace_back(key, trim(part.substr(equals + 1)));
  }
  return spec;
}

std::string without_signs_of_zeros(std::string_view text) {
  if (text.find("=-0") == std::string_view::npos) return std::string(text);
  Spec spec;
  try {
    spec = parse_spec(text);
  } catch (const Error&) {
    return std::string(text);
  }
  std::string made = spec.name;
  char separator = ':';
  for (const auto& [key, value] : spec.arguments) {
    const bool is_zero = parse_real(value).value_or(1) == 0;
    made += fmt::format("{}{}={}", separator, key, is_zero ? "0" : value);
    separator = ',';
  }
  return made;
}

Params::Params(const std::vector<ParamSpec>& specs, const Spec& given) : owner_(given.name) {
  for (const auto& spec : specs) entries_.push_back({.spec = spec, .value = spec.fallback});
  for (const auto& [key, text] : given.arguments) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&key = key](const Entry& e) { return e.spec.name == key; });
    if (found == entries_.end()) {
      std::vector<std::string> valid;
      for (const auto& spec : specs) valid.push_back(spec.name);
      if (valid.empty()) throw usage_error("{} takes no parameters, got {}={}", owner_, key, text);
      throw usage_error("{}: unknown parameter \"{}\"{}; it takes {}", owner_, key,
                        did_you_mean(key, valid), fmt::join(valid, ", "));
    }
    const auto value = parse_value(found->spec, text);
    if (!value) {
      throw usage_error("{}: {}={}: expected {}{}", owner_, key, text, describe(found->spec),
                        did_you_mean(text, found->spec.choices));
    }
    found->value = *value;
    if (auto* real = std::get_if<double>(&found->value); real != nullptr && *real == 0) {
      found->is_minus_zero = std::signbit(*real);
      *real = 0;
    }
  }
  check_together();
}

void Params::check_together() const {
  for (const auto& [spec, value, is_minus_zero] : entries_) {
    if (spec.at_most.empty()) continue;
    const int64_t most = integer(spec.at_most);
    if (std::get<int64_t>(value) <= most) continue;
    throw usage_error("{}: {}={}: expected at most {}, which is {}", owner_, spec.name,
                      to_text(value), spec.at_most, most);
  }
}

const Params::Entry& Params::entry(std::string_view name) const {
  for (const auto& candidate : entries_) {
    if (candidate.spec.name == name) return candidate;
  }
  throw Error(ErrorKind::kInternal, fmt::format("{} declares no parameter {}", owner_, name));
}

void Params::throw_unnamed(std::string_view name) const {
  throw Error(ErrorKind::kInternal,
              fmt::format("{}: {}={} is declared and has no meaning", owner_, name, text(name)));
}

std::string Params::text_of(bool defaults_too, bool with_signs) const {
  std::string text = owner_;
  char separator = ':';
  for (const auto& [spec, value, is_minus_zero] : entries_) {
    if ((!defaults_too || spec.added_later) && value == spec.fallback) continue;
    const char* sign = with_signs && is_minus_zero ? "-" : "";
    text += fmt::format("{}{}={}{}", separator, spec.name, sign, to_text(value));
    separator = ',';
  }
  return text;
}

std::string Params::to_string() const { return text_of(/*defaults_too=*/false); }

std::string Params::full_text() const { return text_of(/*defaults_too=*/true); }

std::string Params::text_with_signs() const {
  return text_of(/*defaults_too=*/true, /*with_signs=*/true);
}

}  // namespace approx
