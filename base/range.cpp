#include "base/range.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace approx {
namespace {

constexpr size_t kMaxValues = 1'000'000;

}  // namespace

std::vector<int64_t> parse_range(std::string_view text) {
  constexpr const char* kExpected =
      "expected a,b, first-last, first-last+step or first-last*factor";
  const auto shown = text.substr(0, 80);
  const auto number = [&](std::string_view part) {
    const auto value = part.starts_with('-') ? std::nullopt : parse_integer(part);
    if (!value) {
      throw usage_error("\"{}\": \"{}\" is not a whole number; {}", shown, part.substr(0, 40),
                        kExpected);
    }
    return *value;
  };
  std::vector<int64_t> values;
  for (const auto part : split(text, ",")) {
    const auto piece = trim(part);
    const auto dash = piece.find('-');
    const auto sign = piece.find_first_of("+*", dash == std::string_view::npos ? 0 : dash);
    const int64_t first = number(trim(piece.substr(0, dash)));
    int64_t last = first;
    int64_t change = 1;
    bool multiplies = false;
    if (dash != std::string_view::npos) {
      last = number(
          trim(piece.substr(dash + 1, sign == std::string_view::npos ? sign : sign - dash - 1)));
      if (sign != std::string_view::npos) {
        multiplies = piece[sign] == '*';
        change = number(trim(piece.substr(sign + 1)));
      }
      if (last < first) throw usage_error("\"{}\": {} lies above {}", shown, first, last);
      if (change < 1 || (multiplies && change < 2)) {
        throw usage_error("\"{}\": a step is at least 1, a factor at least 2", shown);
      }
      if (multiplies && first == 0) {
        throw usage_error("\"{}\": 0 times a factor stays 0; begin at 1", shown);
      }
    }
    for (int64_t value = first;;) {
      if (values.size() >= kMaxValues) {
        throw usage_error("\"{}\": more than {} values", shown, kMaxValues);
      }
      values.push_back(value);
      if (multiplies ? value > last / change : value > last - change) break;
      value = multiplies ? value * change : value + change;
    }
  }
  return values;
}

std::string range_text(std::vector<int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text +=
        last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

bool goes_on(std::string_view piece) {
  const auto equals = piece.find('=');
  return equals != std::string_view::npos && piece.find(':') > equals;
}

}  // namespace approx
