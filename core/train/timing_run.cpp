#include "core/train/timing_run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string_view>
#include <utility>

#include "core/config/dense.h"
#include "core/nn/phases.h"
#include "core/train/block_order.h"
#include "core/train/block_timer.h"
#include "core/train/rank_probe.h"
#include "core/train/run_events.h"
#include "core/train/session.h"

namespace approx {
namespace {

constexpr int64_t kPhaseSteps = 6;
constexpr int64_t kMostBackwardPairs = 10;
// At least, of a block of each network.
constexpr int64_t kWarmUpRounds = 3, kWarmUpNs = 500'000'000;

// What the approximated network is held against.
RunConfig exact_of(RunConfig config) {
  config.method = kDense;
  config.schedule.clear();
  config.selection.clear();
  config.operators = OperatorSet::kBest;
  if (!config.timed_against.empty()) config.network = config.timed_against;
  return config;
}

class TimingRun {
 public:
  TimingRun(const RunConfig& config, const LoadedDataset& dataset, const EventSink& sink,
            const std::atomic<bool>& stop, MachineProbe probe, std::shared_ptr<Collectives> ranks)
      : config_(config),
        dataset_(dataset),
        sink_(sink),
        asked_to_stop_(stop),
        ranks_(std::move(ranks)),
        stop_(ranks_ == nullptr ? stop : stop_together_),
        draw_(static_cast<uint64_t>(of_first(std::random_device()()))),
        probe_(probe_of_all(std::move(probe), ranks_)),
        timer_(probe_, 2 * config.blocks, stop_) {
    // Where in memory a network lies depends on what was there before it, and must not favour the
    // same one in every process.
    if (exact_is_older()) make_exact();
    approx_ = std::make_unique<Session>(config, dataset, ranks_);
    if (!exact_is_older()) make_exact();
    block_steps_ =
        (config.block_steps + approx_->period() - 1) / approx_->period() * approx_->period();
  }

  void operator()() {
    send_start(*approx_, dataset_, config_, sink_, {{"order_draw", draw_}});
    start_ns_ = nanoseconds(RunClock::now() - began_);
    warm_up();
    const auto order = exact_first(config_.blocks, draw_);
    for (int64_t pair = 0; pair < config_.blocks && !stop_; ++pair) {
      time_pair(pair, order[static_cast<size_t>(pair)]);
    }
    if (config_.device == DeviceKind::kCpu && config_.operators == OperatorSet::kBest) {
      // LibTorch's own nodes cannot be asked for the time of a product.
      if (!stop_) time_phases();
      if (config_.timed_against.empty()) time_backward(order);
    }
    finish();
  }

 private:
  // Counts its lifetime as time beside blocks and warm-up: probes of the machine and waits for it,
  // blocks that were repeated, times of phases and gradients, and events.
  class Aside {
   public:
    explicit Aside(TimingRun& run) : run_(run), counted_(run.counted_ns()) {}
    Aside(const Aside&) = delete;
    ~Aside() {
      run_.aside_ns_ += nanoseconds(RunClock::now() - began_) - (run_.counted_ns() - counted_);
    }

   private:
    TimingRun& run_;
    const int64_t counted_;
    const RunClock::time_point began_ = RunClock::now();
  };

  int64_t counted_ns() const { return start_ns_ + warmup_ns_ + train_ns_ + aside_ns_; }

  bool exact_is_older() const { return draw_ & 1; }
  void make_exact() { dense_ = std::make_unique<Session>(exact_of(config_), dataset_, ranks_); }

  // Several ranks begin a block together, and together see that one of them is to stop.
  void begin_together() {
    if (ranks_ != nullptr) stop_together_ = ranks_->any(asked_to_stop_);
  }

  // Rank 0's, by which all decide.
  int64_t of_first(int64_t value) const {
    return ranks_ == nullptr ? value : ranks_->of_first(value);
  }

