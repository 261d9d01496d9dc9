#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/numbers.h"
#include "base/range.h"
#include "base/text.h"

namespace approx {
namespace {

// Length of the valid UTF-8 sequence that `bytes` starts with, 0 if it starts
// with none. Overlong forms, surrogates and code points above U+10FFFF are not
// valid.
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

size_t width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// A callback on the option's text instead of CLI11's own conversions: those
// read 010 as octal and cut numbers that do not fit.
template <typename Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& flag, const std::string& type,
                        const std::string& help, Parse parse) {
  return app
      .add_option_function<std::string>(
          flag, [flag, parse](const std::string& text) { parse(text, flag); }, help)
      ->type_name(type);
}

bool looks_numeric(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.,+-eE%x() ") == std::string_view::npos;
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
        "{}: \"{}\" is not a duration; expected a number with "
        "ms, s, m, h or d, "
        "such as 30m",
        what, printable(text));
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

CLI::Option* add_integer(CLI::App& app, const std::string& flag, int64_t& value, int64_t min,
                         int64_t max, const std::string& help) {
  return add_parsed(app, flag, "N", help,
                    [&value, min, max](const std::string& text, const std::string& name) {
                      const auto parsed = parse_integer(text, min, max);
                      if (!parsed) {
                        throw usage_error("{}: \"{}\" is not a whole number from {} to {}", name,
                                          printable(text), min, max);
                      }
                      value = *parsed;
                    });
}

CLI::Option* add_real(CLI::App& app, const std::string& flag, double& value, double min, double max,
                      const std::string& help) {
  return add_parsed(app, flag, "X", help,
                    [&value, min, max](const std::string& text, const std::string& name) {
                      const auto parsed = parse_real(text, min, max);
                      if (!parsed) {
                        throw usage_error("{}: \"{}\" is not a number from {} to {}", name,
                                          printable(text), min, max);
                      }
                      value = *parsed;
                    });
}

CLI::Option* add_choice(CLI::App& app, const std::string& flag, std::string& value,
                        const std::vector<std::string>& choices, const std::string& help) {
  return add_parsed(app, flag, fmt::format("{}", fmt::join(choices, "|")), help,
                    [&value, choices](const std::string& text, const std::string& name) {
                      if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
                        throw usage_error("{}: unknown value \"{}\"{}; expected {}", name,
                                          printable(text), did_you_mean(text, choices),
                                          fmt::join(choices, ", "));
                      }
                      value = text;
                    });
}

CLI::Option* add_duration(CLI::App& app, const std::string& flag, Nanoseconds& value,
                          const std::string& help) {
  return add_parsed(app, flag, "TIME", help,
                    [&value](const std::string& text, const std::string& name) {
                      value = parse_duration(text, name);
                    });
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  for (const auto piece : split(text, ",")) {
    if (const auto part = trim(piece); !part.empty()) parts.emplace_back(part);
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

std::string markdown_table(const std::vector<std::string>& header,
                           const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  std::vector<bool> numeric;
  for (size_t column = 0; column < header.size(); ++column) {
    size_t widest = std::max<size_t>(3, width(header[column]));
    bool numbers = !rows.empty();
    for (const auto& row : rows) {
      widest = std::max(widest, width(row[column]));
      numbers = numbers && (row[column].empty() || looks_numeric(row[column]));
    }
    widths.push_back(widest);
    numeric.push_back(numbers);
  }
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (size_t column = 0; column < cells.size(); ++column) {
      const std::string pad(widths[column] - width(cells[column]), ' ');
      text += numeric[column] ? "| " + pad + cells[column] + " " : "| " + cells[column] + pad + " ";
    }
    text += "|\n";
  };
  line(header);
  for (size_t column = 0; column < header.size(); ++column) {
    text += "|" + std::string(widths[column] + 1, '-') + (numeric[column] ? ":" : "-");
  }
  text += "|\n";
  for (const auto& row : rows) line(row);
  return text;
}

std::string csv_table(const std::vector<std::string>& header,
                      const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (size_t column = 0; column < cells.size(); ++column) {
      if (column > 0) text += ',';
      if (cells[column].find_first_of(",\"\r\n") == std::string::npos) {
        text += cells[column];
        continue;
      }
      text += '"';
      for (const char c : cells[column]) text += c == '"' ? std::string("\"\"") : std::string(1, c);
      text += '"';
    }
    text += "\n";
  };
  line(header);
  for (const auto& row : rows) line(row);
  return text;
}

}  // namespace approx
