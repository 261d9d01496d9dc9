#include "base/known_names.h"

#include "base/error.h"

namespace approx {
namespace {

constexpr size_t kFew = 8;

}  // namespace

std::string known_names(std::string_view word, const std::vector<std::string>& valid) {
  std::string hint = did_you_mean(word, valid);
  if (hint.empty() || valid.size() <= kFew)
    hint += fmt::format("; known: {}", fmt::join(valid, ", "));
  return hint;
}

}  // namespace approx
