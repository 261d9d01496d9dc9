#include "core/experiment/slurm_table.h"

#include <gtest/gtest.h>

#include "core/experiment/experiment.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

constexpr const char* kPlain =
    "network = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = [\"dense\", \"zero\"]\n"
    "schedule = \"wang2019_cnn2\"\npurpose = [\"accuracy\", \"timing\"]\n";

Experiment parse_table(const std::string& more) {
  return parse_experiment(kPlain + more, "x.toml", {}, test_catalogue(),
                          [](const std::string& name) { return "sha of " + name; });
}

TEST(SlurmTable, IsReadWithItsPlaces) {
  const auto settings =
      parse_table("[slurm]\noption = [\"--qos=low\", \"--nice\"]\ncpus = 4\ntime = \"4h\"\n").slurm;
  ASSERT_EQ(settings.size(), 4u);
  const auto is = [&](size_t i, const char* key, const char* value, const char* place) {
    EXPECT_EQ(settings[i].key, key);
    EXPECT_EQ(settings[i].value, value);
    EXPECT_EQ(settings[i].place, place);
  };
  is(0, "time", "4h", "x.toml:9:8: slurm.time");
  is(1, "cpus", "4", "x.toml:8:8: slurm.cpus");
  is(2, "option", "--qos=low", "x.toml:7:11: slurm.option[0]");
  is(3, "option", "--nice", "x.toml:7:24: slurm.option[1]");
  EXPECT_TRUE(parse_table("").slurm.empty());
}

// Where a run is computed decides nothing of it.
TEST(SlurmTable, IsInNoRunAndNoKey) {
  const auto here = parse_table("").runs();
  const auto there = parse_table("[slurm]\ncpus = 4\ngpus = 1\nmemory = \"4G\"\n").runs();
  ASSERT_EQ(here.size(), there.size());
  ASSERT_FALSE(here.empty());
  for (size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(here[i].key, there[i].key);
    EXPECT_EQ(here[i].config, there[i].config);
  }
}

}  // namespace
}  // namespace approx
