#include "results/papers/footnotes.h"

#include <algorithm>

namespace approx {
namespace {

std::string letter_at(size_t index) {
  std::string letters(1, static_cast<char>('a' + index % 26));
  if (index >= 26) letters.insert(0, 1, static_cast<char>('a' + index / 26 - 1));
  return letters;
}

}  // namespace

std::string Footnotes::letter(const std::string& text) {
  const auto found = std::find(texts_.begin(), texts_.end(), text);
  const auto index = static_cast<size_t>(found - texts_.begin());
  if (found == texts_.end()) texts_.push_back(text);
  return letter_at(index);
}

std::vector<std::string> Footnotes::lines() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < texts_.size(); ++i) lines.push_back(letter_at(i) + ": " + texts_[i]);
  return lines;
}

}  // namespace approx
