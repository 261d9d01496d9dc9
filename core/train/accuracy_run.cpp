#include "core/train/accuracy_run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "core/train/checkpoint.h"
#include "core/train/device.h"
#include "core/train/energy.h"
#include "core/train/evaluation.h"
#include "core/train/operand_probe.h"
#include "core/train/recorder.h"
#include "core/train/run_events.h"
#include "core/train/session.h"
#include "core/train/step_graphs.h"

namespace approx {
namespace {

// What an accuracy run has on record besides its session: saved with it.
struct Record {
  int64_t segments = 1;  // processes that worked on it
  int64_t train_ns = 0, eval_ns = 0, warmup_ns = 0;
  int64_t start_ns = 0;  // until the first step, of every segment
  int64_t aside_ns = 0;  // losses and energy, events, checkpoints and recordings
  int64_t wall_ns = 0;   // of the segments before this one

  // What `wall_ns` consists of, by a clock for each part.
  int64_t counted_ns() const { return train_ns + eval_ns + warmup_ns + start_ns + aside_ns; }
  std::vector<int64_t> step_ns;
  double epoch_loss = 0;  // summed over its steps so far
  int64_t epoch_loss_steps = 0, loss_from = 0;
  int64_t epoch_from_ns = 0, data_wait_ns = 0;  // where the epoch began, what it has waited so far
  double cpu_joules = 0, gpu_joules = 0;        // of training, evaluation left out
  double last_accuracy = -1;
  std::vector<Json> metrics;  // as reported
};

// Every field under its name, one list for both ways.
template <typename AnyRecord, typename Use>
void each_field(AnyRecord& record, Use use) {
  use("segments", record.segments);
  use("train_ns", record.train_ns);
  use("eval_ns", record.eval_ns);
  use("warmup_ns", record.warmup_ns);
  use("start_ns", record.start_ns);
  use("aside_ns", record.aside_ns);
  use("wall_ns", record.wall_ns);
  use("step_ns", record.step_ns);
  use("epoch_loss", record.epoch_loss);
  use("epoch_loss_steps", record.epoch_loss_steps);
  use("loss_from", record.loss_from);
  use("epoch_from_ns", record.epoch_from_ns);
  use("data_wait_ns", record.data_wait_ns);
  use("cpu_joules", record.cpu_joules);
  use("gpu_joules", record.gpu_joules);
  use("last_accuracy", record.last_accuracy);
  use("metrics", record.metrics);
}

void to_json(Json& json, const Record& record) {
  each_field(record, [&](const char* key, const auto& value) { json[key] = value; });
}

void from_json(const Json& json, Record& record) {
  // Checkpoints of before have the rest of the wall-clock time as one.
  const bool has_parts = json.contains("start_ns");
  each_field(record, [&](const std::string& key, auto& value) {
    if (has_parts || (key != "start_ns" && key != "aside_ns")) json.at(key).get_to(value);
  });
  if (!has_parts) record.start_ns = std::max<int64_t>(0, record.wall_ns - record.counted_ns());
}

// By checkpoints whose times have in them what the device did, as those of the worker's environment
// (cli/sweep/worker.cpp).
constexpr const char* kDeviceTime = "device_time";
constexpr const char* kWhole = "whole";

// Before its first step: whether those of `session` are captured. One that might capture, and does
// not, says why.
bool captures_steps(const Session& session) {
  const auto report = session.graph_report();
  return report && report->steps.empty();
}

// One accuracy run, its clocks and its metrics.
class AccuracyRun {
 public:
  AccuracyRun(const RunConfig& config, const LoadedDataset& dataset, const Checkpoints& checkpoints,
              const EventSink& sink, const std::atomic<bool>& stop, const Recording& recording,
              std::shared_ptr<Collectives> ranks)
      : config_(config),
        dataset_(dataset),
        checkpoints_(checkpoints),
        sink_(sink),
        stop_(stop),
        ranks_(std::move(ranks)),
        session_(std::make_unique<Session>(config, dataset, ranks_)),
        warmup_(
            warmup_steps(session_->period(), session_->total_steps(), captures_steps(*session_))),
        on_cpu_(config.device == DeviceKind::kCpu),
        recorder_(recording, config, *session_),
        energy_(monitor_of(open_device(config.device))) {}

  void operator()() {
    resume();
    evaluation_.emplace(config_, dataset_, *session_);
    send_start(*session_, dataset_, config_, sink_);
    for (const auto& event : record_.metrics) sink_(event);
    record_.start_ns += nanoseconds(RunClock::now() - began_);
    finish(train());
  }

