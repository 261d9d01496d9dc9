// When the two networks of a timing run are not timed alike.
#include "core/train/timing_run.h"

#include "tests/testing.h"

namespace approx {
namespace {

// What StepGraphs reports of steps that a device records, or refuses to.
GraphReport report_of_steps(bool can_be_captured) {
  class Recorder final : public StepRecorder {
   public:
    explicit Recorder(bool can_record) : can_record_(can_record) {}
    std::unique_ptr<RecordedStep> record(const std::function<void()>& step) override {
      struct Recorded final : RecordedStep {
        void replay() override {}
      };
      if (!can_record_) throw std::runtime_error("out of memory");
      step();
      return std::make_unique<Recorded>();
    }

   private:
    bool can_record_;
  };
  StepGraphs graphs(std::make_unique<Recorder>(can_be_captured), at::kCPU, {});
  for (int step = 0; step < 5; ++step) graphs.run({}, "", [] {});
  graphs.run({}, "waits for how many pairs its draws take", [] {});
  return graphs.report();
}

TEST(TimingRun, OfNetworksOfWhichOneAloneCouldNotBeCapturedSaysSo) {
  const auto captured = report_of_steps(true), failed = report_of_steps(false);
  EXPECT_EQ(captured_unlike(captured, failed),
            "not timed alike: steps of the approximated network alone could not be captured: out "
            "of memory");
  EXPECT_EQ(captured_unlike(failed, captured),
            "not timed alike: steps of the exact network alone could not be captured: out of "
            "memory");
  EXPECT_EQ(captured_unlike(captured, captured), std::nullopt);
  EXPECT_EQ(captured_unlike(failed, failed), std::nullopt);
  EXPECT_EQ(captured_unlike(std::nullopt, std::nullopt), std::nullopt) << "a CPU";
  // Both without graphs, for a reason that is not the device's.
  const GraphReport none{.steps = {{"it was built without CUDA", 8}}};
  EXPECT_EQ(captured_unlike(none, none), std::nullopt);
}

}  // namespace
}  // namespace approx
