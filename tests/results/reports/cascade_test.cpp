
#include <gtest/gtest.h>

#include <cmath>

#include "results/store/database.h"
#include "tests/results/filled_store.h"
#include "tests/results/reports/made.h"

namespace approx {
namespace {

class CascadeTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";

  static Json layer(const char* product, const char* method, int64_t dense, int64_t done) {
    return {{"event", "layer"},    {"layer", "conv"},   {"product", product},
            {"method", method},    {"calls", 1},        {"exact_calls", 0},
            {"macs_dense", dense}, {"macs_done", done}, {"density", nullptr}};
  }

  static Json phase(const char* name, double share) {
    return {{"event", "metric"}, {"name", "phase_share"}, {"split", name}, {"step", 8},
            {"epoch", 0.5},      {"train_ns", 1},         {"value", share}};
  }

  // Half of a step is forward products and a quarter weight gradients, half of which `zero` leaves
  // out: a step of 1000 becomes one of 900.
  void fill() {
    RunStore store(path_, RunStore::Mode::kWrite);
    std::vector<PlannedRun> runs;
    for (int64_t seed = 0; seed < 5; ++seed) {
      runs.push_back(planned("zero", seed, Purpose::kTiming));
    }
    runs.push_back(planned("random", 0));
    runs.push_back(planned("dense", 0));
    store.add_experiment(experiment_of(runs), "sweep");
    for (const auto& run : runs) {
      const auto id = store.begin(run.key, environment_of(), folder_ / "runs");
      if (run.config.purpose == Purpose::kAccuracy) {
        store.finish(*id, accuracy_events({0.5}), {});
        continue;
      }
      store.finish(*id,
                   {block_event(0, "dense", 1, 1000), block_event(0, "approx", 1, 900),
                    phase("forward", 0.5), phase("weight_gradient", 0.25),
                    layer("forward", "dense", 100, 100), layer("weight_gradient", "dense", 50, 50),
                    layer("weight_gradient", "zero", 50, 0), final_event(1)},
                   {});
    }
  }

  void add_kernels(const std::vector<std::pair<const char*, double>>& shapes, int64_t threads = 1,
                   const char* variant = "skip") {
    std::vector<Json> rows;
    for (const auto& [shape, ratio] : shapes) {
      rows.push_back({{"op", "weight_gradient"},
                      {"method", "zero"},
                      {"variant", variant},
                      {"shape", shape_json(shape)},
                      {"label", shape},
                      {"precision", "fp32"},
                      {"threads", threads},
                      {"device", "cpu"},
                      {"ns", {1000}},
                      {"baseline_ns", {1000}},
                      {"ratio", ratio},
                      {"ratio_lo", ratio},
                      {"ratio_hi", ratio},
                      {"verdict", "faster"}});
    }
    RunStore(path_, RunStore::Mode::kWrite).add_kernel_results(environment_of(), rows);
  }

  static Json shape_json(const std::string& shape) {
    if (shape.starts_with("{")) return Json::parse(shape);
    Json json = {{"label", shape}};
    if (shape.starts_with("recorded")) json["recorded"] = {{"epoch", 2.0}};
    return json;
  }

