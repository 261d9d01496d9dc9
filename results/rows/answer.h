// A report's answer to a yes-or-no question: whether a method is worth using, or whether it pays.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/enum_text.h"

namespace approx {

enum class Answer { kYes, kNo, kUndecided };

constexpr auto enum_texts(Answer) {
  return std::to_array<EnumText<Answer>>(
      {{Answer::kYes, "yes"}, {Answer::kNo, "no"}, {Answer::kUndecided, "undecided"}});
}

// An answer as people see it: "✔ yes", and with other words "✘ not faster".
constexpr std::string_view sign_of(Answer answer) {
  return answer == Answer::kYes ? "✔" : answer == Answer::kNo ? "✘" : "?";
}
inline std::string drawn(Answer answer, std::string_view words) {
  return std::string(sign_of(answer)) + " " + std::string(words);
}
inline std::string drawn(Answer answer) { return drawn(answer, name(answer)); }

struct Reasoned {
  Answer answer = Answer::kUndecided;
  std::string reason;
};

inline Reasoned undecided(std::string reason) { return {Answer::kUndecided, std::move(reason)}; }

// The answer `found`. If it is yes or no and `obstacle` is not "", it becomes undecided, with both
// reasons.
inline Reasoned unless(const std::string& obstacle, Reasoned found) {
  if (found.answer == Answer::kUndecided || obstacle.empty()) return found;
  return undecided(found.reason + ", but " + obstacle);
}

}  // namespace approx
