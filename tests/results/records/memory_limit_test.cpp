#include <fmt/format.h>
#include <gtest/gtest.h>

#include "results/records/kernels.h"

namespace approx {
namespace {

const L2 kL2{.bytes = 1000, .gbs = 50};

std::string limit_text(const std::optional<MemoryLimit>& limit) {
  return limit ? fmt::format("{} {}", name(limit->level), limit->gbs) : "none";
}

TEST(MemoryLimitTest, WhatFitsIntoAWarmL2IsHeldAgainstIt) {
  EXPECT_EQ(limit_text(memory_limit(999, false, 10, kL2)), "L2 50");
  EXPECT_EQ(limit_text(memory_limit(1000, false, 10, kL2)), "L2 50");
  EXPECT_EQ(limit_text(memory_limit(1001, false, 10, kL2)), "memory 10");
  EXPECT_EQ(limit_text(memory_limit(999, true, 10, kL2)), "memory 10") << "cold";
  EXPECT_EQ(limit_text(memory_limit(999, false, 10, std::nullopt)), "memory 10") << "not measured";
  EXPECT_EQ(limit_text(memory_limit(0, false, 10, kL2)), "L2 50");
}

TEST(MemoryLimitTest, WhatWasNotMeasuredIsNoLimit) {
  EXPECT_EQ(limit_text(memory_limit(std::nullopt, false, 10, kL2)), "none");
  EXPECT_EQ(limit_text(memory_limit(1001, false, std::nullopt, kL2)), "none");
  EXPECT_EQ(limit_text(memory_limit(1001, false, 0, kL2)), "none");
  EXPECT_EQ(limit_text(memory_limit(999, false, std::nullopt, kL2)), "L2 50");
}

TEST(MemoryLimitTest, AShareIsOfTheLimitsRate) {
  EXPECT_DOUBLE_EQ(share_of({.level = MemoryLevel::kL2, .gbs = 50}, 1000, 40), 0.5);
  EXPECT_DOUBLE_EQ(share_of({.level = MemoryLevel::kMemory, .gbs = 50}, 1000, 20), 1);
}

TEST(MemoryLimitTest, AnL2IsReadFromARowOrAnEnvironment) {
  const auto found = l2_of({{"l2", {{"bytes", 1000}, {"gbs", 50.5}}}});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->bytes, 1000);
  EXPECT_EQ(found->gbs, 50.5);
  for (const Json& none :
       {Json(), Json::array({1}), Json::object(), Json{{"l2", nullptr}}, Json{{"l2", 5}},
        Json{{"l2", {{"bytes", 1000}}}}, Json{{"l2", {{"bytes", "1000"}, {"gbs", 50}}}},
        Json{{"l2", {{"bytes", 1000}, {"gbs", 0}}}}, Json{{"l2", {{"bytes", -1}, {"gbs", 50}}}}}) {
    EXPECT_FALSE(l2_of(none).has_value()) << none;
  }
}

}  // namespace
}  // namespace approx
