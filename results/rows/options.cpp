#include "results/rows/options.h"

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace approx {

std::string Margin::text() const {
  return of_error_ ? fmt::format("{} % of the dense error", shortest(100 * value_))
                   : shortest(value_) + " points";
}

std::optional<Margin> parse_margin(std::string_view text) {
  const bool of_error = text.ends_with('%');
  if (of_error) {
    text.remove_suffix(1);
  } else if (text.ends_with("pp")) {
    text.remove_suffix(2);
  }
  const auto value = parse_real(trim(text));
  if (of_error && value >= 0.1 && value <= 1000) return Margin::of_error(*value / 100);
  if (!of_error && value >= 0.001 && value <= 100) return Margin(*value);
  return std::nullopt;
}

}  // namespace approx
