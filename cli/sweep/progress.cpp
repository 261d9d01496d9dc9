#include "cli/sweep/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/sweep/progress_line.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace approx {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kHeartbeat = std::chrono::seconds(30);

// One write per line, so that lines of several processes do not mix. A failed
// write is not an error: nobody is looking.
void write_stderr(const std::string& text) {
  const char* at = text.data();
  size_t left = text.size();
  while (left > 0) {
    const ssize_t written = write(STDERR_FILENO, at, left);
    if (written <= 0) return;
    at += written;
    left -= static_cast<size_t>(written);
  }
}

}  // namespace

Progress::Progress(const std::string& mode, int64_t total) : mode_(Mode::kLog), total_(total) {
  const char* terminal = std::getenv("TERM");
  const bool capable =
      isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string(terminal) != "dumb";
  if (mode == "bar" || (mode == "auto" && capable)) mode_ = Mode::kBar;
  if (mode == "json") mode_ = Mode::kJson;
  if (mode == "none") mode_ = Mode::kNone;
  last_line_ = Clock::now();
}

Progress::~Progress() { clear_line(); }

Progress::Active* Progress::find(int64_t number) {
  const auto it = std::find_if(active_.begin(), active_.end(),
                               [&](const Active& run) { return run.number == number; });
  return it == active_.end() ? nullptr : &*it;
}

void Progress::started(int64_t number, const std::string& label, const std::string& method) {
  Active run;
  run.number = number;
  run.label = label;
  run.method = method;
  run.since = Clock::now();
  active_.push_back(run);
  if (mode_ == Mode::kJson) {
    print(json_text({{"event", "started"}, {"run", number}, {"runs", total_}, {"label", label}}));
  }
}

void Progress::event(int64_t number, const Json& event) {
  Active* run = find(number);
  if (run == nullptr) return;
  const auto kind = event.value("event", Json());
  const auto real = [&](const char* key, double& value) {
    const auto found = event.find(key);
    if (found != event.end() && found->is_number()) {
      value = found->get<double>();
      return true;
    }
    return false;
  };
  const auto integer = [&](const char* key, int64_t& value) {
    const auto found = event.find(key);
    if (found != event.end() && holds_whole<int64_t>(*found)) value = found->get<int64_t>();
  };
  if (kind == "start" || kind == "progress") {
    integer("steps_per_epoch", run->steps_per_epoch);
    integer("total_steps", run->total_steps);
    integer("step", run->step);
    if (event.contains("pairs")) {  // a timing run counts pairs of blocks
      integer("pairs", run->total_steps);
      integer("pair", run->step);
      run->steps_per_epoch = 0;
      run->unit = "pair";
    }
    real("epoch", run->epoch);
    real("images_per_s", run->images_per_s);
    if (real("loss", run->loss)) run->has_loss = true;
  } else if (kind == "metric" && event.value("name", Json()) == "accuracy") {
    if (real("value", run->accuracy)) run->has_accuracy = true;
  }
  if (mode_ == Mode::kJson && (kind == "progress" || kind == "metric")) {
    Json copy = event;
    copy["run"] = number;
    copy["runs"] = total_;
    print(json_text(copy));
  }
}

void Progress::ended(int64_t number, RunState state, const std::string& summary) {
  const Active* run = find(number);
  if (run == nullptr) return;
  const auto took = Clock::now() - run->since;
  ++done_;
  spent_ += took;
  if (mode_ == Mode::kJson) {
    print(json_text({{"event", "ended"},
                     {"run", number},
                     {"runs", total_},
                     {"label", run->label},
                     {"state", name(state)},
                     {"summary", summary}}));
  } else if (mode_ != Mode::kNone) {
    print(fmt::format("[{}/{}] {}: {}{}{} ({})", number, total_, run->label, name(state),
                      summary.empty() ? "" : ": ", summary, format_duration(took)));
  }
  active_.erase(active_.begin() + (run - active_.data()));
}

void Progress::note(const std::string& text) {
  print(mode_ == Mode::kJson ? json_text({{"event", "note"}, {"text", text}}) : text);
}

std::string Progress::describe(const Active& run) const {
  ProgressLine line{.number = run.number,
                    .total = total_,
                    .at_work = static_cast<int64_t>(active_.size()),
                    .method = run.method,
                    .epoch = run.epoch,
                    .step = run.step,
                    .total_steps = run.total_steps,
                    .unit = run.unit,
                    .rest = run.label};
  // Labels begin with the method's.
  if (line.rest.starts_with(run.method + ", ")) line.rest.erase(0, run.method.size() + 2);
  if (run.total_steps > 0 && run.steps_per_epoch > 0) {
    line.epochs = (run.total_steps + run.steps_per_epoch - 1) / run.steps_per_epoch;
  }
  if (run.images_per_s > 0) line.images_per_s = run.images_per_s;
  if (run.has_loss) line.loss = run.loss;
  if (run.has_accuracy) line.accuracy = run.accuracy;
  const auto now = Clock::now();
  if (run.step > 0 && run.total_steps > 0) {
    line.left = std::chrono::duration_cast<Clock::duration>(
        (now - run.since) *
        (static_cast<double>(run.total_steps - run.step) / static_cast<double>(run.step)));
  }
  const int64_t waiting = total_ - done_ - static_cast<int64_t>(active_.size());
  if (waiting > 0 && (done_ > 0 || line.left)) {
    // A run that ended is the best guess at another; before the first one, the
    // run at work is.
    const auto left = line.left.value_or(Clock::duration{0});
    const auto each = done_ > 0 ? spent_ / done_ : (now - run.since) + left;
    const auto lanes = std::max<int64_t>(1, static_cast<int64_t>(active_.size()));
    line.all = left + each * waiting / lanes;
  }
  return text_of(line);
}

void Progress::print(const std::string& line) {
  clear_line();
  write_stderr(line + "\n");
  last_line_ = Clock::now();
}

void Progress::clear_line() {
  if (!line_shown_) return;
  write_stderr("\r\x1b[K");
  line_shown_ = false;
}

void Progress::draw() {
  if (active_.empty()) return;
  write_stderr("\r" + fit(describe(active_.front()), output_width(STDERR_FILENO).value_or(80) - 1) +
               "\x1b[K");
  line_shown_ = true;
}

void Progress::tick() {
  const auto now = Clock::now();
  if (mode_ == Mode::kBar && now - last_draw_ >= kRedraw) {
    last_draw_ = now;
    draw();
  } else if (mode_ == Mode::kLog && now - last_line_ >= kHeartbeat && !active_.empty()) {
    print(describe(active_.front()));
  }
}

}  // namespace approx
