#include "results/store/event_reader.h"

#include <algorithm>
#include <array>

namespace approx {
namespace {

constexpr size_t kLongestEvent = size_t{32} << 20;  // a "final" with 2 million step times
constexpr size_t kMostEvents = size_t{64} << 20;    // bytes of events kept for one run
constexpr size_t kDeepestEvent = 16;
// Values take memory whatever their length as text (values_of): of one event as much as 4 million
// step times do, of the events kept for one run as much as 300,000 metrics.
constexpr size_t kMostValuesOfEvent = size_t{4} << 20;
constexpr size_t kMostValues = size_t{16} << 20;

constexpr auto kEventKinds =
    std::to_array<std::string_view>({"start", "progress", "metric", "layer", "variant", "traffic",
                                     "block", "note", "final", "error"});

// What a character outside of texts adds to the memory of a JSON value, in the sixteen bytes that a
// number takes.
size_t values_of(char c) {
  switch (c) {
    case ',':  // what comes behind it
      return 1;
    case '[':  // a list and its first value, or an object without its members
    case '{':
      return 4;
    case '"':  // a text, but for its characters
      return 3;
    case ':':  // with the text before it a member of an object
      return 2;
    default:
      return 0;
  }
}

// The values that a JSON text comes to in memory; more than an event may have of one that nests
// deeper than any does.
size_t values_in(std::string_view text) {
  size_t depth = 0, values = 1;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    values += values_of(c);
    quoted = c == '"';
    if (c == '[' || c == '{') {
      if (++depth > kDeepestEvent) return kMostValuesOfEvent + 1;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return values;
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
  skipping_ = false;  // of what was skipped nothing is left, which is no event
  const size_t values = values_in(line);
  const bool has_room = values <= kMostValuesOfEvent && kept_values_ + values <= kMostValues &&
                        kept_bytes_ + line.size() <= kMostEvents && last_.is_null();
  Json event;
  if (has_room) event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const std::string kind = kind_of(event);
  if (kind.empty()) {
    ++garbage_;
    return;
  }
  use(event);
  if (kind == "progress" || kind == "note") return;
  kept_bytes_ += line.size();
  kept_values_ += values;
  events_.push_back(event);  // a copy: lists that grew have room for twice as many values
  if (kind == "final" || kind == "error") last_ = std::move(event);
}

}  // namespace approx
