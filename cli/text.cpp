#include "cli/text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/numbers.h"
#include "base/range.h"
#include "base/text.h"

namespace approx {
namespace {

// Length of the valid UTF-8 sequence that `bytes` starts with, 0 if it starts with none. Overlong
// forms, surrogates and code points above U+10FFFF are not valid.
size_t utf8_length(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  size_t length = 0;
  uint32_t code = 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) length = 2, code = lead & 0x1Fu;
  if (lead >= 0xE0 && lead < 0xF0) length = 3, code = lead & 0x0Fu;
  if (lead >= 0xF0 && lead < 0xF5) length = 4, code = lead & 0x07u;
  if (length == 0 || bytes.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (at(i) & 0x3Fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return overlong || surrogate || code > 0x10FFFF ? 0 : length;
}

}  // namespace

Nanoseconds parse_duration(std::string_view text, std::string_view what) {
  const auto [value, unit] =
      parse_quantity(text, std::chars_format::fixed).value_or(Quantity{-1, {}});
  double factor = -1;
  if (unit.empty() || unit == "s") factor = 1;
  if (unit == "ms") factor = 1e-3;
  if (unit == "m" || unit == "min") factor = 60;
  if (unit == "h") factor = 3600;
  if (unit == "d") factor = 86400;
  const double seconds = value * factor;
  if (factor < 0 || value < 0 || seconds > 10 * 365.25 * 86400) {
    throw usage_error(
        "{}: \"{}\" is not a duration; expected a number with ms, s, m, h or d, such as 30m", what,
        printable(text));
  }
  return Nanoseconds(std::llround(seconds * 1e9));
}

std::string format_duration(Nanoseconds duration) {
  const double seconds = static_cast<double>(duration.count()) / 1e9;
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

int64_t parse_size(std::string_view text, std::string_view what) {
  auto [value, unit] = parse_quantity(text, std::chars_format::fixed).value_or(Quantity{-1, {}});
  if (unit.ends_with("iB")) unit.remove_suffix(2);
  double factor = -1;
  if (unit == "K") factor = 0x1p10;
  if (unit == "M") factor = 0x1p20;
  if (unit == "G") factor = 0x1p30;
  if (unit == "T") factor = 0x1p40;
  const double bytes = value * factor;
  if (factor < 0 || value <= 0 || bytes > 0x1p60) {
    throw usage_error("{}: \"{}\" is not a size; expected a number with K, M, G or T, such as 4G",
                      what, printable(text));
  }
  return std::llround(bytes);
}

std::string format_size(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (size < 0x1p20) return fmt::format("{:.0f} KiB", std::ceil(size / 0x1p10));
  if (size < 0x1p30) return fmt::format("{:.0f} MiB", size / 0x1p20);
  return fmt::format("{:.1f} GiB", size / 0x1p30);
}

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t length = utf8_length(bytes);
    const auto first = static_cast<unsigned char>(bytes[0]);
    if (length == 0 || first < 0x20 || first == 0x7F) {
      text += fmt::format("\\x{:02x}", first);
      bytes.remove_prefix(1);
    } else {
      text += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return text;
}

std::string shell_word(std::string_view text) {
  const bool plain =
      !text.empty() && text.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "@%+=:,./_-") == std::string_view::npos;
  if (plain) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  for (const auto piece : split(text, ",")) {
    const auto part = trim(piece);
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

std::string value_text(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return shortest(*real);
  const auto& text = std::get<std::string>(value);
  return text.empty() ? "\"\"" : text;
}

std::vector<std::string> split_methods(const std::string& text) {
  std::vector<std::string> methods;
  for (const auto& piece : split_list(text)) {
    if (!methods.empty() && goes_on(piece)) {
      methods.back() += "," + piece;
    } else {
      methods.push_back(piece);
    }
  }
  return methods;
}

}  // namespace approx
