// Layers and the densities of what they kept.
#include <gtest/gtest.h>

#include <map>

#include "results/rows/stored_rows.h"
#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

TEST_F(ReportTest, LayersStandInTheOrderOfTheNetwork) {
  const auto layer = [](const char* name, const char* product) {
    return Json{{"event", "layer"}, {"layer", name},  {"product", product},
                {"method", "zero"}, {"calls", 1},     {"exact_calls", 0},
                {"macs_dense", 2},  {"macs_done", 1}, {"density", nullptr}};
  };
  auto run = accuracy("zero", 0, {0.5});
  for (const char* name : {"a_last", "b_first", "added"}) {
    run.events.insert(run.events.begin(), layer(name, "forward"));
  }
  fill({run});
  Catalogue catalogue;
  catalogue.networks.emplace_back().name = "lenet";
  catalogue.networks[0].layers = {{.name = "b_first"}, {.name = "a_last"}};
  const auto names = [&](const Catalogue* known) {
    std::vector<std::string> found;
    for (const auto& row : made("layers", path_, {.catalogue = known}).rows) {
      found.push_back(
          fmt::format("{} {}", std::get<int64_t>(row[6]), std::get<std::string>(row[7])));
    }
    return found;
  };
  EXPECT_EQ(names(&catalogue), (std::vector<std::string>{"1 b_first", "2 a_last", "3 added"}));
  EXPECT_EQ(names(nullptr), (std::vector<std::string>{"1 a_last", "2 added", "3 b_first"}));
}

TEST_F(ReportTest, LayersSayWhatComputedThem) {
  auto run = accuracy("zero", 0, {0.5});
  const auto add = [&](const char* name, std::map<std::string, int64_t> variants) {
    run.events.push_back({{"event", "layer"},
                          {"layer", name},
                          {"product", "forward"},
                          {"method", "zero"},
                          {"calls", 1},
                          {"exact_calls", 0},
                          {"macs_dense", 2},
                          {"macs_done", 1},
                          {"density", nullptr}});
    for (const auto& [variant, calls] : variants) {
      run.events.push_back({{"event", "variant"},
                            {"layer", name},
                            {"product", "forward"},
                            {"plan", "PrunedDY"},
                            {"variant", variant},
                            {"calls", calls}});
    }
  };
  add("a_changing", {{"exact", 7}, {"sparse_rows", 92}, {"sparse_tiles", 1}});
  add("b_rarely", {{"exact", 999}, {"sparse_rows", 1}});
  add("c_always", {{"exact", 3}});
  add("d_unknown", {});  // as in runs of before
  fill({run});
  const Table table = made("layers", path_);
  const auto column = std::ranges::find(table.columns, "variants") - table.columns.begin();
  std::vector<std::string> texts;
  for (const auto& row : table.rows) {
    const auto& field = row[static_cast<size_t>(column)];
    const auto* text = std::get_if<std::string>(&field);
    texts.push_back(text == nullptr ? "-" : *text);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"sparse_rows 92 %, exact 7 %, sparse_tiles 1 %",
                                             "exact > 99 %, sparse_rows < 1 %", "exact", "-"}));
}

// What a random choice must keep as much as: of pruned gradients the entries, also where other
// products of the method were exact; of samples, which prune no gradient, the pairs.
TEST_F(ReportTest, DensitiesAreOfWhatTheRowsMethodKept) {
  const auto layer = [](const char* name, const char* method, int64_t dense, int64_t done,
                        const Json& density) {
    return Json{{"event", "layer"},    {"layer", name},     {"product", "weight_gradient"},
                {"method", method},    {"calls", 1},        {"exact_calls", 1},
                {"macs_dense", dense}, {"macs_done", done}, {"density", density}};
  };
  const auto ran = [](const char* method, const std::vector<Json>& layers) {
    auto run = accuracy(method, 0, {0.5});
    run.events.insert(run.events.begin(), layers.begin(), layers.end());
    return run;
  };
  const char* sampler = "sampler:ratio=0.5,share=0.8";
  fill({accuracy("dense", 0, {0.5}),
        ran("sampler:share=0.8",
            {layer("a", sampler, 100, 30, nullptr), layer("b", sampler, 300, 210, nullptr),
             layer("c", sampler, 100, 100, nullptr), layer("a", "dense", 100, 100, nullptr),
             layer("b", "zero:freeze=false", 100, 0, nullptr)}),
        ran("pruner",
            {layer("a", "pruner:p=0.9", 100, 60, 0.5), layer("b", "pruner:p=0.9", 300, 300, 0.25),
             layer("c", "pruner:p=0.9", 100, 100, nullptr)}),
        ran("uncounted", {})});
  const auto densities = stored_rows(Snapshot(path_), "test:one").densities;
  ASSERT_EQ(densities.size(), 2u);
  EXPECT_DOUBLE_EQ(densities.at({"sampler:share=0.8", "all", "LeNet"}), 240.0 / 400);
  EXPECT_DOUBLE_EQ(densities.at({"pruner", "all", "LeNet"}), (50 + 75.0) / 400);
}

// Runs of before counted the data gradient of the layer that reads the images, which nobody
// computes.
TEST_F(ReportTest, NoGradientOfTheImagesIsCounted) {
  const auto layer = [](const char* name, const char* product) {
    return Json{{"event", "layer"},  {"layer", name},  {"product", product},
                {"method", "dense"}, {"calls", 1},     {"exact_calls", 1},
                {"macs_dense", 2},   {"macs_done", 2}, {"density", nullptr}};
  };
  auto run = accuracy("zero", 0, {0.5});
  for (const char* name : {"first", "second"}) {
    for (const char* product : {"forward", "data_gradient"}) {
      run.events.insert(run.events.begin(), layer(name, product));
    }
  }
  fill({run});
  Catalogue catalogue;
  catalogue.networks.emplace_back().name = "lenet";
  catalogue.networks[0].layers = {{.name = "first", .reads_images = true}, {.name = "second"}};
  const auto lines = [&](const Catalogue* known) {
    std::vector<std::string> found;
    for (const auto& row : made("layers", path_, {.catalogue = known}).rows) {
      found.push_back(std::get<std::string>(row[7]) + " " + std::get<std::string>(row[8]));
    }
    return found;
  };
  EXPECT_EQ(lines(nullptr).size(), 4u);
  EXPECT_EQ(lines(&catalogue),
            (std::vector<std::string>{"first forward", "second data_gradient", "second forward"}));
}

}  // namespace
}  // namespace approx
