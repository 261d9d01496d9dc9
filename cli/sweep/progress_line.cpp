#include "cli/sweep/progress_line.h"

#include <fmt/ranges.h>

#include <vector>

#include "cli/text.h"

namespace approx {

std::string text_of(const ProgressLine& line) {
  std::vector<std::string> parts;
  if (line.left && line.all) {
    parts.push_back(fmt::format("{} left ({} for all)", format_duration(*line.left),
                                format_duration(*line.all)));
  } else if (line.left) {
    parts.push_back(format_duration(*line.left) + " left");
  } else if (line.all) {
    parts.push_back(format_duration(*line.all) + " for all");
  }
  parts.push_back(line.method);
  if (line.epochs > 0) parts.push_back(fmt::format("epoch {:.0f}/{}", line.epoch, line.epochs));
  if (line.total_steps > 0) {
    parts.push_back(fmt::format("{} {}/{}", line.unit, line.step, line.total_steps));
  }
  if (line.accuracy) parts.push_back(fmt::format("accuracy {:.2f} %", 100 * *line.accuracy));
  if (line.loss) parts.push_back(fmt::format("loss {:.4f}", *line.loss));
  if (line.images_per_s) parts.push_back(fmt::format("{:.0f} images/s", *line.images_per_s));
  if (!line.rest.empty()) parts.push_back(line.rest);
  const std::string beside = line.at_work > 1 ? fmt::format(", {} at work", line.at_work) : "";
  return fmt::format("[{}/{}{}] {}", line.number, line.total, beside, fmt::join(parts, ", "));
}

std::string fit(const std::string& text, size_t columns) {
  size_t seen = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) == 0x80) continue;
    if (++seen > columns) {
      size_t cut = i;
      do {
        --cut;
      } while (cut > 0 && (text[cut] & 0xC0) == 0x80);
      return text.substr(0, cut) + "…";
    }
  }
  return text;
}

}  // namespace approx