  // A thousand processes timed exact training of a small network against itself. After one block
  // each, the exact one's first, the approximate one's first timed block was 3 % slower; after
  // three in both orders, a twentieth of a second, its blocks were still 0.8 % slower.
  void warm_up() {
    const Aside aside(*this);
    for (int64_t round = 0; !stop_ && (round < kWarmUpRounds || warmup_ns_ < kWarmUpNs); ++round) {
      const bool dense_first = exact_is_older() == (round % 2 == 0);
      for (const bool is_dense : {dense_first, !dense_first}) {
        warmup_ns_ += block(is_dense ? *dense_ : *approx_);
      }
      warmup_steps_ += block_steps_;
    }
  }

  // Nanoseconds that a block of steps takes; cut short where the run is to stop.
  int64_t block(Session& session) {
    begin_together();
    const auto before = RunClock::now();
    for (int64_t i = 0; i < block_steps_ && !stop_; ++i) session.step();
    session.synchronize();
    return of_first(nanoseconds(RunClock::now() - before));
  }

  void time_pair(int64_t pair, bool dense_first) {
    const Aside aside(*this);
    for (int64_t order = 0; order < 2; ++order) {
      const bool is_dense = dense_first == (order == 0);
      const TimedBlock timed = timer_.time([&] { return block(is_dense ? *dense_ : *approx_); });
      if (stop_) return;
      train_ns_ += timed.ns;
      Json event = {
          {"event", "block"}, {"pair", pair},          {"arm", is_dense ? "dense" : "approx"},
          {"order", order},   {"steps", block_steps_}, {"ns", timed.ns}};
      if (timed.core_share) event["core_share"] = *timed.core_share;
      if (timed.clock_mhz) event["clock_mhz"] = *timed.clock_mhz;
      if (timed.slowed_by) event["slowed_by"] = *timed.slowed_by;
      if (probe_) event["repeats"] = timed.repeats;
      sink_(event);
    }
    sink_({{"event", "progress"},
           {"pair", pair + 1},
           {"pairs", config_.blocks},
           {"images_per_s",
            static_cast<double>(2 * (pair + 1) * block_steps_ * approx_->batch_size()) /
                (1e-9 * static_cast<double>(train_ns_))},
           {"loss", nullptr}});
  }

  // Where the time of an exact step goes bounds what any approximation of it can save. Taken after
  // the blocks: products of a layer then run one after the other, so that each has a time of its
  // own.
  void time_phases() {
    const Aside aside(*this);
    begin_together();
    PhaseClock clock;
    // The network that the run is about, where there are two.
    Session& timed = config_.timed_against.empty() ? *dense_ : *approx_;
    const auto before = RunClock::now();
    for (int64_t i = 0; i < kPhaseSteps && !stop_; ++i) timed.step();
    const auto total = static_cast<double>(nanoseconds(RunClock::now() - before));
    for (size_t phase = 0; phase < kPhaseNames.size() && !stop_; ++phase) {
      metric("phase_share", kPhaseNames[phase], static_cast<double>(clock.spent()[phase]) / total);
    }
  }

  // What a step spends in the gradients of the convolutions, of both networks in pairs of blocks as
  // whole steps are timed, but at their end and of one period each: to read the clock at each layer
  // disturbs a step a little. Exact gradients are computed as in any step, both at once where that
  // is faster.
  void time_backward(const std::vector<bool>& order) {
    const Aside aside(*this);
    const int64_t pairs = std::min(config_.blocks, kMostBackwardPairs);
    BlockTimer timer(probe_, 2 * pairs, stop_);
    for (int64_t pair = 0; pair < pairs && !stop_; ++pair) {
      const bool dense_first = order[static_cast<size_t>(pair)];
      TimedBlock exact, approximated;
      for (const bool is_dense : {dense_first, !dense_first}) {
        (is_dense ? exact : approximated) =
            timer.time([&] { return backward_ns(is_dense ? *dense_ : *approx_); });
      }
      // Unlike a block of whole steps one that was disturbed is left out, and taints nothing.
      if (stop_ || exact.is_disturbed || approximated.is_disturbed) continue;
      const auto steps = static_cast<double>(approx_->period());
      metric("backward_ns", "dense", static_cast<double>(exact.ns) / steps);
      metric("backward_ns", "approx", static_cast<double>(approximated.ns) / steps);
    }
  }

