// What a worker says: its pipe, byte by byte, the run that comes of it in a store, and the file
// that tells it what to do. A worker that has gone wild may say anything.
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/process/protocol.h"
#include "cli/sweep/observed.h"
#include "results/store/event_reader.h"
#include "results/store/outcome.h"
#include "tests/fuzz/fuzz.h"
#include "tests/results/filled_store.h"

namespace approx::fuzz {
namespace {

// Runs after which a store is made anew: they all stay in it.
constexpr int64_t kRunsOfStore = 200;

struct Heard {
  std::vector<Json> events;
  Json last;
  int64_t garbage = 0;
};

Heard hear(std::string_view bytes, size_t piece) {
  EventReader reader;
  const auto use = [](const Json& event) { event_line(event); };
  for (size_t at = 0; at < bytes.size(); at += piece) reader.add(bytes.substr(at, piece), use);
  reader.finish(use);
  Heard heard{.events = {}, .last = reader.last(), .garbage = reader.garbage()};
  heard.events = reader.take_events();
  return heard;
}

// Of every way a worker can end.
std::vector<RunEnd> ends_of(const Heard& heard) {
  Observed gone{.last = heard.last, .process = {.exit_code = 0}, .output = {"a line"}};
  Observed stopped = gone, late = gone, killed = gone;
  stopped.asked_to_stop = true;
  late.overdue.why = "no event for 10 min 00 s";
  killed.process = {.signal = 9};
  std::vector<RunEnd> ends;
  for (const auto& worker : {gone, stopped, late, killed}) {
    ends.push_back(end_of(worker));
    summary(ends.back(), heard.events);
  }
  return ends;
}

// A store with one run at a time.
class Stores {
 public:
  void record(const std::vector<Json>& events, const RunEnd& end) {
    // A process that was forked leaves the store of the other alone, and an exception leaves a run
    // that is not ended.
    const bool goes_on = is_sound_ && owner_ == ::getpid() && runs_++ % kRunsOfStore != 0;
    is_sound_ = false;
    if (!goes_on) renew();
    const auto id = store_->begin(key_, Json::object(), scratch_folder() + "/run", runs_seen_++);
    expect(id.has_value(), "a run that nobody has begun can be begun");
    store_->finish(*id, events, end);
    is_sound_ = true;
  }

 private:
  void renew() {
    store_.reset();
    owner_ = ::getpid();
    const std::string name = fmt::format("{}/events-{}", scratch_folder(), owner_);
    const std::string path = name + ".db";
    for (const char* ending : {".db", ".db-journal", ".runs"}) {
      std::filesystem::remove_all(name + ending);
    }
    store_ = std::make_unique<RunStore>(path, RunStore::Mode::kWrite);
    const auto run = planned("zero", 0);
    key_ = run.key;
    store_->add_experiment(experiment_of({run}), "fuzz");
    runs_seen_ = 0;
  }

  std::unique_ptr<RunStore> store_;
  std::string key_;
  int64_t runs_ = 0, runs_seen_ = 0;
  bool is_sound_ = false;
  pid_t owner_ = 0;
};

// A task is written by the coordinator of the same program; one that is none is the end of the
// worker, which says why.
void read_as_task(Bytes bytes) {
  scratch_file(kTaskFile, bytes);
  try {
    accepted(ErrorKind::kUsage, [] {
      const auto task = read_task(scratch_folder());
      write_task(scratch_folder(), task);
      expect(read_task(scratch_folder()).config == task.config, "a task is read as it was written");
    });
  } catch (const Json::exception&) {
  }
}

}  // namespace

void run(Bytes bytes) {
  static Stores stores;
  Input input(bytes);
  const uint8_t choice = input.byte();
  const auto text = text_of(input.rest());
  if (choice == 255) return read_as_task(input.rest());
  const auto heard = hear(text, std::max<size_t>(1, text.size()));
  const auto again = hear(text, 1 + choice % 64);
  expect(heard.events == again.events && heard.last == again.last && heard.garbage == again.garbage,
         "events do not depend on how a pipe cuts them");
  const Outcome outcome(heard.events);
  expect(outcome.malformed <= static_cast<int64_t>(heard.events.size()), "each event counts once");
  const auto ends = ends_of(heard);
  stores.record(heard.events, ends[choice % ends.size()]);
}

std::vector<Buffer> seeds() {
  const auto lines = [](const std::vector<Json>& events) {
    std::string text(1, '\7');
    for (const auto& event : events) text += event_line(event);
    return buffer_of(text);
  };
  auto timing = std::vector<Json>{environment_of(), block_event(0, "dense", 4, 1000),
                                  block_event(0, "approx", 4, 900)};
  timing.push_back({{"event", "layer"},
                    {"layer", "conv1"},
                    {"product", "forward"},
                    {"method", "zero"},
                    {"calls", 1},
                    {"exact_calls", 0},
                    {"macs_dense", 100},
                    {"macs_done", 50},
                    {"density", 0.5}});
  timing.push_back({{"event", "variant"},
                    {"layer", "conv1"},
                    {"product", "forward"},
                    {"plan", "Skip"},
                    {"variant", "skip"},
                    {"calls", 1}});
  timing.push_back(traffic_event("conv1", 1, 300, 600));
  timing.push_back(final_event(1000));
  timing.back()["taint"] = {"shared core"};
  std::vector<Buffer> all = {
      lines(accuracy_events({0.5, 0.75})), lines(timing),
      lines({{{"event", "progress"}, {"step", 3}, {"loss", 0.25}},
             {{"event", "note"}, {"text", "a note"}},
             {{"event", "metric"},
              {"name", "loss"},
              {"split", "train"},
              {"step", 1},
              {"value", nullptr},
              {"special", "+inf"}},
             {{"event", "error"}, {"state", "oom"}, {"message", "no memory"}}})};
  RunConfig config = planned("zero", 1).config;
  write_task(scratch_folder(), {.run_key = std::string(64, 'a'),
                                .config = config,
                                .place = {.data_dir = "/data",
                                          .checkpoints = {.folder = "c"},
                                          .recording = {.folder = "r"}}});
  Buffer task = {255};
  const auto file = read_file(scratch_folder() + "/" + kTaskFile, 1 << 20);
  task.insert(task.end(), file.begin(), file.end());
  all.push_back(task);
  return all;
}

}  // namespace approx::fuzz
