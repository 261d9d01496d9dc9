// Lists of whole numbers as flags and files give them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace approx {

// `a,b`, `first-last`, `first-last+step`, `first-last*factor`, mixed with commas, over integers.
// At most 1,000,000 values. Throws Error(kUsage).
std::vector<int64_t> parse_range(std::string_view text);

}  // namespace approx