 private:
  // Counts its lifetime as time beside the training, but for what is counted otherwise meanwhile.
  class Aside {
   public:
    explicit Aside(Record& record) : record_(record), counted_(record.counted_ns()) {}
    Aside(const Aside&) = delete;
    ~Aside() { record_.aside_ns += ns(); }

    int64_t ns() const {
      return nanoseconds(RunClock::now() - began_) - (record_.counted_ns() - counted_);
    }

   private:
    Record& record_;
    const int64_t counted_;
    const RunClock::time_point began_ = RunClock::now();
  };

  static constexpr int64_t kLossEvery = 20;

  // Trains to the end, until the run is to stop, or until the loss is no number any more.
  Ending train() {
    const int64_t total = session_->total_steps(), per_epoch = session_->steps_per_epoch();
    while (session_->steps_done() < total) {
      const auto agreed = agree();
      if (agreed.save || agreed.stop) save();
      if (agreed.stop) return Ending::kInterrupted;
      const bool recorded = recorder_.due(*session_);
      timed_step(recorded ? &probe_ : nullptr);
      const Aside aside(record_);
      if (recorded) save_operands();
      const int64_t done = session_->steps_done();
      const bool epoch_ends = at_end_of_epoch();
      if (is_loss_read()) look_at_loss(epoch_ends);
      if (!epoch_ends && done % kLossEvery == 0) read_energy(/*count=*/true);
      if (epoch_ends && !divergence_) end_epoch((done + per_epoch - 1) / per_epoch);
      if (divergence_) return Ending::kDiverged;
      if (early_end_) return Ending::kFinished;
      due_ = due_ || checkpoint_due(epoch_ends);
    }
    return Ending::kFinished;
  }

  // Inside of the clock, as part of the step that is next: ranks with a GPU each wait here for the
  // host of the slowest.
  Wishes agree() {
    const auto before = RunClock::now();
    const auto agreed = session_->agree({.stop = stop_, .save = std::exchange(due_, false)});
    add_time(nanoseconds(RunClock::now() - before), session_->steps_done() + 1);
    return agreed;
  }

  // The last one may be a part.
  bool at_end_of_epoch() const {
    const int64_t done = session_->steps_done();
    return done % session_->steps_per_epoch() == 0 || done == session_->total_steps();
  }

  // Reading the loss waits for the device, so it is looked at once in a while: soon enough to stop
  // a diverged run within a hundred steps.
  bool is_loss_read() const {
    return at_end_of_epoch() || session_->steps_done() % kLossEvery == 0;
  }

  void timed_step(StepObserver* observer) {
    const auto before = RunClock::now();
    std::optional<double> density;
    if (counts_gradients()) {
      density = session_->step_counting_gradients(observer);
    } else {
      session_->step(observer);
    }
    const int64_t done = session_->steps_done();
    // Where steps are only queued, their single times mean nothing: those since the device was last
    // waited for are timed together, inside of the clock, and before anything waits outside of it.
    if (!on_cpu_ && (done == warmup_ || is_loss_read())) session_->synchronize();
    const int64_t ns = nanoseconds(RunClock::now() - before);
    add_time(ns, done);
    if (on_cpu_ && done > warmup_) record_.step_ns.push_back(ns);
    if (density) metric("gradient_density", "train", *density);
  }

  // Adds the time of a step, counted from 1.
  void add_time(int64_t ns, int64_t step) {
    (step <= warmup_ ? record_.warmup_ns : record_.train_ns) += ns;
  }

  // Inside of the clock, before weights or operands are copied from the device.
  void wait_for_device() {
    if (on_cpu_) return;
    const auto before = RunClock::now();
    session_->synchronize();
    add_time(nanoseconds(RunClock::now() - before), session_->steps_done());
  }

  // One step of each epoch counts, every epoch another one of a schedule's period, so that steps of
  // all kinds are among them.
  bool counts_gradients() const {
    const int64_t per_epoch = session_->steps_per_epoch(), step = session_->steps_done();
    const int64_t kinds = std::min(session_->period(), per_epoch);
    const int64_t number = step / per_epoch, last = (number + 1) * per_epoch - 1;
    return step == last - (last - number % kinds) % kinds;
  }

  // Outside the clock. Operands that cannot be written cost themselves, not the run.
  void save_operands() {
    wait_for_device();
    read_energy(/*count=*/true);
    try {
      recorder_.save(*session_, probe_.take());
    } catch (const Error& error) {
      note(fmt::format("step {} is not recorded whole: {}", session_->steps_done() - 1,
                       error.what()));
    }
    read_energy(/*count=*/false);
  }