  // The row of a method as JSON.
  Json row(const std::string& method) const {
    const Json table = Json::parse(render(made("cascade", path_), "json"));
    for (const auto& each : table["rows"]) {
      if (each["method"] == method) return each;
    }
    return nullptr;
  }
};

TEST_F(CascadeTest, EachLevelIsMeasuredOrSaysThatItIsNot) {
  fill();
  const Json zero = row("zero");
  EXPECT_EQ(zero["product"], nullptr);
  EXPECT_EQ(zero["layers"], nullptr);
  EXPECT_NEAR(zero["step"].get<double>(), 1 / 0.9, 1e-9);
  EXPECT_EQ(zero["to_target"], nullptr);
  // 50 of 200 multiply-accumulates, a tenth of the time.
  EXPECT_NEAR(zero["compute_reduction_pct"].get<double>(), 25, 1e-9);
  EXPECT_NEAR(zero["realisation"].get<double>(), 0.4, 1e-9);
  const std::string text = render(made("cascade", path_), "md");
  EXPECT_NE(text.find("| not measured | not measured"), std::string::npos) << text;
  EXPECT_NE(text.find("0.40 [0.40, 0.40]"), std::string::npos) << text;
  EXPECT_EQ(row("dense"), nullptr) << "the reference";
}

// By hand: products 4 and 16 times as fast are 8 times in the geometric mean; half of the weight
// gradients take the mean of 1/4 and 1/16 of their time, 5/32, so of 0.5 + 0.25 there are left
// 0.5 + 0.25 * (1 - 0.5 * 27/32).
TEST_F(CascadeTest, ProductsMakeLayers) {
  fill();
  add_kernels({{"a", 5}, {"b", 16}});
  add_kernels({{"a", 4}});             // later: counts in its place
  add_kernels({{"a", 2}}, 1, "slow");  // another variant: the faster one counts
  add_kernels({{"c", 1000}}, 2);       // other threads: another thing
  add_kernels({{"recorded", 1000}});   // so are operands of a training
  const Json zero = row("zero");
  EXPECT_NEAR(zero["product"].get<double>(), 8, 1e-9);
  EXPECT_NEAR(zero["product_least"].get<double>(), 4, 1e-9);
  EXPECT_NEAR(zero["product_most"].get<double>(), 16, 1e-9);
  EXPECT_EQ(zero["product_shapes"], 2);
  EXPECT_NEAR(zero["layers"].get<double>(), 0.75 / (0.5 + 0.25 * (1 - 0.5 * 27 / 32)), 1e-9);
  EXPECT_EQ(zero["layers_by"], "timing runs");
  EXPECT_NE(render(made("cascade", path_), "md").find("8.00× (4.00 to 16.00, 2 shapes)"),
            std::string::npos);
}

// A study of the network says more exactly than the timing runs what its products take: here weight
// gradients take all of it.
TEST_F(CascadeTest, AStudyOfTheLayersGoesBeforeTheTimingRuns) {
  fill();
  add_kernels({{"a", 8}});
  const Json columns = {"layer_index", "layer", "product", "ms", "lo", "hi", "share"};
  const Json rows = {{1, "conv", "weight_gradient", 2.0, 1.9, 2.1, 0.5},
                     {0, "all layers", "weight_gradient", 4.0, nullptr, nullptr, 1.0}};
  const auto add_study = [&](const char* network) {
    RunStore(path_, RunStore::Mode::kWrite)
        .add_study(environment_of(), {.name = "layer-times",
                                      .params = {{"network", network}},
                                      .content = {{"columns", columns}, {"rows", rows}}});
  };
  add_study("vgg19");
  EXPECT_EQ(row("zero")["layers_by"], "timing runs");
  add_study("lenet");
  EXPECT_EQ(row("zero")["layers_by"], "layer-times study");
  EXPECT_NEAR(row("zero")["layers"].get<double>(), 1 / (1 - 0.5 * 7 / 8), 1e-9);
}

// Of a network whose layers are known the benchmarks of their shapes count, by their work.
TEST_F(CascadeTest, ProductsAreThoseOfTheNetworksLayers) {
  const auto info = [](const char* name, int64_t channels, int64_t macs) {
    return LayerInfo{.name = name,
                     .kind = "conv3x3",
                     .in_channels = channels,
                     .out_channels = 8,
                     .kernel = 3,
                     .padding = 1,
                     .in_size = 16,
                     .macs = macs};
  };
  Catalogue catalogue;
  auto& lenet = catalogue.networks.emplace_back();
  lenet.name = "lenet";
  lenet.layers = {info("a", 8, 300), info("b", 16, 50), info("c", 16, 50)};
  {
    RunStore store(path_, RunStore::Mode::kWrite);
    const auto run = planned("zero", 0, Purpose::kTiming);
    store.add_experiment(experiment_of({run}), "sweep");
    const auto id = store.begin(run.key, environment_of(), folder_ / "runs");
    std::vector<Json> events = {block_event(0, "dense", 1, 1000), block_event(0, "approx", 1, 900),
                                phase("weight_gradient", 0.75), final_event(1)};
    for (const auto& each : lenet.layers) {
      // Batches of 100 images.
      auto event = layer("weight_gradient", "zero", 100 * each.macs, 0);
      event["layer"] = each.name;
      events.insert(events.end() - 1, event);
    }
    store.finish(*id, events, {});
  }
  const auto shape = [](int64_t channels, int64_t batch) {
    return fmt::format(R"({{"batch":{},"groups":1,"in_channels":{},"kernel":3,"out_channels":8,)"
                       R"("padding":1,"size":16,"stride":1}})",
                       batch, channels);
  };
  const std::string narrow = shape(8, 1), wide = shape(16, 2), foreign = shape(32, 1);
  add_kernels({{narrow.c_str(), 2}, {wide.c_str(), 8}, {foreign.c_str(), 1000}});
  const auto zero = [&] {
    const Json table =
        Json::parse(render(made("cascade", path_, {.catalogue = &catalogue}), "json"));
    for (const auto& each : table["rows"]) {
      if (each["method"] == "zero") return each;
    }
    return Json();
  };
  EXPECT_EQ(zero()["product_shapes"], 2);
  EXPECT_NEAR(zero()["product"].get<double>(), 4, 1e-9);
  const double time = (300.0 / 2 + 100.0 / 8) / 400;
  EXPECT_NEAR(zero()["layers"].get<double>(), 1 / time, 1e-9);
  lenet.layers[0].macs = 301;  // of other images than the run had
  EXPECT_EQ(zero()["product"], nullptr);
  lenet.layers.clear();
  EXPECT_EQ(zero()["product"], nullptr) << "benchmarks of other networks";
}

TEST_F(CascadeTest, AnEmptyStoreHasNone) {
  { RunStore store(path_, RunStore::Mode::kWrite); }
  EXPECT_TRUE(made("cascade", path_).rows.empty());
}

}  // namespace
}  // namespace approx
