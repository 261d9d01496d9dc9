// Items that are kernel benchmarks, studies and pictures.
#include <gtest/gtest.h>

#include <set>

#include "results/render/verdict.h"
#include "results/reports/paper_figure.h"
#include "results/reports/schedule_picture.h"
#include "tests/core/config/test_catalogue.h"
#include "tests/results/papers/paper_report_test.h"

namespace approx {
namespace {

TEST_F(PaperReport, WithoutABenchmarkAKernelItemIsNotRun) {
  Experiment experiment = experiment_of({}, "paper:kernels");
  experiment.item = experiment.id;
  experiment.work = KernelItem();
  experiment.paper.labels = {"8x8"};
  ReportedValue time, skipped;
  time.quantity = skipped.quantity = PaperQuantity::kTime;
  time.unit = skipped.unit = "ms";
  time.definition = Definition("dense");
  skipped.definition = Definition("transposes");
  skipped.not_run = "ours has none";
  time.hardware = skipped.hardware = "Titan Xp";
  time.paper = skipped.paper = {{{"0.5", 0.5}}};
  experiment.paper.values = {time, skipped};
  const auto verdicts = [&] {
    std::vector<std::string> found;
    for (const auto& row : report_paper(Snapshot::or_empty(path_), experiment, experiment).rows) {
      const auto* ours = std::get_if<double>(&row[11]);
      found.push_back(std::get<std::string>(row[15]) + ": " + std::get<std::string>(row[16]) +
                      (ours == nullptr ? "" : fmt::format(" ({})", *ours)));
    }
    return found;
  };
  EXPECT_EQ(verdicts(), (std::vector<std::string>{"NOT RUN: no benchmark of it in the store",
                                                  "NOT RUN: ours has none"}));
}

// Not of every benchmark in the store: of those that its table shows.
TEST_F(PaperReport, AFigureOfKernelsIsOfTheItemsBenchmarkAlone) {
  Experiment experiment = experiment_of({}, "paper:kernels");
  experiment.item = experiment.id;
  experiment.work = KernelItem();
  experiment.paper.labels = {"8x8"};
  const auto row = [](const char* method, double ratio) {
    return Json{{"op", "weight_gradient"},  {"method", method},  {"variant", "entries"},
                {"shape", {{"of", "8x8"}}}, {"label", "8x8"},    {"precision", "fp32"},
                {"device", "cpu"},          {"threads", 2},      {"ns", {1000.0}},
                {"ratio", ratio},           {"ratio_lo", ratio}, {"ratio_hi", ratio},
                {"verdict", "faster"}};
  };
  const auto figure = [&] {
    const PaperItem shown{.layout = experiment, .shown = experiment, .table = {}};
    return paper_drawing(Snapshot::or_empty(path_), shown, {.catalogue = &test_catalogue()});
  };
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_kernel_results(environment_of(), {row("other", 9)}, "paper:other");
  EXPECT_TRUE(figure().empty());
  store.add_kernel_results(environment_of(), {row("topk", 4)}, experiment.id);
  const auto drawing = figure();
  EXPECT_EQ(drawing.script, "kernels");
  EXPECT_EQ(render(drawing.table, "csv"),
            "op,shape,epoch,method,variant,device,precision,threads,speedup,speedup_lo,speedup_hi\n"
            "weight_gradient,8x8,,topk,entries,cpu,fp32,2,4,4,4\n");
}

// Rules do not say what the run's method is, so neither does their picture.
TEST_F(PaperReport, APictureHasAllSchedulesOfAnItem) {
  Experiment experiment = experiment_of({}, "paper:figure");
  experiment.item = experiment.id;
  experiment.work = PictureItem{
      .networks = {{"CNN", "small_cnn"}},
      .schedules = {
          {.label = "a", .rules = {Rule{.layers = "2"}}, .places = {}},
          {.label = "b", .rules = {Rule{.layers = "1", .method = "meprop"}}, .places = {}},
          // Nobody computes a gradient of the images.
          {.label = "c",
           .rules = {Rule{.layers = "1", .products = {Product::kDataGradient}, .method = "meprop"}},
           .places = {}}}};
  const PaperItem shown{.layout = experiment, .shown = experiment, .table = {}};
  const auto drawing =
      paper_drawing(Snapshot::or_empty(path_), shown, {.catalogue = &test_catalogue()});
  EXPECT_EQ(drawing.table.columns.back(), "schedule");
  std::set<std::pair<std::string, std::string>> methods;  // by schedule
  for (const auto& row : drawing.table.rows) {
    const auto& method = std::get<std::string>(row[3]);
    if (!method.empty()) methods.emplace(std::get<std::string>(row.back()), method);
  }
  EXPECT_EQ(methods, (std::set<std::pair<std::string, std::string>>{{"a", kMethodOfTheRun},
                                                                    {"b", "meprop"}}));
}

// The bars of a figure stand under what all its runs have in common.
TEST_F(PaperReport, BarsSayOfWhichNetworkAndDataTheyAre) {
  auto experiment = item(2);
  experiment.paper.kind = "bars";
  fill(experiment, 2);
  const ReportOptions options{.catalogue = &test_catalogue()};
  const auto last = [&] {
    const PaperItem shown{.layout = experiment,
                          .shown = experiment,
                          .table = report_paper(Snapshot::or_empty(path_), experiment, experiment)};
    const auto table = paper_drawing(Snapshot::or_empty(path_), shown, options).table;
    EXPECT_EQ(table.columns.size(), table.rows.at(0).size());
    const size_t n = table.columns.size();
    EXPECT_EQ(table.columns[n - 2] + table.columns[n - 1], "networkdataset");
    return std::pair(std::get<std::string>(table.rows[0][n - 2]),
                     std::get<std::string>(table.rows[0][n - 1]));
  };
  const auto& run = experiment.runs()[0];
  EXPECT_EQ(last(), std::pair(run.network_label, run.config.dataset));
  trainings_of(experiment)[1].network_label = "another";
  EXPECT_EQ(last().first, "");
}

// In three runs of the store, one a precision; a variant that no layer takes counts for nothing.
TEST_F(PaperReport, ABenchmarkInSeveralPrecisionsIsSummedUpForEach) {
  Experiment experiment = experiment_of({}, "paper:kernels");
  experiment.item = experiment.id;
  experiment.work = KernelItem();
  experiment.paper.labels = {"8x8", "4x4"};
  ReportedValue speed;
  speed.quantity = PaperQuantity::kSpeedup;
  speed.unit = "x";
  speed.hardware = "Titan Xp";
  speed.paper = {{{"2", 2.0}}, {{"0.5", 0.5}}};
  experiment.paper.values = {speed};
  const auto row = [](const char* shape, const char* precision, bool chosen, double ratio) {
    return Json{{"op", "weight_gradient"},
                {"method", "topk"},
                {"variant", chosen ? "entries" : "densify"},
                {"shape", {{"of", shape}}},
                {"label", shape},
                {"precision", precision},
                {"device", "cuda"},
                {"chosen", chosen},
                {"ns", {1000.0}},
                {"baseline_ns", {1000.0 * ratio}},
                {"ratio", ratio},
                {"ratio_lo", 0.9 * ratio},
                {"ratio_hi", 1.1 * ratio},
                {"bytes", 250.0 * ratio},
                {"memory_gbs", 1.0},
                {"verdict", ratio > 1 ? "faster" : "slower"}};
  };
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_kernel_results(environment_of(), {row("8x8", "fp32", true, 9)}, experiment.id);
  store.add_kernel_results(
      environment_of(),
      {row("8x8", "fp32", true, 4), row("8x8", "fp32", false, 0.1), row("4x4", "fp32", true, 1)},
      experiment.id);
  store.add_kernel_results(environment_of(),
                           {row("8x8", "tf32", true, 2), row("4x4", "tf32", true, 0.5)},
                           experiment.id);
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(std::get<double>(table.rows[0][11]), 4) << "of the last in float, beside the paper's";
  const auto text = render(table, "md");
  const auto says = [&](const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(says("| topk, entries, fp32 ") && says("| topk, entries, tf32 ")) << text;
  EXPECT_TRUE(
      says("fp32: what a layer takes is faster than the fastest exact path on 1 of 2 "
           "shapes, slower on 1; geometric mean 2.00×; the bytes that it must move take 25 "
           "to 100 % of a copy's rate in memory"))
      << text;
  EXPECT_TRUE(
      says("tf32: what a layer takes is faster than the fastest exact path on 1 of 2 "
           "shapes, slower on 1; geometric mean 1.00×"))
      << text;
}

// Of two shapes one fits into the L2.
TEST_F(PaperReport, ABenchmarkOnAGpuIsHeldAgainstTheMemoryThatLimitsIt) {
  Experiment experiment = experiment_of({}, "paper:kernels");
  experiment.item = experiment.id;
  experiment.work = KernelItem();
  experiment.paper.labels = {"8x8", "4x4"};
  const auto row = [](const char* shape, double bytes) {
    return Json{{"op", "weight_gradient"},  {"method", "topk"}, {"variant", "entries"},
                {"shape", {{"of", shape}}}, {"label", shape},   {"precision", "fp32"},
                {"device", "cuda"},         {"chosen", true},   {"ns", {1000.0}},
                {"baseline_ns", {1000.0}},  {"ratio", 1.0},     {"bytes", bytes},
                {"memory_gbs", 1.0},        {"verdict", "same"}};
  };
  auto environment = environment_of();
  environment["l2"] = {{"bytes", 400}, {"gbs", 2.0}};
  RunStore store(path_, RunStore::Mode::kWrite);
  const auto summary = [&](std::vector<Json> rows) {
    store.add_kernel_results(environment, rows, experiment.id);
    const auto text = render(report_paper(Snapshot::or_empty(path_), experiment, experiment), "md");
    const auto from = text.find("the bytes that it must move");
    return text.substr(from, text.find('\n', from) - from);
  };
  EXPECT_EQ(
      summary({row("8x8", 800), row("4x4", 400)}),
      "the bytes that it must move take 80 to 80 % of a copy's rate in memory and 20 to 20 % of "
      "a copy's rate in the L2");
  auto cold = row("4x4", 400);
  cold["shape"]["cold"] = true;
  EXPECT_EQ(summary({row("8x8", 800), cold}),
            "the bytes that it must move take 40 to 80 % of a copy's rate in memory");
}

// A figure of curves is drawn from the trainings of the table that it belongs to, in one panel
// whichever rates were chosen for its lines.
TEST_F(PaperReport, AFigureIsDrawnFromTheRunsOfAnotherItem) {
  auto table = item(3);
  for (auto& run : trainings_of(table)) {
    if (run.method_label == "zero") run.config.recipe.learning_rate = 0.025;
  }
  auto figure = table;
  figure.id = figure.item = "paper:figure";
  figure.paper.kind = "curves";
  figure.tuning.emplace();
  std::erase_if(trainings_of(figure), [](const auto& run) { return run.method_label == "random"; });
  const ReportOptions options{.catalogue = &test_catalogue()};
  const auto drawing = [&] {
    const PaperItem shown{.layout = figure, .shown = figure, .table = {}};
    return paper_drawing(Snapshot::or_empty(path_), shown, options);
  };
  fill(experiment_of({planned("dense", 9)}, "another"), 0);
  EXPECT_TRUE(drawing().empty());
  fill(table, 3);
  const auto curves = drawing();
  EXPECT_EQ(curves.script, "curves");
  std::set<std::string> methods, settings, rates;
  for (const auto& row : curves.table.rows) {
    settings.insert(std::get<std::string>(row[2]));
    rates.insert(std::get<std::string>(row[3]));
    methods.insert(std::get<std::string>(row[5]));
  }
  EXPECT_EQ(methods, (std::set<std::string>{"dense", "zero"}));
  EXPECT_EQ(settings, std::set<std::string>{""});
  EXPECT_EQ(rates.size(), 2U);
}

TEST_F(PaperReport, ShowsTheLastStudyAndSaysWhenThereIsNone) {
  Experiment experiment = experiment_of({}, "paper:figure");
  experiment.item = experiment.id;
  experiment.work = StudyItem{.name = "matmul-error"};
  EXPECT_EQ(std::get<std::string>(
                report_paper(Snapshot::or_empty(path_), experiment, experiment).rows[0][1]),
            name(Verdict::kNotRun));
  {
    RunStore store(path_, RunStore::Mode::kWrite);
    EXPECT_FALSE(store.has_item_results("paper:figure"));
    for (const double error : {0.5, 0.25}) {
      store.add_study(environment_of(), {.experiment = "paper:figure",
                                         .name = "matmul-error",
                                         .content = {{"columns", {"method", "error", "n"}},
                                                     {"rows", {{"crs", error, 3}}}}});
    }
    EXPECT_TRUE(store.has_item_results("paper:figure"));
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(table.columns, (std::vector<std::string>{"method", "error", "n"}));
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(std::get<double>(table.rows[0][1]), 0.25);
  EXPECT_EQ(std::get<int64_t>(table.rows[0][2]), 3);

  // What the paper prints stands below: the study has columns of its own.
  ReportedValue value;
  value.quantity = PaperQuantity::kError;
  value.definition = Definition("of 10 of 100");
  value.basis = Basis::kCount;
  value.paper = {{{"0.5", 0.5}}, {{"", std::nullopt}}, {{"0.25", 0.25}}};
  experiment.paper.labels = {"crs", "top-k", "bernoulli"};
  experiment.paper.values = {value};
  EXPECT_EQ(report_paper(Snapshot::or_empty(path_), experiment, experiment).notes.back(),
            "printed in the paper: of 10 of 100 (count): crs 0.5, bernoulli 0.25");
}

// The data set's own record decides, and for studies without one what runs read under its name.
TEST_F(PaperReport, AStudyOfLossyImagesSaysSo) {
  Experiment experiment = experiment_of({}, "paper:figure");
  experiment.item = experiment.id;
  experiment.work = StudyItem{.name = "densities"};
  const auto says = [&] {
    const auto notes = report_paper(Snapshot(path_), experiment, experiment).notes;
    return std::ranges::count(notes, "lossy data: the images of cifar10 went through JPEG") > 0;
  };
  const auto add = [&](const Json& data) {
    auto environment = environment_of();
    environment.erase("dataset");
    if (!data.is_null()) environment["dataset"] = data;
    RunStore(path_, RunStore::Mode::kWrite)
        .add_study(environment, {.experiment = "paper:figure",
                                 .name = "densities",
                                 .params = {{"dataset", "cifar10"}},
                                 .content = {{"columns", {"x"}}, {"rows", {{1}}}}});
  };
  add(nullptr);
  EXPECT_FALSE(says()) << "nothing is known of it";
  add({{"name", "cifar10"}, {"lossy", true}});
  EXPECT_TRUE(says());
  add({{"name", "cifar10"}, {"lossy", false}});
  EXPECT_FALSE(says());
}

// Of convolutions 60 ms: 20 are data gradients, of which the method's take 15 and by the share of
// their work 10. A linear layer is beside the point.
TEST_F(PaperReport, NumbersMadeOfLayerTimesStandBesideThePapers) {
  Experiment experiment = experiment_of({}, "paper:figure");
  experiment.item = experiment.id;
  experiment.work = StudyItem{.name = "layer-times"};
  const auto value = [](PaperQuantity quantity, Basis basis, double dense, double sparse) {
    ReportedValue made;
    made.quantity = quantity;
    made.basis = basis;
    made.unit = "%";
    made.paper.resize(2, {ReportedNumber()});
    if (dense > 0) made.paper[0][0] = {fmt::format("{}%", dense), dense};
    if (sparse > 0) made.paper[1][0] = {fmt::format("{}%", sparse), sparse};
    return made;
  };
  experiment.paper.labels = {"dense", "half"};
  experiment.paper.values = {value(PaperQuantity::kTime, Basis::kKernel, 33, 0),
                             value(PaperQuantity::kTimeSaved, Basis::kEstimated, 0, 16.5),
                             value(PaperQuantity::kTimeSaved, Basis::kKernel, 0, 0)};
  const Json none = nullptr;
  const Json columns = {"layer", "product", "ms", "method", "estimated_ms", "kind"};
  const Json rows = {{"a", "forward", 30.0, "dense", none, "conv3x3"},
                     {"a", "weight_gradient", 10.0, "dense", none, "conv3x3"},
                     {"a", "data_gradient", 20.0, "dense", none, "conv3x3"},
                     {"a", "data_gradient", 15.0, "sdgp", 10.0, "conv3x3"},
                     {"b", "data_gradient", 500.0, "dense", none, "linear"},
                     {"all layers", "data_gradient", 520.0, "dense", none, none}};
  const auto add = [&](const Json& with_columns, const Json& with_rows) {
    RunStore(path_, RunStore::Mode::kWrite)
        .add_study(environment_of(), {.experiment = "paper:figure",
                                      .name = "layer-times",
                                      .content = {{"columns", with_columns}, {"rows", with_rows}}});
  };
  add(columns, rows);
  const auto notes = report_paper(Snapshot::or_empty(path_), experiment, experiment).notes;
  const auto has = [&](const std::vector<std::string>& all, const std::string& line) {
    return std::ranges::find(all, line) != all.end();
  };
  EXPECT_TRUE(has(notes,
                  "printed in the paper: time (measured-kernel): dense 33%; ours 33.33% NOT "
                  "COMPARABLE (n = 1: fewer than 6 seeds)"))
      << fmt::format("{}", fmt::join(notes, "\n"));
  EXPECT_TRUE(has(notes,
                  "printed in the paper: time_saved (estimated): half 16.5%; ours 16.67% NOT "
                  "COMPARABLE (both are estimates, each from the times of its own machine)"));
  const std::string saved = "not in the paper: time_saved (measured-kernel): half ours 8.33%";
  EXPECT_TRUE(has(notes, saved));
  // Ways that are not chosen stand in lines of their own.
  Json more_columns = columns, more_rows = rows;
  more_columns.push_back("variant");
  for (auto& row : more_rows) row.push_back(none);
  more_rows.push_back({"a", "data_gradient", 5.0, "sdgp", 10.0, "conv3x3", "mma_sp"});
  add(more_columns, more_rows);
  EXPECT_TRUE(has(report_paper(Snapshot::or_empty(path_), experiment, experiment).notes, saved));
  // A study of before there were methods has none of it.
  add({"layer", "product", "ms", "share", "macs", "rounds"}, rows);
  EXPECT_TRUE(has(report_paper(Snapshot::or_empty(path_), experiment, experiment).notes,
                  "printed in the paper: time (measured-kernel): dense 33%"));
}

}  // namespace
}  // namespace approx
