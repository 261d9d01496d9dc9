// What a report answers to a question with yes or no: whether a method is worth using, whether it
// pays.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "base/enum_text.h"

namespace approx {

enum class Answer { kYes, kNo, kUndecided };

constexpr auto enum_texts(Answer) {
  return std::to_array<EnumText<Answer>>(
      {{Answer::kYes, "yes"}, {Answer::kNo, "no"}, {Answer::kUndecided, "undecided"}});
}

struct Reasoned {
  Answer answer = Answer::kUndecided;
  std::string reason;
};

inline Reasoned undecided(std::string reason) { return {Answer::kUndecided, std::move(reason)}; }

// The answer, but undecided where an obstacle that is not "" stands in the way of a yes or no: both
// reasons are given.
inline Reasoned unless(const std::string& obstacle, Reasoned found) {
  if (found.answer == Answer::kUndecided || obstacle.empty()) return found;
  return undecided(found.reason + ", but " + obstacle);
}

}  // namespace approx
