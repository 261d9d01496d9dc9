#include "core/library/kernel_cases.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/error.h"
#include "core/library/captured_call.h"
#include "core/library/cold.h"
#include "core/library/roofline.h"

namespace approx {
namespace {

using ::testing::Contains, ::testing::HasSubstr;

ConvShape small_shape() {
  return {.label = "small",
          .batch = 3,
          .in_channels = 16,
          .out_channels = 16,
          .size = 6,
          .kernel = 3,
          .stride = 1,
          .padding = 1};
}

std::vector<KernelCase> cases_of(Product product, const std::vector<std::string>& methods) {
  return kernel_cases_of(small_shape(), product, methods, at::kCPU);
}

TEST(KernelCases, TheExactPathsComeFirstAndOneIsChosen) {
  for (const auto product : kAllProducts) {
    std::set<std::string> names;
    int64_t chosen = 0;
    for (const auto& kernel : cases_of(product, {})) {
      EXPECT_EQ(kernel.method, "dense");
      EXPECT_EQ(kernel.flops, kernel.dense_flops);
      names.insert(kernel.variant);
      chosen += kernel.chosen ? 1 : 0;
    }
    EXPECT_THAT(names, Contains("libtorch channels last"));
    EXPECT_THAT(names, Contains("libtorch channels first"));
    EXPECT_GT(names.size(), 2u) << "and ours";
    EXPECT_EQ(chosen, 1) << name(product);
  }
}

TEST(KernelCases, AllAgreeWithTheDefinitionAndRun) {
  for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
    const auto cases = cases_of(product, {"crs", "stochastic_pruning:p=0.9"});
    ASSERT_EQ(cases.back().method, "stochastic_pruning:p=0.9");
    for (const auto& kernel : cases) {
      SCOPED_TRACE(kernel.op + " " + kernel.method + " " + kernel.variant);
      kernel.run();
      EXPECT_LT(kernel.check().second, 1e-5);
      EXPECT_EQ(kernel.plan == nullptr, kernel.method == "dense");
    }
  }
}

TEST(KernelCases, HaveOperandsOfThePrecisionThatIsAskedFor) {
  const auto cases =
      kernel_cases_of(small_shape(), Product::kWeightGradient,
                      {"topk_position", "stochastic_pruning:p=0.9"}, at::kCPU, Precision::kBf16);
  std::set<std::string> methods;
  for (const auto& kernel : cases) {
    SCOPED_TRACE(kernel.method + " " + kernel.variant);
    methods.insert(kernel.method);
    EXPECT_EQ(kernel.precision, Precision::kBf16);
    const double error = kernel.check().second;
    EXPECT_LT(error, 2e-2);
    EXPECT_GT(error, 1e-5) << "in float";
  }
  EXPECT_EQ(methods.size(), 3u);
}

// What a method kept is its share of the exact product's multiply-adds.
TEST(KernelCases, FlopsAreThoseOfWhatThePlanKept) {
  for (const auto& kernel : cases_of(Product::kDataGradient, {"sdgp:n=2,m=4"})) {
    const bool exact = kernel.method == "dense";
    EXPECT_DOUBLE_EQ(kernel.flops / kernel.dense_flops, exact ? 1 : 0.5) << kernel.variant;
  }
}

// Chosen beforehand: there is no planning to be timed. Both gradients keep the same entries.
TEST(KernelCases, DYPrunedAtRandomKeepsTheShareThatIsNamed) {
  for (const double density : {0.0, 0.3, 1.0}) {
    std::set<double> kept;
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      for (const auto& kernel : cases_of(product, {pruned_at_random_text(density)})) {
        if (kernel.method == "dense") continue;
        EXPECT_EQ(kernel.method, pruned_at_random_text(density));
        EXPECT_EQ(kernel.plan, nullptr);
        EXPECT_LT(kernel.check().second, 1e-5) << kernel.variant;
        kept.insert(kernel.flops / kernel.dense_flops);
      }
    }
    EXPECT_EQ(kept.size(), 1u);
    EXPECT_NEAR(*kept.begin(), density, 0.05);
  }
}

TEST(KernelCases, WhatIsNoDensityIsRefused) {
  for (const auto* text : {"pruned_at_random", "pruned_at_random:density=2",
                           "pruned_at_random:density=0.5,p=1", "pruned_at_random:p=0.5"}) {
    EXPECT_THROW(cases_of(Product::kDataGradient, {text}), Error) << text;
  }
  EXPECT_THROW(cases_of(Product::kForward, {pruned_at_random_text(0.5)}), Error);
}

