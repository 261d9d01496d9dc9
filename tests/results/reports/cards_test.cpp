
#include <gtest/gtest.h>

#include "results/stats/stats.h"
#include "tests/results/filled_store.h"
#include "tests/results/reports/made.h"

namespace approx {
namespace {

class CardsTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";

  // `processes` timings of each method at its ratio, and six seeds of zero beside dense.
  void fill(int64_t processes) {
    RunStore store(path_, RunStore::Mode::kWrite);
    std::vector<PlannedRun> runs;
    for (int64_t seed = 0; seed < processes; ++seed) {
      for (const char* method : {"zero", "random", "exact"}) {
        runs.push_back(planned(method, seed, Purpose::kTiming));
      }
    }
    for (int64_t seed = 0; seed < 6; ++seed) {
      for (const char* method : {"dense", "zero"}) runs.push_back(planned(method, seed));
    }
    auto experiment = experiment_of(runs);
    experiment.target = Target{"accuracy", 0.4};
    store.add_experiment(experiment, "sweep");
    for (const auto& run : runs) {
      const auto id = store.begin(run.key, environment_of(), folder_ / "runs");
      if (run.config.purpose == Purpose::kAccuracy) {
        store.finish(*id, accuracy_events({0.5}), {});
        continue;
      }
      const auto& method = run.config.method;
      const int64_t ns = method == "zero" ? 1200 : method == "random" ? 800 : 1000;
      store.finish(*id,
                   {block_event(0, "dense", 1, ns + run.config.seed),
                    block_event(0, "approx", 1, 1000), final_event(1)},
                   {});
    }
  }

  Json row(const std::string& method, const ReportOptions& options = {}) const {
    const Json table = Json::parse(render(made("cards", path_, options), "json"));
    for (const auto& each : table["rows"]) {
      if (each["method"] == method) return each;
    }
    return nullptr;
  }
};

TEST_F(CardsTest, SayWhereAMethodPaysAndWhereNot) {
  fill(kProcessesForAVerdict);
  EXPECT_EQ(row("zero")["faster"], "LeNet, all");
  EXPECT_EQ(row("random")["slower"], "LeNet, all");
  EXPECT_EQ(row("exact")["no_change"], "LeNet, all");
  EXPECT_EQ(row("zero")["needs"], "a benchmark of its products");
  EXPECT_EQ(row("dense"), nullptr);
}

TEST_F(CardsTest, SayWhatIsMissing) {
  fill(3);
  EXPECT_EQ(row("zero")["faster"], "") << "three processes say nothing";
  EXPECT_EQ(row("zero")["needs"], "a benchmark of its products; a timing of 10 processes (has 3)");
  Catalogue catalogue;
  catalogue.methods.emplace_back().name = "sdgp";
  catalogue.methods.back().paper = "mcdanel2022";
  EXPECT_EQ(row("sdgp"), nullptr);
  const Json unknown = row("sdgp", {.catalogue = &catalogue});
  EXPECT_EQ(unknown["paper"], "mcdanel2022");
  EXPECT_EQ(unknown["needs"],
            "a benchmark of its products; a timing of 10 processes (has 0); 6 seeds beside dense "
            "(has 0); a time to target beside dense; runs on data that never went through JPEG; "
            "runs of committed sources");
}

TEST_F(CardsTest, AnEmptyStoreHasNone) {
  { RunStore store(path_, RunStore::Mode::kWrite); }
  const Catalogue catalogue{.methods = {{}}};
  EXPECT_TRUE(made("cards", path_, {.catalogue = &catalogue}).rows.empty());
}

}  // namespace
}  // namespace approx