  void look_at_loss(bool epoch_ends) {
    const int64_t steps = session_->steps_done() - record_.loss_from;
    const double mean = session_->take_mean_loss();
    record_.loss_from = session_->steps_done();
    record_.epoch_loss += mean * static_cast<double>(steps);
    record_.epoch_loss_steps += steps;
    if (!std::isfinite(mean)) {
      diverge();
      metric("loss", "train", mean);
    }
    report_progress(mean, epoch_ends);
  }

  void diverge() {
    divergence_ = {session_->steps_done(), session_->network().first_bad_parameter()};
  }

  void report_progress(double loss, bool force) {
    const auto now = RunClock::now();
    if (!force && now - progress_at_ < std::chrono::milliseconds(250)) return;
    const int64_t trained_ns = record_.train_ns + record_.warmup_ns;
    const int64_t steps = session_->steps_done() - progress_step_;
    const double seconds = 1e-9 * static_cast<double>(trained_ns - progress_ns_);
    Json event{{"event", "progress"},
               {"epoch", epoch()},
               {"epochs", config_.recipe.epochs},
               {"step", session_->steps_done()},
               {"total_steps", session_->total_steps()},
               {"images_per_s",
                seconds > 0 ? static_cast<double>(steps * session_->batch_size()) / seconds : 0.0},
               {"accuracy", record_.last_accuracy < 0 ? Json() : Json(record_.last_accuracy)}};
    event["loss"] = json_number(loss);
    sink_(event);
    progress_at_ = now;
    progress_step_ = session_->steps_done();
    progress_ns_ = trained_ns;
  }

  // Adds what training has taken since the last call; `count` false: forgets it.
  void read_energy(bool count) {
    const auto cpu = energy_.take_cpu_joules(), gpu = energy_.take_gpu_joules();
    has_cpu_joules_ = cpu.has_value();
    has_gpu_joules_ = gpu.has_value();
    if (!count) return;
    record_.cpu_joules += cpu.value_or(0);
    record_.gpu_joules += gpu.value_or(0);
  }

  void end_epoch(int64_t epoch_number) {
    read_energy(/*count=*/true);
    if (has_cpu_joules_) metric("energy", "cpu", record_.cpu_joules);
    if (has_gpu_joules_) metric("energy", "gpu", record_.gpu_joules);
    metric(
        "loss", "train",
        record_.epoch_loss / static_cast<double>(std::max<int64_t>(1, record_.epoch_loss_steps)));
    if (const auto loss = session_->take_proxy_loss()) {
      metric("proxy_loss", "train", *loss);
      // Its choices mean nothing any more.
      if (!std::isfinite(*loss)) {
        divergence_ = {session_->steps_done(), "the small network of the selection"};
        return;
      }
    }
    metric("learning_rate", "train", session_->rate_at(session_->steps_done() - 1));
    for (const auto& [where, density] : session_->take_densities()) {
      metric("density", where, density);
    }
    for (const auto& [block, rate] : session_->block_rates()) metric("block_rate", block, rate);
    for (const auto& [layer, ratios] : session_->controlled_ratios()) {
      metric("example_ratio", layer, ratios.examples);
      metric("weight_ratio", layer, ratios.weights);
    }
    if (const auto cost = session_->control_cost()) {
      metric("control_work", "passes", cost->first);
      metric("control_work", "saved", cost->second);
    }
    if (const auto kept = session_->kept_share()) metric("kept", "train", *kept);
    if (const auto wait_ns = session_->take_data_wait_ns()) {
      const int64_t epoch_ns = record_.train_ns + record_.warmup_ns - record_.epoch_from_ns;
      metric("data_wait", "train",
             static_cast<double>(record_.data_wait_ns + *wait_ns) / static_cast<double>(epoch_ns));
    }
    record_.data_wait_ns = 0;
    record_.epoch_from_ns = record_.train_ns + record_.warmup_ns;
    record_.epoch_loss = 0;
    record_.epoch_loss_steps = 0;
    const bool last = epoch_number == config_.recipe.epochs;
    if (!last && epoch_number % config_.recipe.eval_every != 0) return;
    const auto before = RunClock::now();
    std::optional<double> judged;
    if (session_->split().holdout.count() > 0) {
      judged = score("holdout", session_->split().holdout);
      if (session_->observe(*judged)) metric("plateau", "holdout", *judged);
    }
    const double tested = score("test", session_->split().test);
    early_end_ = early_end(judged.value_or(tested), session_->steps_done());
    record_.eval_ns += nanoseconds(RunClock::now() - before);
    read_energy(/*count=*/false);
  }

