#include "core/library/stepper.h"

#include <optional>

#include "core/library/library_errors.h"
#include "core/nn/phases.h"
#include "core/train/run_events.h"
#include "core/train/session.h"

namespace approx {
namespace {

class SessionStepper final : public Stepper {
 public:
  SessionStepper(const RunConfig& config, LoadedDataset dataset, bool phases)
      : dataset_(std::move(dataset)), session_(config, dataset_) {
    if (phases) clock_.emplace();
  }

  int64_t parameters() const override { return session_.network().parameter_count(); }

  int64_t run(int64_t steps) override {
    return with_own_errors([&] {
      if (clock_) clock_->reset();
      const auto before = RunClock::now();
      for (int64_t i = 0; i < steps; ++i) session_.step();
      session_.synchronize();
      last_ns_ = nanoseconds(RunClock::now() - before);
      return last_ns_;
    });
  }

  double mean_loss() override {
    return with_own_errors([&] { return session_.take_mean_loss(); });
  }

  Json phases() const override {
    Json shares = Json::object();
    for (size_t i = 0; clock_ && i < kPhaseNames.size(); ++i) {
      shares[std::string(kPhaseNames[i])] =
          static_cast<double>(clock_->spent()[i]) / static_cast<double>(last_ns_);
    }
    return shares;
  }

 private:
  LoadedDataset dataset_;
  Session session_;
  std::optional<PhaseClock> clock_;
  int64_t last_ns_ = 0;
};

}  // namespace

std::unique_ptr<Stepper> make_stepper(const RunConfig& config, LoadedDataset dataset, bool phases) {
  return std::make_unique<SessionStepper>(config, std::move(dataset), phases);
}

}  // namespace approx
