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

// Numbers as text for parse_range(): "0-5", "1,2,7-9". Sorted, each once.
std::string range_text(std::vector<int64_t> numbers);

// Whether a piece of a list belongs to the piece before it. Texts such as
// `topk_position:k=1,scale=equal` contain commas: a piece `key=value` with no `:` before its `=`
// continues the previous one.
bool goes_on(std::string_view piece);

}  // namespace approx