  // Whether this evaluation ends the training before its length.
  std::optional<EarlyEnd> early_end(double accuracy, int64_t step) {
    see_evaluation(accuracy, step);
    if (step == session_->total_steps()) return std::nullopt;
    if (config_.stop_at > 0 && accuracy >= config_.stop_at) return EarlyEnd::kTarget;
    const int64_t patience = config_.patience * session_->steps_per_epoch();
    if (patience > 0 && step - best_at_ >= patience) return EarlyEnd::kPatience;
    return std::nullopt;
  }

  void see_evaluation(double accuracy, int64_t step) {
    if (accuracy <= best_accuracy_) return;
    best_accuracy_ = accuracy;
    best_at_ = step;
  }

  // Takes in the evaluations that earlier processes of this run made, on the images that judge.
  void see_earlier_evaluations() {
    const bool holds_out = session_->split().holdout.count() > 0;
    for (const auto& event : record_.metrics) {
      if (event.at("name") != "accuracy") continue;
      if (event.at("split") != (holds_out ? "holdout" : "test")) continue;
      see_evaluation(event.at("value"), event.at("step"));
    }
  }

  double score(const char* split, const DeviceImages& images) {
    const auto result = evaluation_->score(images);
    metric("accuracy", split, result.accuracy);
    metric("loss", split, result.loss);
    record_.last_accuracy = result.accuracy;
    // A loss that overflowed in evaluation alone is not a divergence of the training, but
    // parameters that are no longer numbers are.
    if (!std::isfinite(result.loss) && !session_->network().first_bad_parameter().empty())
      diverge();
    return result.accuracy;
  }

  void metric(const char* metric_name, const std::string& split, double value) {
    Json event = metric_event(*session_, metric_name, split, record_.train_ns, value);
    sink_(event);
    record_.metrics.push_back(std::move(event));
  }

  void note(const std::string& message) { sink_({{"event", "note"}, {"message", message}}); }

  double epoch() const {
    return static_cast<double>(session_->steps_done()) /
           static_cast<double>(session_->steps_per_epoch());
  }

  // By the clock of rank 0, like everything that a clock decides.
  bool checkpoint_due(bool epoch_ends) {
    if (checkpoints_.folder.empty() || !is_first()) return false;
    if (epoch_ends) ++epochs_since_save_;
    const bool due =
        (checkpoints_.every_epochs > 0 && epochs_since_save_ >= checkpoints_.every_epochs) ||
        (checkpoints_.every_ns > 0 &&
         nanoseconds(RunClock::now() - saved_at_) >= checkpoints_.every_ns);
    if (due) count_from_here();
    return due;
  }

  void count_from_here() {
    saved_at_ = RunClock::now();
    epochs_since_save_ = 0;
  }

  // A checkpoint that cannot be written costs what it would have saved, not the run. A rank that
  // does not give what it has is lost to the next step too.
  void save() {
    if (checkpoints_.folder.empty()) return;
    const Aside aside(record_);
    wait_for_device();
    try {
      if (const auto wait_ns = session_->take_data_wait_ns()) record_.data_wait_ns += *wait_ns;
      auto checkpoint = session_->save();
      checkpoint.state["config"] = config_;
      checkpoint.state[kDeviceTime] = kWhole;
      Record record = record_;
      record.aside_ns += aside.ns();
      record.wall_ns += nanoseconds(RunClock::now() - began_);
      checkpoint.state["record"] = record;
      if (is_first()) save_checkpoint(checkpoints_.folder, checkpoint);
    } catch (const LostRank&) {
      throw;
    } catch (const Error& error) {
      note(fmt::format("no checkpoint after step {}: {}", session_->steps_done(), error.what()));
    }
    count_from_here();
  }

  // Goes on from the newest checkpoint, if there is one that fits.
  void resume() {
    if (checkpoints_.folder.empty()) return;
    const auto saved = newest_checkpoint();
    if (!saved) return;
    try {
      require_own(*saved, config_);
      session_->restore(*saved);
      record_ = saved->state.at("record").get<Record>();
    } catch (const std::exception& error) {
      note(fmt::format("{}: {}; the run starts anew", checkpoints_.folder, error.what()));
      session_ = std::make_unique<Session>(config_, dataset_, ranks_);
      return;
    }
    see_earlier_evaluations();
    ++record_.segments;
    progress_step_ = session_->steps_done();
    progress_ns_ = record_.train_ns + record_.warmup_ns;
    note(fmt::format("goes on after step {} of {}", session_->steps_done(),
                     session_->total_steps()));
  }