// A layer keeps the sampled channels of its input, and the weight gradient goes by those.
TEST(KernelCases, SampledProductsAgreeWithTheDefinition) {
  for (const auto product : kAllProducts) {
    for (const auto& kernel : cases_of(product, {"topk_crs:ratio=0.5"})) {
      EXPECT_LT(kernel.check().second, 1e-5) << kernel.op << " " << kernel.variant;
    }
  }
}

TEST(KernelCases, ChoicesAreThoseOfTheCases) {
  const std::vector<std::string> methods = {"sdgp:n=1,m=16", "sdgp:n=2,m=4"};
  const auto cases = cases_of(Product::kDataGradient, methods);
  const auto choices = kernel_choices_of(small_shape(), Product::kDataGradient, methods, at::kCPU);
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices[0].method, "dense");
  EXPECT_EQ(choices[0].plan, "Dense");
  EXPECT_EQ(choices[1].plan, "StructuredDY");
  EXPECT_DOUBLE_EQ(choices[1].density, 1.0 / 16);
  for (size_t i = 1; i < choices.size(); ++i) {
    std::vector<std::string> taken, shown;
    for (const auto& candidate : choices[i].candidates) {
      if (candidate.chosen) shown.push_back(candidate.name);
    }
    for (const auto& kernel : cases) {
      if (kernel.method == choices[i].method && kernel.chosen) taken.push_back(kernel.variant);
    }
    EXPECT_EQ(taken, shown);
    EXPECT_EQ(taken.size(), 1u);
  }
}

// x 3x16x6x6, w 16x16x3x3, dY 3x16x6x6 in float.
constexpr double kMap = 4 * 3 * 16 * 36, kWeights = 4 * 16 * 16 * 9;

double bytes_of(Product product, const std::string& method) {
  return cases_of(product, {method}).back().bytes;
}

TEST(KernelCases, BytesAreThoseThatThePlanMustMove) {
  for (const auto product : kAllProducts) {
    EXPECT_EQ(cases_of(product, {}).front().bytes, 2 * kMap + kWeights) << name(product);
  }
  EXPECT_EQ(bytes_of(Product::kWeightGradient, "zero"), kWeights);
  EXPECT_EQ(bytes_of(Product::kWeightGradient, "zero:freeze=true"), 0);
  EXPECT_EQ(bytes_of(Product::kWeightGradient, "random"), kWeights);
  // 48 entries, each of which meets a patch of 144 numbers of x, which has no more than 1,728.
  EXPECT_EQ(bytes_of(Product::kWeightGradient, "topk_position"), 2 * kMap + kWeights);
  auto large = small_shape();
  large.batch = 1, large.out_channels = 2, large.size = 12;
  const auto few = kernel_cases_of(large, Product::kWeightGradient, {"topk_position"}, at::kCPU);
  EXPECT_EQ(few.back().bytes, 4 * (2 * 144 + 2 * 144 + 2 * 144)) << "dY, two patches, dW";
  EXPECT_EQ(bytes_of(Product::kDataGradient, "sdgp:n=2,m=4"), 2 * kMap + kWeights);
  // Half of the channels of what is read; the result is whole.
  EXPECT_EQ(bytes_of(Product::kForward, "topk_crs"), kMap / 2 + kWeights / 2 + kMap);
  EXPECT_EQ(bytes_of(Product::kDataGradient, "topk_crs"), kMap + kWeights / 2 + kMap);
  EXPECT_EQ(bytes_of(Product::kWeightGradient, "topk_crs"), kMap / 2 + kWeights + kMap);
}

TEST(KernelCases, ColdOnesFlushTheCachesBeforeEachCall) {
  auto cases = cases_of(Product::kWeightGradient, {"topk_position"});
  EXPECT_EQ(cases.front().cold_ns, nullptr);
  make_cold(cases, at::kCPU);
  for (const auto& kernel : cases) EXPECT_GT(kernel.cold_ns(), 0) << kernel.variant;
  // Each thread's part is as large as its own cache, and all of it is written anew each time.
  CacheFlush flush(at::kCPU);
  EXPECT_GE(flush.bytes(), 2 * last_cache_bytes(at::kCPU));
  EXPECT_EQ(flush.written(), 0);
  flush();
  EXPECT_EQ(flush.written(), flush.bytes());
  int64_t called = 0;
  EXPECT_GE(cold_nanoseconds(at::kCPU, flush, [&] { ++called; }), 0);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(flush.written(), 0) << "zeros again";
}

