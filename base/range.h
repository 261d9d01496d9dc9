// Lists as flags and files give them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace approx {

// `a,b`, `first-last`, `first-last+step`, `first-last*factor`, mixed with commas, over integers.
// At most 1,000,000 values. Throws Error(kUsage).
std::vector<int64_t> parse_range(std::string_view text);

// Numbers as parse_range() reads them: "0-5", "1,2,7-9". Sorted, each once.
std::string range_text(std::vector<int64_t> numbers);

// Texts such as `topk_position:k=1,scale=equal` have commas of their own: in a list of them, a
// piece that is `key=value`, with no `:` before its `=`, goes on with the piece before it.
bool goes_on(std::string_view piece);

}  // namespace approx
