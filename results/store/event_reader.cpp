#include "results/store/event_reader.h"

#include <algorithm>
#include <array>

namespace approx {
namespace {

constexpr size_t kLongestEvent = size_t{32} << 20;  // a "final" with 2 million step times
constexpr size_t kMostEvents = size_t{64} << 20;    // bytes of events kept for one run
constexpr size_t kDeepestEvent = 16;
// Each takes sixteen bytes and more, whatever its length as text.
constexpr size_t kMostValues = size_t{4} << 20;

constexpr auto kEventKinds =
    std::to_array<std::string_view>({"start", "progress", "metric", "layer", "variant", "traffic",
                                     "block", "note", "final", "error"});

// A JSON text that nests deeper than any event does, or has more values, would cost far more memory
// than its length.
bool too_large(std::string_view text) {
  size_t depth = 0, values = 1;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestEvent) return true;
    } else if (c == ',') {
      if (++values > kMostValues) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

// The kind of an event, "" of what is none.
std::string kind_of(const Json& event) {
  const Json kind = event.is_object() ? event.value("event", Json()) : Json();
  if (!kind.is_string()) return "";
  auto text = kind.get<std::string>();
  return std::find(kEventKinds.begin(), kEventKinds.end(), text) == kEventKinds.end() ? "" : text;
}

}  // namespace

void EventReader::add(std::string_view bytes, const Use& use) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (!skipping_) line_ += bytes.substr(0, end);
    if (line_.size() > kLongestEvent) {
      skipping_ = true;
      line_ = std::string();  // its memory is given back
    }
    if (end == std::string_view::npos) return;
    end_line(use);
    bytes.remove_prefix(end + 1);
  }
}

void EventReader::finish(const Use& use) {
  if (!line_.empty() || skipping_) end_line(use);
}

void EventReader::end_line(const Use& use) {
  const std::string line = std::exchange(line_, {});
  const bool skipped = std::exchange(skipping_, false);
  Json event;
  if (!skipped && !too_large(line)) event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const std::string kind = kind_of(event);
  if (kind.empty() || kept_bytes_ + line.size() > kMostEvents || !last_.is_null()) {
    ++garbage_;
    return;
  }
  use(event);
  if (kind == "progress" || kind == "note") return;
  if (kind == "final" || kind == "error") last_ = event;
  kept_bytes_ += line.size();
  events_.push_back(std::move(event));
}

}  // namespace approx