// Repeats what it is given, and refuses what it is told to.
class CountingRecorder final : public StepRecorder {
 public:
  struct Recorded final : RecordedStep {
    explicit Recorded(int64_t& count) : replays(count) {}
    void replay() override { ++replays; }
    int64_t& replays;
  };

  std::unique_ptr<RecordedStep> record(const std::function<void()>& step) override {
    if (refuses) throw std::runtime_error("no such thing\nwith details");
    step();
    return std::make_unique<Recorded>(replays);
  }

  bool refuses = false;
  int64_t replays = 0;
};

TEST(CapturedCall, IsDoneTwiceThenRecordedAndReplayed) {
  const auto recorder = std::make_shared<CountingRecorder>();
  int64_t calls = 0;
  const CapturedCall call(recorder, [&] { ++calls; });
  const auto copy = call;
  for (int i = 0; i < 5; ++i) i % 2 == 0 ? call() : copy();
  EXPECT_EQ(calls, CapturedCall::kCallsBefore + 1) << "the last of them in the recording";
  EXPECT_EQ(recorder->replays, 3);
  EXPECT_EQ(call.failure(), "");
}

TEST(CapturedCall, IsDoneEachTimeWhereItCannotBeRecorded) {
  const auto recorder = std::make_shared<CountingRecorder>();
  recorder->refuses = true;
  int64_t calls = 0;
  const CapturedCall call(recorder, [&] { ++calls; });
  for (int i = 0; i < 5; ++i) call();
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(call.failure(), "no such thing");
}

TEST(KernelCases, OfADeviceAreCapturedButWhereTheyWaitForIt) {
  const auto recorder = std::make_shared<CountingRecorder>();
  auto cases = cases_of(Product::kWeightGradient, {"crs", "topk_position"});
  make_captured(cases, recorder);
  for (const auto& kernel : cases) {
    recorder->replays = 0;
    for (int i = 0; i < 3; ++i) kernel.run();
    const bool waits = kernel.method == "crs";
    EXPECT_EQ(recorder->replays, waits ? 0 : 1) << kernel.method << " " << kernel.variant;
    EXPECT_THAT(kernel.remark(), waits ? HasSubstr("launched at each call: it waits for how many")
                                       : testing::Matcher<std::string>(""));
    if (!kernel.plan || waits) continue;
    for (int i = 0; i < 3; ++i) kernel.plan();
    EXPECT_EQ(recorder->replays, 2);
  }
}

TEST(KernelCases, ThatAreLaunchedSayWhy) {
  auto cases = cases_of(Product::kWeightGradient, {"topk_position"});
  make_launched(cases, "built without CUDA");
  for (const auto& kernel : cases) {
    EXPECT_EQ(kernel.remark(), "launched at each call: built without CUDA");
  }
}

TEST(KernelCases, TheRooflineIsOfWorkThatWasDone) {
  const auto from = at::arange(3'000'001, at::kFloat), to = at::empty_like(from);
  copy_numbers(from, to);
  EXPECT_TRUE(at::equal(from, to));
  const auto single = roofline_of(at::kCPU, Precision::kFp32);
  EXPECT_GT(single.flops, 0);
  EXPECT_GT(single.bytes, 0);
  EXPECT_EQ(roofline_of(at::kCPU, Precision::kBf16).flops, 0) << "no limit is known";
}

TEST(KernelCases, ACopyWithinTheL2HasHalfOfIt) {
  const auto copy = copy_within(50 << 20, 132);
  EXPECT_EQ(copy.count * 4 * 2, 25 << 20) << "from and to";
  EXPECT_EQ(copy.blocks, 4 * 132);
  EXPECT_GE(copy.rounds * copy.count * 4 * 2, int64_t{4} << 30);
  EXPECT_LT((copy.rounds - 1) * copy.count * 4 * 2, int64_t{4} << 30);
  EXPECT_EQ(copy_within(1001, 1).count, 60) << "fours of numbers";
  EXPECT_EQ(copy_within(0, 132).count, 0);
  EXPECT_EQ(roofline_of(at::kCPU, Precision::kBf16).l2_bytes, 0) << "of a GPU alone";
}

TEST(KernelCases, WhatIsNotApproximatedIsRefused) {
  EXPECT_THROW(cases_of(Product::kForward, {"sdgp"}), Error);
  EXPECT_THROW(kernel_choices_of(small_shape(), Product::kForward, {"sdgp"}, at::kCPU), Error);
}

}  // namespace
}  // namespace approx
