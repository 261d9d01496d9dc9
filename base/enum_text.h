// Enumerations and their words in files, flags, JSON, SQL and events: one table each, beside the
// enumeration. Text becomes a value where it enters, and a value becomes text where it leaves. In
// between, a `switch` over the values must be complete to compile.
//
//   enum class Scale { kFull, kSmoke };
//   constexpr auto enum_texts(Scale) {
//     return std::to_array<EnumText<Scale>>({{Scale::kFull, "full"}, {Scale::kSmoke, "smoke"}});
//   }
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json.h"

namespace approx {

template <typename E>
struct EnumText {
  E value;
  std::string_view text;
};

// An enumeration with a table, which is found beside it by its type.
template <typename E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  enum_texts(value);
};

// The word for a value.
template <NamedEnum E>
constexpr std::string_view name(E value) {
  for (const auto& entry : enum_texts(E())) {
    if (entry.value == value) return entry.text;
  }
  return "?";
}

// The value of a word; nothing for an unknown word.
template <NamedEnum E>
constexpr std::optional<E> find_named(std::string_view text) {
  for (const auto& entry : enum_texts(E())) {
    if (entry.text == text) return entry.value;
  }
  return std::nullopt;
}

// Every value, in the order of the table.
template <NamedEnum E>
constexpr auto all_of_enum() {
  constexpr auto kTable = enum_texts(E());
  std::array<E, kTable.size()> values{};
  for (size_t i = 0; i < kTable.size(); ++i) values[i] = kTable[i].value;
  return values;
}

// Every word, in the order of the table.
template <NamedEnum E>
std::vector<std::string> names_of_enum() {
  std::vector<std::string> names;
  for (const auto& entry : enum_texts(E())) names.emplace_back(entry.text);
  return names;
}

// Throws Error(kUsage): `WHAT "TEXT" (did you mean "..."?); LIST a, b, c`. A long text is shown
// only up to a limit.
[[noreturn]] void throw_unknown_name(std::string_view text, const std::vector<std::string>& names,
                                     std::string_view what, std::string_view list);

// The value of a word; throws as throw_unknown_name() does. `what` says which word is wrong:
// "unknown product".
template <NamedEnum E>
E parse(std::string_view text, std::string_view what, std::string_view list = "known:") {
  if (const auto value = find_named<E>(text)) return *value;
  throw_unknown_name(text, names_of_enum<E>(), what, list);
}

// In JSON a value is its word. (Enumerations of unnamed namespaces are not found and become
// numbers.)
template <NamedEnum E>
void to_json(Json& json, E value) {
  json = name(value);
}

const std::string& json_word(const Json& json);  // throws the library's type_error

template <NamedEnum E>
void from_json(const Json& json, E& value) {
  value = parse<E>(json_word(json), "unknown word");
}

}  // namespace approx
