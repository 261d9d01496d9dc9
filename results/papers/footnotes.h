// Remarks under a table, referred to by letters.
#pragma once

#include <string>
#include <vector>

namespace approx {

// Gives letters out in the order of their first use: a to z, then aa, ab and so on.
class Footnotes {
 public:
  // The letter of a remark, the same for the same text.
  std::string letter(const std::string& text);

  // " [a]"; "" for no text.
  std::string mark(const std::string& text) {
    return text.empty() ? "" : " [" + letter(text) + "]";
  }

  // "a: ..." for each.
  std::vector<std::string> lines() const;

 private:
  std::vector<std::string> texts_;
};

}  // namespace approx
