#include "base/range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace approx {
namespace {

constexpr size_t kMaxValues = 1'000'000;

constexpr int64_t kMostMantissa = 999'999'999'999'999'999;

// mantissa x 10^exponent, with no zero at the end of the mantissa. Steps of binary numbers would
// miss the decimal numbers that are meant, and these are parts of run keys.
struct Decimal {
  __extension__ using Wide = __int128;
  static constexpr int kDigits = 18;

  int64_t mantissa = 0;
  int exponent = 0;

  void strip() {
    if (mantissa == 0) exponent = 0;
    while (mantissa != 0 && mantissa % 10 == 0) {
      mantissa /= 10;
      ++exponent;
    }
  }

  int digits() const {
    int count = 0;
    for (int64_t rest = mantissa; rest != 0; rest /= 10) ++count;
    return count;
  }

  // The mantissa at a smaller exponent; nothing beyond kDigits digits.
  std::optional<int64_t> at(int smaller) const {
    if (mantissa == 0) return 0;
    if (digits() + exponent - smaller > kDigits) return std::nullopt;
    int64_t scaled = mantissa;
    for (int i = exponent; i > smaller; --i) scaled *= 10;
    return scaled;
  }

  std::string text() const {
    if (exponent >= 0) {
      if (const auto whole = at(0)) return fmt::format("{}", *whole);
    }
    const std::string exact = fmt::format("{}e{}", mantissa, exponent);
    const auto value = parse_real(exact);
    return value ? shortest(*value) : exact;
  }
};

// Whether a < b, both above 0.
bool is_below(const Decimal& a, const Decimal& b) {
  const int size_a = a.digits() + a.exponent, size_b = b.digits() + b.exponent;
  if (size_a != size_b) return size_a < size_b;
  // Both have equally many digits before the point, so their exponents differ by fewer than 18.
  const int smaller = std::min(a.exponent, b.exponent);
  const auto scaled = [&](const Decimal& number) {
    Decimal::Wide value = number.mantissa;
    for (int i = number.exponent; i > smaller; --i) value *= 10;
    return value;
  };
  return scaled(a) < scaled(b);
}

struct RangeParts {
  std::string_view first, last, change;  // `change` may be empty
  char sign = '+';
};

// Takes a decimal number off the beginning of `text`; "" where there is none.
std::string_view take_number(std::string_view& text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const auto take_digits = [&] {
    const size_t begin = at;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0) ++at;
    return at - begin;
  };
  size_t digits = take_digits();
  if (digits > 0 && at < text.size() && text[at] == '.') {
    ++at;
    digits += take_digits();
  }
  if (digits == 0) return {};
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const size_t before = at++;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (take_digits() == 0) at = before;
  }
  const auto number = text.substr(0, at);
  text.remove_prefix(at);
  return number;
}

std::optional<RangeParts> range_parts(std::string_view text) {
  RangeParts parts;
  parts.first = take_number(text);
  if (parts.first.empty() || !text.starts_with('-')) return std::nullopt;
  text.remove_prefix(1);
  parts.last = take_number(text);
  if (parts.last.empty()) return std::nullopt;
  if (text.empty()) return parts;
  parts.sign = text.front();
  if (parts.sign != '+' && parts.sign != '*') return std::nullopt;
  text.remove_prefix(1);
  parts.change = take_number(text);
  if (parts.change.empty() || !text.empty()) return std::nullopt;
  return parts;
}

// Reads a text that take_number() returned. Returns nothing if it has too many digits.
std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal number;
  const size_t e = text.find_first_of("eE");
  bool fraction = false;
  for (const char c : text.substr(0, e)) {
    if (c == '.') {
      fraction = true;
    } else if (c != '-') {
      if (number.digits() >= Decimal::kDigits) return std::nullopt;
      number.mantissa = number.mantissa * 10 + (c - '0');
      if (fraction) --number.exponent;
    }
  }
  if (text.starts_with('-')) number.mantissa = -number.mantissa;
  if (e != std::string_view::npos) {
    auto power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    const auto value = parse_integer(power, -400, 400);
    if (!value) return std::nullopt;
    number.exponent += static_cast<int>(*value);
  }
  number.strip();
  return number;
}

}  // namespace

std::vector<std::string> range_values(std::string_view piece) {
  const auto parts = range_parts(trim(piece));
  if (!parts) return {std::string(piece)};
  const auto shown = piece.substr(0, 80);
  const auto too_long = [&] {
    return usage_error("\"{}\": a range of numbers with more than {} digits; write out its values",
                       shown, Decimal::kDigits);
  };
  const auto first = read_decimal(parts->first), last = read_decimal(parts->last);
  const auto change = parts->change.empty() ? Decimal{1, 0} : read_decimal(parts->change);
  if (!first || !last || !change) throw too_long();
  const bool multiplies = parts->sign == '*';
  if (change->mantissa <= 0 || (multiplies && !is_below({1, 0}, *change))) {
    throw usage_error("\"{}\": a step is above 0, a factor above 1", shown);
  }
  std::vector<std::string> values;
  const auto add = [&](const Decimal& value) {
    if (values.size() >= kMaxRangeValues) {
      throw usage_error("\"{}\": more than {} values", shown, kMaxRangeValues);
    }
    values.push_back(value.text());
  };
  const auto none = [&] {
    return usage_error("\"{}\": {} lies above {}", shown, parts->first, parts->last);
  };
  if (multiplies) {
    if (first->mantissa <= 0) {
      throw usage_error("\"{}\": a range with a factor begins above 0", shown);
    }
    if (last->mantissa <= 0 || is_below(*last, *first)) throw none();
    for (Decimal value = *first; !is_below(*last, value);) {
      add(value);
      Decimal::Wide next = Decimal::Wide{value.mantissa} * change->mantissa;
      value.exponent += change->exponent;
      for (; next > kMostMantissa; next /= 10, ++value.exponent) {
        if (next % 10 == 0) continue;
        int size = value.exponent;
        for (auto rest = next; rest != 0; rest /= 10) ++size;
        if (size > last->digits() + last->exponent) return values;
        throw too_long();
      }
      value.mantissa = static_cast<int64_t>(next);
      value.strip();
    }
    return values;
  }
  const int exponent = std::min({first->exponent, last->exponent, change->exponent});
  const auto from = first->at(exponent), to = last->at(exponent), step = change->at(exponent);
  if (!from || !to || !step) throw too_long();
  if (*to < *from) throw none();
  for (int64_t value = *from; value <= *to; value += *step) {
    Decimal number{value, exponent};
    number.strip();
    add(number);
  }
  return values;
}

std::vector<std::string> list_values(std::string_view text) {
  std::vector<std::string> values;
  for (const auto piece : split(text, ",")) {
    for (auto& value : range_values(trim(piece))) values.push_back(std::move(value));
  }
  return values;
}

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
