// The two words that stand where the text of a method stands and name none.
#pragma once

#include <string_view>

namespace approx {

// The exact computation.
inline constexpr std::string_view kDense = "dense";

// Stands for the method of a run whose rules each name their own.
inline constexpr std::string_view kMixed = "mixed";

// The text is full: neither word has parameters.
constexpr bool is_dense(std::string_view method) { return method == kDense; }
constexpr bool is_mixed(std::string_view method) { return method == kMixed; }

}  // namespace approx
