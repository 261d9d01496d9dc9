#include "core/nn/kept_before.h"

#include <torch/torch.h>

#include "products/rules.h"
#include "tests/testing.h"

namespace approx {
namespace {

PrunedDY plan_with(int64_t kept, int64_t entries) {
  return {at::zeros({1, entries, 1, 1}), at::scalar_tensor(kept, at::kLong)};
}

TEST(KeptBefore, IsTheShareOfThePlanBefore) {
  KeptBefore before;
  EXPECT_EQ(before.exchange(plan_with(3, 4)), 1.0) << "there was none";
  EXPECT_EQ(before.exchange(plan_with(0, 2)), 0.75);
  EXPECT_EQ(before.exchange(plan_with(1, 2)), 0.0);
  EXPECT_EQ(before.exchange(plan_with(1, 0)), 0.5);
  EXPECT_EQ(before.exchange(plan_with(1, 2)), 1.0) << "of nothing there is no share";
}

// Where a rule goes by what a GPU alone knows, a step waits for it under methods that prune.
TEST(KeptBefore, IsWaitedForWhereARuleAsks) {
  const auto waits = [](const char* text) { return waits_for(*make_method(text)); };
  const std::string_view drawn = waits("crs");
  EXPECT_NE(drawn, "");
  EXPECT_EQ(waits("meprop"), "");
  // A variant of tests/products/rules_test.cpp: those of a GPU are in a library that is not opened.
  use_kernel_rules("waiting * * * * * * ..0.01");
  EXPECT_NE(waits("meprop"), "");
  EXPECT_EQ(waits("crs"), drawn) << "what the method itself waits for";
  EXPECT_EQ(waits("topk_position"), "") << "its plan says how much it keeps";
  use_kernel_rules("");
}

}  // namespace
}  // namespace approx
