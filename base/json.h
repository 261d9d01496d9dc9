// JSON: conversion of its numbers to integers, and its text for other programs.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace approx {

// Whether `json` is a whole number, with or without a point in its text, that fits into `T`.
template <std::integral T, typename AnyJson>
bool holds_whole(const AnyJson& json) {
  using Signed = typename AnyJson::number_integer_t;
  using Unsigned = typename AnyJson::number_unsigned_t;
  if (json.is_number_unsigned()) {
    return std::in_range<T>(json.template get_ref<const Unsigned&>());
  }
  if (json.is_number_integer()) return std::in_range<T>(json.template get_ref<const Signed&>());
  if (!json.is_number_float()) return false;
  const double value = json.template get_ref<const double&>();
  // Powers of two are exact as doubles; the largest integer itself may not be.
  const double lowest = static_cast<double>(std::numeric_limits<T>::min());
  const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return value >= lowest && value < beyond && value == std::trunc(value);
}

// Converts JSON to values as nlohmann's library does, but to integers only where they can hold the
// number. The library alone converts 1e300, or an integer of more than 64 bits (which it parses as
// a double), with undefined behaviour. Files from anywhere are read here, so that is an error: the
// library's out_of_range.
template <typename T, typename Enable = void>
struct JsonConversion : nlohmann::adl_serializer<T> {};

template <typename T>
struct JsonConversion<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>>
    : nlohmann::adl_serializer<T> {
  template <typename AnyJson>
  static void from_json(const AnyJson& json, T& value) {
    if (json.is_number() && !holds_whole<T>(json)) {
      constexpr int kNumberOverflow = 406;  // the library's number for it
      throw AnyJson::out_of_range::create(
          kNumberOverflow,
          json.dump() + " is no whole number of " + std::to_string(8 * sizeof(T)) + " bits",
          nullptr);
    }
    nlohmann::adl_serializer<T>::from_json(json, value);
  }
};

using Json = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t,
                                  std::uint64_t, double, std::allocator, JsonConversion>;

// The text of any JSON. File names are bytes: invalid UTF-8 in them is replaced (U+FFFD), where the
// library would throw. `indent`: spaces per level, -1 for one line.
std::string json_text(const Json& json, int indent = -1);

}  // namespace approx
