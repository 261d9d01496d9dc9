#include "core/config/slice.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace approx {
namespace {

// Larger numbers are slips of the keyboard; below it no sum of two can overflow.
constexpr int64_t kMaxNumber = 1'000'000'000'000;

Slice parse_from_zero(std::string_view key, std::string_view text) {
  try {
    return parse_slice(text, /*default_start=*/0);
  } catch (const Error& error) {
    throw usage_error("{} = {}: {}", key, quote(text), error.what());
  }
}

}  // namespace

Slice parse_slice(std::string_view text, int64_t default_start) {
  const auto whole = trim(text);
  constexpr const char* kExpected = "expected start:stop:step or a number";
  if (whole.empty()) throw usage_error("an empty selection; {}", kExpected);
  auto parts = split(whole, ":");
  const size_t count = parts.size();
  if (count > 3) throw usage_error("{} has more than three parts; {}", quote(whole), kExpected);
  parts.resize(3);
  const auto number = [&](std::string_view padded, int64_t fallback) {
    const auto part = trim(padded);
    if (part.empty()) return fallback;
    const auto value = parse_integer(part, 0, kMaxNumber);
    if (!value) {
      const bool too_large = std::all_of(part.begin(), part.end(),
                                         [](unsigned char c) { return std::isdigit(c) != 0; });
      if (too_large) throw usage_error("{} is larger than {}", quote(part), kMaxNumber);
      throw usage_error("{} is not a whole number; {}", quote(part), kExpected);
    }
    return *value;
  };
  Slice slice;
  slice.start = number(parts[0], default_start);
  if (count == 1) {
    slice.stop = slice.start + 1;
    return slice;
  }
  slice.stop = number(parts[1], -1);
  slice.step = number(parts[2], 1);
  if (slice.step == 0) throw usage_error("{}: the step must be at least 1", quote(whole));
  if (slice.stop >= 0 && slice.stop <= slice.start) {
    throw usage_error(
        "{} selects nothing: the stop {} is exclusive and must lie above the start {}",
        quote(whole), slice.stop, slice.start);
  }
  return slice;
}

Slice parse_steps(std::string_view text) { return parse_from_zero("steps", text); }

Slice parse_ranks(std::string_view text) {
  return text.empty() ? Slice() : parse_from_zero("ranks", text);
}

Slice parse_epochs(std::string_view text) {
  return text.empty() ? Slice() : parse_from_zero("epochs", text);
}

std::string to_text(const Slice& slice) {
  const std::string stop = slice.stop < 0 ? "" : fmt::format("{}", slice.stop);
  return fmt::format("{}:{}:{}", slice.start, stop, slice.step);
}

}  // namespace approx
