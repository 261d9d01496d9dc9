#include "cli/sweep/protocol.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "cli/text.h"

namespace approx {
namespace {

constexpr size_t kLongestEvent = size_t{32} << 20;  // a "final" with 2 million step times
constexpr size_t kMostEvents = size_t{64} << 20;    // bytes of events kept for one run
constexpr size_t kDeepestEvent = 16;

constexpr auto kEventKinds = std::to_array<std::string_view>(
    {"start", "progress", "metric", "layer", "variant", "block", "note", "final", "error"});

// A JSON text that nests deeper than any event does would cost far more memory than its length.
bool too_deep(std::string_view text) {
  size_t depth = 0;
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

void write_task(const std::string& run_directory, const WorkerTask& task) {
  Json json = {{"run_key", task.run_key},         {"config", task.config},
               {"data_dir", task.place.data_dir}, {"verify_data", task.place.verify_data},
               {"isolated", task.isolated},       {"changed_files", task.changed_files}};
  const Checkpoints& checkpoints = task.place.checkpoints;
  if (!checkpoints.folder.empty()) {
    json["checkpoints"] = {{"folder", checkpoints.folder},
                           {"every_ns", checkpoints.every_ns},
                           {"every_epochs", checkpoints.every_epochs}};
  }
  const Recording& recording = task.place.recording;
  if (!recording.folder.empty()) {
    json["recording"] = {{"folder", recording.folder},
                         {"every_epochs", recording.every_epochs},
                         {"every_steps", recording.every_steps}};
  }
  const std::string path = run_directory + "/" + kTaskFile;
  std::ofstream out(path);
  out << json_text(json, 1) << "\n";
  out.close();
  if (!out) {
    throw Error(ErrorKind::kInternal, fmt::format("{}: {}; free some space and run again",
                                                  printable(path), std::strerror(errno)));
  }
}

WorkerTask read_task(const std::string& run_directory) {
  std::ifstream in(run_directory + "/" + kTaskFile);
  const Json json = Json::parse(in);
  WorkerTask task{.run_key = json.at("run_key").get<std::string>(),
                  .config = json.at("config").get<RunConfig>(),
                  .place = {.data_dir = json.at("data_dir").get<std::string>(),
                            .verify_data = json.at("verify_data").get<bool>()},
                  .isolated = json.value("isolated", false),
                  .changed_files = json.value("changed_files", std::vector<std::string>())};
  if (const auto given = json.find("checkpoints"); given != json.end()) {
    auto& checkpoints = task.place.checkpoints;
    given->at("folder").get_to(checkpoints.folder);
    given->at("every_ns").get_to(checkpoints.every_ns);
    given->at("every_epochs").get_to(checkpoints.every_epochs);
  }
  if (const auto given = json.find("recording"); given != json.end()) {
    auto& recording = task.place.recording;
    recording.run_key = task.run_key;
    given->at("folder").get_to(recording.folder);
    given->at("every_epochs").get_to(recording.every_epochs);
    given->at("every_steps").get_to(recording.every_steps);
  }
  return task;
}

std::string event_line(const Json& event) { return json_text(event) + "\n"; }

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
  if (!skipped && !too_deep(line)) event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
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
