// Declared parameters, and the one grammar for naming a method, schedule or network:
// `name:key=value,key=value`. TOML, command line, Python and store all use it.
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

// One declared parameter. Its type is that of its default. A text with choices takes only those.
struct ParamSpec {
  std::string name;
  Value fallback;
  std::string help;
  double min = -std::numeric_limits<double>::infinity();  // inclusive, numbers only
  double max = std::numeric_limits<double>::infinity();   // inclusive, numbers only
  std::vector<std::string> choices;
  // The parameter was declared when there were already stored runs, which did what its default
  // does. `full_text` leaves the default out, so that their keys stay valid.
  bool added_later = false;
  int64_t step = 1;     // integers: only min, min + step, min + 2 step, ...; needs a finite min
  std::string at_most;  // integers: name of the owner's integer that it must not exceed
};

void to_json(Json& json, const ParamSpec& spec);
void from_json(const Json& json, ParamSpec& spec);

// A text of this grammar with every -0 written as 0; any other text unchanged.
std::string without_signs_of_zeros(std::string_view text);

// A user's text split into its parts, not yet checked against any declaration.
struct Spec {
  std::string name;
  std::vector<std::pair<std::string, std::string>> arguments;
};

// Parses `name` or `name:key=value,key=value`; white space around parts is ignored. Throws
// Error(kUsage) on an empty name, a missing `=`, an empty or repeated key.
Spec parse_spec(std::string_view text);

// All declared parameters with their values, checked once. A missing argument takes its default.
class Params {
 public:
  Params() = default;

  // Checks `given` against the declarations. Throws Error(kUsage), which names the owner, the
  // parameter, the value and the allowed values. It throws for an unknown name (the message has the
  // nearest valid one), a wrong type, and a value out of range. It throws too for a value above the
  // parameter that bounds it.
  Params(const std::vector<ParamSpec>& specs, const Spec& given);

  bool flag(std::string_view name) const { return get<bool>(name); }
  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }

  // The value of a text in the table of its enumeration (base/enum_text.h). The choices must be
  // declared from that table (`names_of_enum`). Throws Error(kInternal) for a declared text that is
  // not in the table.
  template <NamedEnum E>
  E choice(std::string_view name) const {
    if (const auto value = find_named<E>(text(name))) return *value;
    throw_unnamed(name);
  }

  const std::string& owner() const { return owner_; }

  // `name:key=value,...` with every parameter that differs from its default, in declared order.
  // Labels and tables show it.
  std::string to_string() const;

  // As to_string(), with every parameter (but see added_later). Run keys hash this text, so that a
  // default is the same run whether it is spelled out or not. Workers get it too.
  std::string full_text() const;

  // As full_text, with the signs of zeros as they were written: "ratio=-0". That was the full text
  // before -0 and 0 became one value.
  std::string text_with_signs() const;

 private:
  struct Entry {
    ParamSpec spec;
    Value value;
    bool is_minus_zero = false;  // it was written as -0; the value is 0
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
