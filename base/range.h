// Lists in flags and files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace approx {

// Parses a list of integers: `a,b`, `first-last`, `first-last+step`, `first-last*factor`, mixed
// with commas. At most 1,000,000 values. Throws Error(kUsage).
std::vector<int64_t> parse_range(std::string_view text);

// The most values of one range_values().
inline constexpr size_t kMaxRangeValues = 1'000;

// The numbers that one piece of a list stands for, as texts. The piece may be a range of decimal
// numbers: `first-last` in steps of 1, `first-last+step` or `first-last*factor`. Any other text is
// returned as it is. Values are exact decimals: "0.1-0.4+0.1" is 0.1, 0.2, 0.3 and 0.4. Throws
// Error(kUsage) for a range that is empty, endless, or longer than kMaxRangeValues.
std::vector<std::string> range_values(std::string_view piece);

// The numbers of a list of such pieces: "0.1,0.5-0.7+0.1".
std::vector<std::string> list_values(std::string_view text);

// Numbers as text for parse_range(): "0-5", "1,2,7-9". Sorted, each once.
std::string range_text(std::vector<int64_t> numbers);

// Whether a piece of a list belongs to the piece before it. Texts such as
// `topk_position:k=1,scale=equal` contain commas: a piece `key=value` with no `:` before its `=`
// continues the previous one.
bool goes_on(std::string_view piece);

}  // namespace approx
