#include "cli/process/output_log.h"

#include <algorithm>

#include "cli/text.h"

namespace approx {
namespace {

// Bounds on what a worker that has gone wild can make us keep.
constexpr size_t kLongestLog = size_t{1} << 20;
constexpr size_t kTailLines = 50;
constexpr size_t kTailLine = 500;

}  // namespace

void OutputLog::add(std::string_view bytes) {
  if (written_ == 0 && !bytes.empty()) file_.open(path_, std::ios::binary);
  if (written_ < kLongestLog) {
    const auto room = std::min(bytes.size(), kLongestLog - written_);
    file_.write(bytes.data(), static_cast<std::streamsize>(room));
    written_ += room;
    if (written_ == kLongestLog) file_ << "\n[more output was left out]\n";
    file_.flush();
  }
  for (const char c : bytes) {
    if (c == '\n') {
      end_line();
    } else if (line_.size() < kTailLine) {
      line_ += c;
    }
  }
}

std::vector<std::string> OutputLog::tail() {
  end_line();
  return {tail_.begin(), tail_.end()};
}

void OutputLog::end_line() {
  if (!line_.empty()) tail_.push_back(printable(line_));
  if (tail_.size() > kTailLines) tail_.pop_front();
  line_.clear();
}

}  // namespace approx
