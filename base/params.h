// Declared parameters, and the one grammar in which a method, schedule or network is named
// everywhere (TOML, command line, Python, store): `name:key=value,key=value`.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/enum_text.h"
#include "base/numbers.h"

namespace approx {

using Value = std::variant<bool, int64_t, double, std::string>;

// One declared parameter: its type is that of its default; a text with choices takes only those.
struct ParamSpec {
  std::string name;
  Value fallback;
  std::string help;
  double min = -std::numeric_limits<double>::infinity();  // inclusive, numbers only
  double max = std::numeric_limits<double>::infinity();   // inclusive, numbers only
  std::vector<std::string> choices;
  // Declared when there were stored runs already, which did what its default does: `full_text`
  // leaves the default out, so that their keys stay.
  bool added_later = false;
  int64_t step = 1;     // integers: only min, min + step, min + 2 step, ...; min is finite then
  std::string at_most;  // integers: of the same owner, the integer that it must not exceed
};

void to_json(Json& json, const ParamSpec& spec);
void from_json(const Json& json, ParamSpec& spec);

// A text of this grammar with every -0 as 0; a text of another grammar as it is.
std::string without_signs_of_zeros(std::string_view text);

// What a user wrote, cut into its parts and not yet checked against any declaration.
struct Spec {
  std::string name;
  std::vector<std::pair<std::string, std::string>> arguments;
};

// Parses `name` or `name:key=value,key=value`; white space around parts is ignored. Throws
// Error(kUsage) on an empty name, a missing `=`, an empty or repeated key.
Spec parse_spec(std::string_view text);

// Every declared parameter with its value, checked once. A missing argument takes its default.
class Params {
 public:
  Params() = default;

  // Throws Error(kUsage) that names the owner, the parameter, the value and what is allowed for
  // an unknown name (with the nearest valid one), a wrong type, a value out of range or above
  // the parameter that bounds it.
  Params(const std::vector<ParamSpec>& specs, const Spec& given);

  bool flag(std::string_view name) const { return get<bool>(name); }
  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }

  // A text as the value that has it in the table of its enumeration (base/enum_text.h), from which
  // the choices are declared (`names_of_enum`). Throws Error(kInternal) for a text that was
  // declared and is not in it.
  template <NamedEnum E>
  E choice(std::string_view name) const {
    if (const auto value = find_named<E>(text(name))) return *value;
    throw_unnamed(name);
  }

  const std::string& owner() const { return owner_; }

  // `name:key=value,...` with every parameter that differs from its default, in declared order:
  // what labels and tables show.
  std::string to_string() const;

  // The same with every parameter (but see added_later): what run keys hash, so that a default
  // spelled out and a default left out are the same run, and what a worker is given.
  std::string full_text() const;

  // full_text with the sign of zeros that were written with one, "ratio=-0": what it was until -0
  // and 0 became one value.
  std::string text_with_signs() const;

 private:
  struct Entry {
    ParamSpec spec;
    Value value;
    bool is_minus_zero = false;  // as it was written; the value is 0
  };

  const Entry& entry(std::string_view name) const;
  void check_together() const;
  std::string text_of(bool defaults_too, bool with_signs = false) const;
  [[noreturn]] void throw_unnamed(std::string_view name) const;

  template <typename T>
  const T& get(std::string_view name) const {
    return std::get<T>(entry(name).value);
  }

  std::string owner_;
  std::vector<Entry> entries_;
};

}  // namespace approx