  // Over a period of the schedule.
  int64_t backward_ns(Session& session) {
    begin_together();
    const PhaseClock clock(GradientTimes::kTogether);
    for (int64_t i = 0; i < approx_->period() && !stop_; ++i) session.step();
    return clock.convolutions_backward();
  }

  void metric(const char* name, std::string_view split, double value) {
    sink_(metric_event(*approx_, name, split, train_ns_, value));
  }

  // Whether the approximated network has diverged. Reports what its layers did.
  bool report_layers() {
    const Aside aside(*this);
    for (const auto& event : approx_->layer_events()) sink_(event);
    const auto add = [this](const char* name, const std::string& split, double value) {
      metric(name, split, value);
    };
    report_graphs(*dense_, "dense", add);
    report_graphs(*approx_, "approx", add);
    return !std::isfinite(approx_->take_mean_loss());
  }

  void finish() {
    const bool diverged = report_layers();
    const auto ending = diverged ? Ending::kDiverged
                        : stop_  ? Ending::kInterrupted
                                 : Ending::kFinished;
    Json event = final_event(ending, approx_->steps_done(), began_);
    event.update({{"warmup_steps", warmup_steps_},
                  {"train_ns", train_ns_},
                  {"eval_ns", 0},
                  {"warmup_ns", warmup_ns_},
                  {"start_ns", start_ns_},
                  {"aside_ns", aside_ns_},
                  {"step_ns", Json::array()}});
    auto taints = timer_.taints();
    const auto unlike = captured_unlike(dense_->graph_report(), approx_->graph_report());
    if (unlike) taints.push_back(*unlike);
    if (!taints.empty()) event["taint"] = taints;
    if (diverged)
      put_divergence(event, {approx_->steps_done(), approx_->network().first_bad_parameter()});
    sink_(event);
  }

  const RunConfig& config_;
  const LoadedDataset& dataset_;
  const EventSink& sink_;
  const std::atomic<bool>& asked_to_stop_;
  const std::shared_ptr<Collectives> ranks_;  // null: this process alone
  std::atomic<bool> stop_together_ = false;
  const std::atomic<bool>& stop_;
  const RunClock::time_point began_ = RunClock::now();
  // Drawn anew by every run, and reported.
  const uint64_t draw_;
  const MachineProbe probe_;
  BlockTimer timer_;
  std::unique_ptr<Session> dense_, approx_;
  int64_t block_steps_ = 0;  // a whole number of the schedule's periods
  int64_t warmup_steps_ = 0, warmup_ns_ = 0, train_ns_ = 0;
  int64_t start_ns_ = 0, aside_ns_ = 0;
};

}  // namespace

std::optional<std::string> captured_unlike(const std::optional<GraphReport>& exact,
                                           const std::optional<GraphReport>& approximated) {
  const auto failure = [](const std::optional<GraphReport>& report) {
    return report ? report->failed_capture : std::string();
  };
  const std::string of_exact = failure(exact), of_approximated = failure(approximated);
  if (of_exact.empty() == of_approximated.empty()) return std::nullopt;
  return of_exact.empty()
             ? fmt::format("not timed alike: steps of the approximated network alone {}",
                           of_approximated)
             : fmt::format("not timed alike: steps of the exact network alone {}", of_exact);
}

void run_timing(const RunConfig& config, const LoadedDataset& dataset, const EventSink& sink,
                const std::atomic<bool>& stop, MachineProbe probe,
                std::shared_ptr<Collectives> ranks) {
  TimingRun run(config, dataset, sink, stop, std::move(probe), std::move(ranks));
  run();
}

}  // namespace approx