  // Rank 0's checkpoint, which the others get from it: they may have no such folder.
  std::optional<Checkpoint> newest_checkpoint() {
    std::optional<Checkpoint> saved;
    if (is_first()) {
      saved = load_checkpoint(checkpoints_.folder,
                              [this](const std::string& message) { note(message); });
    }
    if (ranks_ == nullptr) return saved;
    const std::string bytes = ranks_->of_first(saved ? encode(*saved) : std::string());
    if (!is_first() && !bytes.empty()) saved = decode(bytes);
    return saved;
  }

  bool is_first() const { return ranks_ == nullptr || ranks_->world().rank == 0; }

  void finish(Ending ending) {
    {
      const Aside aside(record_);
      for (const auto& event : session_->layer_events()) sink_(event);
      judge_control();
      report_graphs(*session_, "train",
                    [this](const char* name, const std::string& split, double value) {
                      metric(name, split, value);
                    });
    }
    Json event = final_event(ending, session_->steps_done(), began_);
    event.update({{"warmup_steps", std::min(warmup_, session_->steps_done())},
                  {"train_ns", record_.train_ns},
                  {"eval_ns", record_.eval_ns},
                  {"warmup_ns", record_.warmup_ns},
                  {"start_ns", record_.start_ns},
                  {"aside_ns", record_.aside_ns},
                  {"wall_ns", record_.wall_ns + event["wall_ns"].get<int64_t>()},
                  {"step_ns", record_.step_ns},
                  {"segments", record_.segments}});
    if (record_.segments > 1) {
      event["taint"] = {fmt::format("went on from a checkpoint: {} processes in turn worked on it",
                                    record_.segments)};
    }
    if (early_end_ && ending == Ending::kFinished) event["ended_by"] = *early_end_;
    if (divergence_) put_divergence(event, *divergence_);
    sink_(event);
  }

  // Says so if controlling the ratios of a method has cost more than its samples have saved.
  void judge_control() {
    const auto cost = session_->control_cost();
    if (!cost || cost->first < cost->second) return;
    note(fmt::format(
        "{}: its measurements took {:.1f} % of the work of exact steps, and its samples "
        "saved {:.1f} %; measure less often (every) or allow more (tolerance)",
        config_.method, 100 * cost->first, 100 * cost->second));
  }

  const RunConfig& config_;
  const LoadedDataset& dataset_;
  const Checkpoints& checkpoints_;
  const EventSink& sink_;
  const std::atomic<bool>& stop_;
  const RunClock::time_point began_ = RunClock::now();
  const std::shared_ptr<Collectives> ranks_;  // null: this process alone
  std::unique_ptr<Session> session_;
  std::optional<Evaluation> evaluation_;
  OperandProbe probe_;
  int64_t warmup_;
  bool on_cpu_;
  Recorder recorder_;
  EnergyMeter energy_;
  bool has_cpu_joules_ = false, has_gpu_joules_ = false;
  Record record_;
  RunClock::time_point saved_at_ = RunClock::now();
  int64_t epochs_since_save_ = 0;
  bool due_ = false;  // a checkpoint
  RunClock::time_point progress_at_{};
  int64_t progress_step_ = 0, progress_ns_ = 0;
  std::optional<Divergence> divergence_;
  double best_accuracy_ = -1;  // of the evaluations that judge
  int64_t best_at_ = 0;        // the first step with it
  std::optional<EarlyEnd> early_end_;
};

}  // namespace

int64_t warmup_steps(int64_t period, int64_t total_steps, bool captures) {
  const int64_t periods = captures ? StepGraphs::kStepsBefore + 1 : 1;
  return std::min(std::max<int64_t>(4, periods * period), total_steps / 4);
}

void require_own(const Checkpoint& checkpoint, const RunConfig& config) {
  if (checkpoint.state.value("config", Json()) != Json(config)) {
    throw Error(ErrorKind::kData, "the checkpoint is of another run");
  }
  if (config.device == DeviceKind::kCpu) return;
  if (checkpoint.state.value(kDeviceTime, Json()) != Json(kWhole)) {
    throw Error(ErrorKind::kData, "the seconds of the checkpoint leave out what the device did");
  }
}

void run_accuracy(const RunConfig& config, const LoadedDataset& dataset,
                  const Checkpoints& checkpoints, const EventSink& sink,
                  const std::atomic<bool>& stop, const Recording& recording,
                  std::shared_ptr<Collectives> ranks) {
  if (ranks != nullptr && !recording.folder.empty()) {
    throw usage_error(
        "--record: a run with several ranks is not recorded: each has a share of the batch alone");
  }
  AccuracyRun run(config, dataset, checkpoints, sink, stop, recording, std::move(ranks));
  run();
}

}  // namespace approx
