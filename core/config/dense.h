// The two words that may stand in place of a method's text and name no method.
#pragma once

#include <string_view>

namespace approx {

// The exact computation.
inline constexpr std::string_view kDense = "dense";

// Used for a run whose rules each name a method of their own.
inline constexpr std::string_view kMixed = "mixed";

// `method` is a full text; neither word has parameters.
constexpr bool is_dense(std::string_view method) { return method == kDense; }
constexpr bool is_mixed(std::string_view method) { return method == kMixed; }

}  // namespace approx
