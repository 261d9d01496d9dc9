#include "core/config/run_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/config/named_schedule.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

RunConfig keyed_run() {
  RunConfig config;
  config.network = "resnet20";
  config.dataset = "cifar10";
  config.method = "topk_position:k=1";
  config.schedule = make_schedule("wang2019_s2");
  config.threads = 2;
  return config;
}

MethodInfo& method_in(Catalogue& catalogue, std::string_view name) {
  return *std::ranges::find(catalogue.methods, name, &MethodInfo::name);
}

bool has(const std::vector<std::string>& keys, const std::string& key) {
  return std::ranges::find(keys, key) != keys.end();
}

TEST(EarlierRunKeys, HaveTheVersionsThatDifferByRoundingAlone) {
  const auto config = keyed_run();
  auto catalogue = test_catalogue();
  auto& method = method_in(catalogue, "topk_position");
  std::vector<std::string> keys;  // of versions 1 to 4
  for (method.version = 1; method.version <= 4; ++method.version) {
    keys.push_back(run_key(config, "abc", catalogue));
  }
  method.version = 4;
  EXPECT_TRUE(earlier_run_keys(config, "abc", catalogue).empty()) << "an earlier result is another";
  method.rounding_since = 2;
  EXPECT_EQ(earlier_run_keys(config, "abc", catalogue),
            (std::vector<std::string>{keys[2], keys[1]}));
  for (const auto& earlier : earlier_keys(config, "abc", catalogue)) {
    EXPECT_TRUE(earlier.other_version);
    EXPECT_FALSE(earlier.other_rules);
  }
  EXPECT_EQ(run_key(config, "abc", catalogue), keys[3]) << "saying so changes no key";
  auto other = config;
  other.method = "zero";
  EXPECT_TRUE(earlier_run_keys(other, "abc", catalogue).empty()) << "of a method it does not use";
  other.method = "mixed";
  for (auto& rule : other.schedule) rule.method = "topk_position:k=3";
  EXPECT_EQ(earlier_run_keys(other, "abc", catalogue).size(), 2) << "named by a rule";
}

TEST(EarlierRunKeys, HaveTheVersionsOfHalfPrecisionInSuchRunsAlone) {
  auto catalogue = test_catalogue();
  auto& method = method_in(catalogue, "topk_position");
  method.half_version = 2;
  const auto at = [&](Precision precision) {
    auto config = keyed_run();
    config.precision = precision;
    return config;
  };
  const auto before = run_key(at(Precision::kBf16), "abc", catalogue);
  method.half_version = 3;
  method.half_rounding_since = 2;
  EXPECT_TRUE(earlier_run_keys(at(Precision::kFp32), "abc", catalogue).empty());
  EXPECT_EQ(earlier_run_keys(at(Precision::kBf16), "abc", catalogue),
            std::vector<std::string>{before});
  // Both may be raised: a run in half precision has one of each.
  method.version = 2;
  method.rounding_since = 1;
  EXPECT_EQ(earlier_run_keys(at(Precision::kFp32), "abc", catalogue).size(), 1);
  const auto keys = earlier_run_keys(at(Precision::kBf16), "abc", catalogue);
  EXPECT_EQ(keys.size(), 3);
  EXPECT_TRUE(has(keys, before));
}

TEST(EarlierRunKeys, AreOfEveryMethodAndTableTogether) {
  auto catalogue = test_catalogue();
  auto config = keyed_run();
  config.purpose = Purpose::kTiming;
  config.method = "mixed";
  config.schedule = {{.layers = "2::2", .method = "zero"}, {.layers = "3::2", .method = "random"}};
  const auto rules = static_cast<size_t>(kernel_rules_version());
  EXPECT_EQ(earlier_run_keys(config, "abc", catalogue).size(), rules - 1);
  const auto before = earlier_run_keys(config, "abc", catalogue);
  const auto last = run_key(config, "abc", catalogue);
  for (const char* name : {"zero", "random"}) {
    auto& method = method_in(catalogue, name);
    method.version = 2;
    method.rounding_since = 1;
  }
  const auto keys = earlier_run_keys(config, "abc", catalogue);
  EXPECT_EQ(keys.size(), rules * 2 * 2 - 1);
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size());
  EXPECT_TRUE(has(keys, last));
  for (const auto& key : before) EXPECT_TRUE(has(keys, key));
  EXPECT_FALSE(has(keys, run_key(config, "abc", catalogue)));
}

// However many versions there have been, no run has more keys than can be looked for.
TEST(EarlierRunKeys, AreNotEndlesslyMany) {
  auto catalogue = test_catalogue();
  auto config = keyed_run();
  config.method = "mixed";
  config.schedule.clear();
  for (const char* name : {"zero", "random", "topk_position", "meprop"}) {
    config.schedule.push_back({.layers = "2", .method = name});
    auto& method = method_in(catalogue, name);
    method.version = 9;
    method.rounding_since = 1;
  }
  const auto keys = earlier_run_keys(config, "abc", catalogue);
  EXPECT_EQ(keys.size(), 63);
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size());
}

TEST(CatalogueJson, HasTheVersionsThatCount) {
  Catalogue catalogue = test_catalogue();
  auto& method = method_in(catalogue, "zero");
  method.version = 3, method.half_version = 5;
  method.rounding_since = 2, method.half_rounding_since = 4;
  const Catalogue read = Json(catalogue).get<Catalogue>();
  EXPECT_EQ(read.method("zero").first_that_counts(), 2);
  EXPECT_EQ(read.method("zero").first_half_that_counts(), 4);
  EXPECT_EQ(read.method("random").first_that_counts(), 1);
}

}  // namespace
}  // namespace approx
