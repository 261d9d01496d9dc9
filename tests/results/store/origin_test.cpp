#include "results/store/origin.h"

#include <gtest/gtest.h>

#include "tests/results/filled_store.h"

namespace approx {
namespace {

Json with_gpu(const Json& gpu) {
  Json environment = environment_of();
  environment["engine"]["gpu_model"] = gpu.at("model");
  environment["engine"]["gpu"] = gpu;
  return environment;
}

// What two GPUs need is not measured in the other's time, though they stand in one machine; nor by
// another driver.
// Also where the clock was set back in between.
TEST(Origin, NamesAreInTheOrderOfTime) {
  const std::string first = new_uid();
  EXPECT_GT(new_uid(first), first);
  const std::string later = "7000000000000000-00000000000000000000000000000000";
  EXPECT_TRUE(new_uid(later).starts_with("7000000000000001-")) << new_uid(later);
  for (const char* odd : {"", "rebuilt", "7000-1", "zzzzzzzzzzzzzzzz-1", "7fffffffffffffff-1"}) {
    EXPECT_LT(new_uid(odd), later) << odd;
  }
}

TEST(Origin, AGpuIsPartOfTheHost) {
  TemporaryFolder folder;
  RunStore store(folder / "t.db", RunStore::Mode::kWrite);
  const Json first = {{"model", "H100"}, {"uuid", "GPU-1"}, {"driver", "580"}};
  Json second = first, updated = first;
  second["uuid"] = "GPU-2";
  updated["driver"] = "590";
  store.add_kernel_results(environment_of(), {});
  for (const auto& gpu : {first, second, updated, first}) {
    store.add_kernel_results(with_gpu(gpu), {});
  }
  EXPECT_EQ(query(folder / "t.db", "SELECT count(*), count(DISTINCT gpu_model) FROM host"),
            std::vector<std::string>{"4|2"});
  EXPECT_EQ(query(folder / "t.db", "SELECT group_concat(host_id) FROM kernel_run"),
            std::vector<std::string>{"1,2,3,4,2"});
}

}  // namespace
}  // namespace approx
