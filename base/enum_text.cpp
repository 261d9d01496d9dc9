#include "base/enum_text.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace approx {

void throw_unknown_name(std::string_view text, const std::vector<std::string>& names,
                        std::string_view what, std::string_view list) {
  constexpr size_t kShown = 80;
  throw usage_error("{} \"{}{}\"{}; {} {}", what, text.substr(0, kShown),
                    text.size() > kShown ? "..." : "", did_you_mean(text, names), list,
                    fmt::join(names, ", "));
}

const std::string& json_word(const Json& json) { return json.get_ref<const std::string&>(); }

}  // namespace approx
