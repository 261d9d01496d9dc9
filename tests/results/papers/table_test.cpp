#include "results/papers/table.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "results/records/items.h"
#include "results/render/verdict.h"
#include "results/reports/paper_figure.h"
#include "results/reports/schedule_picture.h"
#include "results/rows/rows.h"
#include "tests/core/config/test_catalogue.h"
#include "tests/results/filled_store.h"

namespace approx {
namespace {

ReportedValue accuracy_value() {
  ReportedValue value;
  value.quantity = PaperQuantity::kAccuracy;
  value.unit = "%";
  value.tolerance = 0.5;
  return value;
}

std::vector<PlannedRun>& trainings_of(Experiment& experiment) {
  return std::get<Trainings>(experiment.work).runs;
}

class PaperReport : public testing::Test {
 protected:
  // Dense at 90 % and zero two points below it, with some spread that is the same in both.
  void fill(const Experiment& experiment, int64_t seeds, bool lossy = false) {
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(experiment, "sweep");
    const auto environment = environment_of("box", false, lossy);
    for (const auto& run : experiment.runs()) {
      if (run.config.seed >= seeds) continue;
      const double base = 0.90 + 0.002 * static_cast<double>(run.config.seed % 3);
      const double accuracy = run.method_label == "dense" ? base : base - 0.02;
      const auto id = store.begin(run.key, environment, folder_ / ("r" + run.key.substr(9)));
      if (!id) continue;  // it has a result
      std::vector<Json> events = {environment};
      for (auto& event : accuracy_events({accuracy - 0.1, accuracy})) events.push_back(event);
      store.finish(*id, events, {});
    }
  }

  static Experiment item(int64_t seeds) {
    std::vector<PlannedRun> runs;
    for (int64_t seed = 0; seed < seeds; ++seed) {
      for (const char* method : {"dense", "zero", "random"}) {
        runs.push_back(planned(method, seed));
        auto& key = runs.back().key;
        std::replace(key.begin() + 9, key.end(), '/', '-');
      }
    }
    Experiment experiment = experiment_of(std::move(runs), "paper:table");
    experiment.item = experiment.id;
    experiment.paper.item = "Table 1";
    ReportedValue value = accuracy_value();
    value.paper = {{{"92.0%", 92.0}}, {{"90.1", 90.1}}, {{"85", 85.0}}};
    experiment.paper.values = {value};
    return experiment;
  }

  // The value of `column` in the row of (label, quantity), as text.
  static std::string at(const Table& table, const std::string& label, const std::string& quantity,
                        const std::string& column) {
    const auto index = [&](const std::string& name) {
      const auto found = std::find(table.columns.begin(), table.columns.end(), name);
      EXPECT_NE(found, table.columns.end()) << name;
      return static_cast<size_t>(found - table.columns.begin());
    };
    for (const auto& row : table.rows) {
      if (std::get<std::string>(row[index("row")]) != label ||
          std::get<std::string>(row[index("quantity")]) != quantity) {
        continue;
      }
      const auto& field = row[index(column)];
      if (const auto* text = std::get_if<std::string>(&field)) return *text;
      if (const auto* real = std::get_if<double>(&field)) return fmt::format("{:.3f}", *real);
      if (const auto* integer = std::get_if<int64_t>(&field)) return std::to_string(*integer);
      return "";
    }
    return "no such row";
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";
};

TEST_F(PaperReport, WithoutAStoreNothingIsRunAndThePaperIsThere) {
  const auto experiment = item(2);
  const auto table = report_paper(Snapshot::or_empty(folder_ / "none.db"), experiment, experiment);
  EXPECT_EQ(at(table, "dense", "accuracy", "verdict"), name(Verdict::kNotRun));
  EXPECT_EQ(at(table, "dense", "accuracy", "printed"), "92.0%");
  EXPECT_EQ(at(table, "zero", "accuracy", "reason"), "no finished run in the store");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none.db"));
}

TEST_F(PaperReport, JudgesAccuraciesAndTheirDifferencesFromDense) {
  auto experiment = item(6);
  std::erase_if(trainings_of(experiment),
                [](const auto& run) { return run.method_label == "random"; });
  const auto layout = item(6);
  fill(experiment, 6);
  const auto table = report_paper(Snapshot::or_empty(path_), layout, experiment);
  // 90.2 % against 92 with a tolerance of half a point.
  EXPECT_EQ(at(table, "dense", "accuracy", "verdict"), name(Verdict::kDiffers));
  EXPECT_EQ(at(table, "dense", "accuracy", "n"), "6");
  // Two points in ours, 1.9 in the paper: within its tolerance.
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "measured"), "2.000");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reported"), "1.900");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "verdict"), name(Verdict::kReproduced));
  EXPECT_EQ(at(table, "dense", "accuracy_loss", "verdict"), "");  // the reference itself
  EXPECT_EQ(at(table, "random", "accuracy_loss", "verdict"), name(Verdict::kNotRun));
  EXPECT_EQ(at(table, "random", "accuracy", "reason"), "not part of the full scale");
  // The same bytes from the same store.
  EXPECT_EQ(render(table, "md"),
            render(report_paper(Snapshot::or_empty(path_), layout, experiment), "md"));
}

TEST_F(PaperReport, RunsThatASmallerScaleLeavesAsThePaperHasThemAreJudged) {
  const auto layout = item(6);
  auto shown = item(6);
  shown.scale = Scale::kReduced;
  for (auto& run : trainings_of(shown)) {
    if (run.method_label == "zero") run.key.front() = 'x';  // another setting
  }
  fill(shown, 6);
  const auto table = report_paper(Snapshot::or_empty(path_), layout, shown);
  EXPECT_EQ(at(table, "dense", "accuracy", "verdict"), name(Verdict::kDiffers));
  EXPECT_EQ(at(table, "zero", "accuracy", "reason"),
            "reduced scale: only differences from dense are judged");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "verdict"), name(Verdict::kReproduced));
}

TEST_F(PaperReport, RunsOfAnEarlierTextOfTheFileGiveWayToThoseThatArePlannedNow) {
  auto earlier = item(6);
  for (auto& run : trainings_of(earlier))
    run.config.recipe.learning_rate = 0.4, run.key += "-earlier";
  auto now = item(6);
  fill(earlier, 6);
  auto table = report_paper(Snapshot::or_empty(path_), now, now);
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "n"), "6");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "verdict"), name(Verdict::kNotComparable));
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reason"),
            "made with other settings than the item's: learning_rate=0.4");
  // One seed of what is planned now counts for more than six of what was.
  fill(now, 1);
  table = report_paper(Snapshot::or_empty(path_), now, now);
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "n"), "1");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reason"), "n = 1: fewer than 6 seeds");
}

// The same run asked for by another file is a run of this item.
TEST_F(PaperReport, RunsAreFoundByTheirKeysWhateverAskedForThem) {
  auto asked_for = item(6);
  asked_for.id = "other:experiment";
  for (auto& run : trainings_of(asked_for)) run.network_label += ", as called there";
  fill(asked_for, 6);
  const auto here = item(6);
  const auto table = report_paper(Snapshot::or_empty(path_), here, here);
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "verdict"), name(Verdict::kReproduced));
  EXPECT_EQ(at(table, "dense", "accuracy", "n"), "6");
  EXPECT_EQ(Snapshot(path_).items().finished_runs(here), 18);

  // Not what only looks like it: a run of another key, such as that of another version.
  auto later = item(6);
  for (auto& run : trainings_of(later)) run.key += "-2";
  EXPECT_EQ(at(report_paper(Snapshot::or_empty(path_), later, later), "zero", "accuracy", "reason"),
            "no finished run in the store");
  EXPECT_EQ(Snapshot(path_).items().finished_runs(later), 0);
}

TEST_F(PaperReport, RunsOfAnEarlierVersionAreShownAndNotJudged) {
  fill(item(6), 6);
  auto later = item(6);
  for (auto& run : trainings_of(later)) run.key += "-2";
  const auto table = report_paper(Snapshot::or_empty(path_), later, later);
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "n"), "6");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reason"),
            "made with an earlier version of the method, the network or the data");
}

// Where a file leaves the threads open, its runs are those on any number of threads that was used.
TEST_F(PaperReport, MembersOnThreadsOfAnyMachine) {
  const auto parse = [&](const std::string& threads) {
    return parse_experiment("network = \"small_cnn\"\ndataset = \"mnist14\"\n" + threads +
                                "method = [\"dense\", \"zero\"]\nschedule = \"wang2019_cnn2\"",
                            "x.toml", {}, test_catalogue(),
                            Snapshot::or_empty(path_).items().checksums());
  };
  {
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(parse("threads = 61\n"), "sweep");
  }
  const auto ran = parse("threads = 61\n"), open = parse(""), other = parse("threads = 62\n");
  const auto is_member = [&](const Experiment& item, const Catalogue* catalogue) {
    return Snapshot(path_).items().members_of(item, catalogue).contains(ran.runs()[1].key);
  };
  EXPECT_TRUE(is_member(ran, &test_catalogue()));
  EXPECT_TRUE(is_member(open, &test_catalogue()));
  EXPECT_FALSE(is_member(open, nullptr)) << "this machine has other threads";
  EXPECT_FALSE(is_member(other, &test_catalogue()));
}

// Which device computes a run is the sweep's choice: an item's runs are those of the device on
// which the store has more of them.
TEST_F(PaperReport, RunsOfAnotherDeviceAreTheItems) {
  const auto parse = [&](const std::string& device, const char* method = "zero") {
    auto item = parse_experiment(
        fmt::format("id = \"paper:table\"\nnetwork = \"small_cnn\"\ndataset = \"mnist14\"\n"
                    "seeds = \"0-5\"\nmethod = [\"dense\", \"{}\"]\n"
                    "schedule = \"wang2019_cnn2\"\n{}",
                    method, device),
        "x.toml", {}, test_catalogue(), Snapshot::or_empty(path_).items().checksums());
    item.paper.values = {accuracy_value()};
    item.paper.values[0].paper = {{{"90", 90.0}}, {{"88", 88.0}}};
    return item;
  };
  const std::string cpu = "threads = 1", cuda = "threads = 1\ndevice = \"cuda\"";
  // Seeds of the zero gradient, and whether they are the item's.
  const auto shown = [&](const std::string& device, const char* method = "zero") {
    const auto layout = parse(device, method);
    auto item = layout;
    Snapshot(path_).items().plan(item, test_catalogue());
    const auto table =
        report_paper(Snapshot::or_empty(path_), layout, item, {.catalogue = &test_catalogue()});
    return at(table, method, "accuracy_loss", "n") + " " +
           at(table, method, "accuracy_loss", "verdict");
  };
  const std::string all = fmt::format("6 {}", name(Verdict::kReproduced));
  fill(parse(cuda), 6);
  EXPECT_EQ(shown(cuda), all);
  EXPECT_EQ(shown(cpu), all);
  EXPECT_EQ(shown("device = \"cpu\""), all) << "threads of the machine that made them";
  EXPECT_EQ(shown(cpu, "random"), fmt::format("0 {}", name(Verdict::kNotRun)));
  fill(parse(cpu, "topk_position"), 6);
  EXPECT_EQ(shown(cuda, "topk_position"), all) << "of a processor, where the file wants a GPU";
  EXPECT_EQ(shown(cpu), all) << "though the store has other runs of a processor";
  auto in_fp16 = parse(cuda + "\nprecision = \"fp16\"");
  Snapshot(path_).items().plan(in_fp16, test_catalogue());
  EXPECT_EQ(in_fp16.runs()[0].config.device, DeviceKind::kCuda);
}

// A new built-in table of kernel rules is no reason to lose what was timed by the last one.
TEST_F(PaperReport, TimingsByEarlierKernelRulesAreMembers) {
  const auto item = parse_experiment(
      "network = \"small_cnn\"\ndataset = \"mnist14\"\nthreads = 1\npurpose = \"timing\"\n"
      "method = [\"dense\", \"zero\"]\nschedule = \"wang2019_cnn2\"",
      "x.toml", {}, test_catalogue(), Snapshot::or_empty(path_).items().checksums());
  const auto& run = item.runs()[1];
  ASSERT_FALSE(run.earlier_keys.empty());
  const auto members = Snapshot::or_empty(path_).items().members_of(item, &test_catalogue());
  for (const auto& key : run.earlier_keys) {
    ASSERT_TRUE(members.contains(key));
    EXPECT_EQ(members.at(key), &run);
    EXPECT_EQ(StoredItems({{"another", {.keys = {key}}}}).finished_runs(item), 1);
  }
}

// Nor is a version of a method that differs by rounding alone; what was so made is called so, and
// gives way to what is made anew.
TEST_F(PaperReport, RunsOfAVersionThatDiffersByRoundingAreMembers) {
  auto catalogue = test_catalogue();
  const auto parse = [&] {
    auto item = parse_experiment(
        "id = \"paper:table\"\nnetwork = \"small_cnn\"\ndataset = \"mnist\"\nthreads = 1\n"
        "seeds = \"0-5\"\nmethod = [\"dense\", \"zero\"]\nschedule = \"wang2019_cnn2\"",
        "x.toml", {}, catalogue, [](const std::string&) { return "feed"; });
    item.paper.values = {accuracy_value()};
    item.paper.values[0].paper = {{{"90", 90.0}}, {{"88", 88.0}}};
    return item;
  };
  const auto raise = [&](int64_t version, int64_t since) {
    for (auto& method : catalogue.methods) {
      if (method.name == "zero") method.version = version, method.rounding_since = since;
    }
  };
  const auto shown = [&](const char* column) {
    const auto item = parse();
    return at(report_paper(Snapshot::or_empty(path_), item, item, {.catalogue = &catalogue}),
              "zero", "accuracy", column);
  };
  fill(parse(), 6);
  EXPECT_EQ(shown("n"), "6");
  EXPECT_EQ(shown("notes").find("earlier version"), std::string::npos);
  raise(3, 0);
  EXPECT_NE(shown("verdict"), "REPRODUCED") << "another result";
  raise(3, 1);
  EXPECT_EQ(shown("n"), "6");
  EXPECT_EQ(shown("verdict"), "REPRODUCED");
  EXPECT_NE(shown("notes").find("earlier version"), std::string::npos);
  // A sweep plans them anew: what has no result yet replaces nothing.
  { RunStore(path_, RunStore::Mode::kWrite).add_experiment(parse(), "sweep"); }
  EXPECT_EQ(shown("n"), "6");
  EXPECT_NE(shown("notes").find("earlier version"), std::string::npos);
  fill(parse(), 6);
  EXPECT_EQ(shown("n"), "6");
  EXPECT_EQ(shown("notes").find("earlier version"), std::string::npos);
}

// Points lost after four epochs of SGD say nothing of those lost after 250 of Adam.
TEST_F(PaperReport, ALossOfAnotherTrainingIsNotThePapers) {
  const auto layout = item(6);
  const auto reason = [&](const std::function<void(RunConfig&)>& change, const char* of = "zero") {
    auto shown = item(6);
    shown.scale = Scale::kReduced;
    for (auto& run : trainings_of(shown)) {
      if (run.method_label == of || *of == '\0') change(run.config);
      run.key += of;
    }
    std::filesystem::remove(path_);
    fill(shown, 6);
    return at(report_paper(Snapshot::or_empty(path_), layout, shown), "zero", "accuracy_loss",
              "reason");
  };
  EXPECT_EQ(reason([](RunConfig&) {}), "within 1 pp around the paper's number");
  EXPECT_EQ(reason([](RunConfig& run) { run.threads = 7, run.recipe.learning_rate = 0.3; }, ""),
            "within 1 pp around the paper's number");
  EXPECT_EQ(reason(
                [](RunConfig& run) {
                  run.recipe.optimizer = UpdateRule::kAdam;
                  run.recipe.epochs = 4;
                  run.train_examples = 5000;
                },
                ""),
            "not trained as in the paper: optimizer=adam, not sgd; epochs=4, not 1; "
            "train_examples=5000, not all");
  EXPECT_EQ(reason([](RunConfig& run) { run.recipe.nesterov = true; }, ""),
            "not trained as in the paper: nesterov=true, not false");
  EXPECT_EQ(reason([](RunConfig& run) { run.method = "zero:freeze=true"; }),
            "not trained as in the paper: method=zero:freeze=true, not zero");
  EXPECT_EQ(reason([](RunConfig& run) { run.schedule.push_back({}); }),
            "not trained as in the paper: another schedule");
}

// What the full scale itself does otherwise than the paper only its file can say.
TEST_F(PaperReport, AStatedDepartureJudgesNoLoss) {
  auto experiment = item(6);
  experiment.paper.departures = {
      {.methods = {"zero"}, .reason = "the paper's runs scale the gradient once more"}};
  fill(experiment, 6);
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reason"),
            "not trained as in the paper: the paper's runs scale the gradient once more");
  EXPECT_EQ(at(table, "random", "accuracy_loss", "verdict"), name(Verdict::kDiffers));
}

TEST_F(PaperReport, LossesHaveTheAdjustedPOfTheTable) {
  const auto experiment = item(6);
  fill(experiment, 6);
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  // Six seeds that all lose: 2 of 64 sign patterns, times the two losses of the table.
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "p"), "0.031");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "p_holm"), "0.062");
  EXPECT_EQ(at(table, "zero", "accuracy", "p_holm"), "");
  const std::string text = render(table, "md");
  EXPECT_NE(text.find("(n=6, p=0.062)"), std::string::npos) << text;
  EXPECT_NE(text.find("over the 2 losses of the table, which takes 7 seeds"), std::string::npos);
}

// A loss is a difference of two rows: both must be those of the item.
TEST_F(PaperReport, ADenseRowOfOtherSettingsJudgesNoLoss) {
  auto mixed = item(6);
  for (auto& run : trainings_of(mixed)) {
    if (run.method_label == "dense") run.config.recipe.epochs = 7, run.key += "-earlier";
  }
  fill(mixed, 6);
  const auto now = item(6);
  const auto table = report_paper(Snapshot::or_empty(path_), now, now);
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "n"), "6");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "verdict"), name(Verdict::kNotComparable));
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reason"),
            "its dense runs were made with other settings than the item's: epochs=7");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "p"), "") << "no test of the table's family";
  EXPECT_EQ(at(table, "zero", "accuracy", "verdict"), name(Verdict::kDiffers))
      << "88.2 against 90.1";
}

// The tolerance of an accuracy is not that of a difference.
TEST_F(PaperReport, ADerivedLossIsJudgedByTheMargin) {
  auto experiment = item(6);
  experiment.paper.margin = 0.05;
  fill(experiment, 6);
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "verdict"), name(Verdict::kDiffers))
      << "2.0 against 1.9";
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reason"),
            "outside 0.05 pp around the paper's number");
}

// Where a row has no exact training of its own, that of the same network and data serves.
TEST_F(PaperReport, ABaselineMayStandInAnotherRow) {
  auto experiment = item(6);
  for (auto& run : trainings_of(experiment)) {
    if (run.method_label == "random") run.network_label = "LeNet, less";
  }
  std::erase_if(trainings_of(experiment),
                [](const auto& run) { return run.method_label == "zero"; });
  experiment.paper.rows = "network";
  experiment.paper.columns = "method";
  ReportedValue value = accuracy_value();
  value.paper = {{{"92.0", 92.0}, {"", std::nullopt}}, {{"", std::nullopt}, {"90.0", 90.0}}};
  experiment.paper.values = {value};
  fill(experiment, 6);
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  std::string reported, measured;
  for (const auto& row : table.rows) {
    if (std::get<std::string>(row[2]) == "LeNet, less" &&
        std::get<std::string>(row[3]) == "random" &&
        std::get<std::string>(row[4]) == "accuracy_loss") {
      reported = fmt::format("{:.2f}", std::get<double>(row[10]));
      measured = fmt::format("{:.2f}", std::get<double>(row[11]));
    }
  }
  EXPECT_EQ(reported, "2.00");
  EXPECT_EQ(measured, "2.00");
}

TEST_F(PaperReport, ACountMayBeOfTheApproximatedLayersAlone) {
  auto experiment = item(1);
  ReportedValue whole, part;
  whole.quantity = part.quantity = PaperQuantity::kComputeReduction;
  part.definition = Definition("of the approximated layers");
  experiment.paper.values = {whole, part};
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_experiment(experiment, "sweep");
  const auto layer = [](const char* name, const char* method, int64_t done) {
    return Json{{"event", "layer"},  {"layer", name},     {"product", "forward"},
                {"method", method},  {"calls", 1},        {"exact_calls", 0},
                {"macs_dense", 100}, {"macs_done", done}, {"density", nullptr}};
  };
  for (const auto& run : experiment.runs()) {
    if (run.method_label != "zero") continue;
    const auto id = store.begin(run.key, environment_of(), folder_ / "r");
    auto events = accuracy_events({0.5});
    events.insert(events.begin(), {layer("a", "dense", 100), layer("b", "zero", 40)});
    store.finish(*id, events, {});
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  std::vector<double> found;
  for (const auto& row : table.rows) {
    if (std::get<std::string>(row[2]) == "zero") found.push_back(std::get<double>(row[11]));
  }
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0], 30, 1e-9);
  EXPECT_NEAR(found[1], 60, 1e-9);
}

// 25 % of 800 bytes of one layer, all 200 of another and 24 beside them: 600 of 1024 are saved.
TEST_F(PaperReport, WhatRanksDidNotSendIsCountedOverAllThatTheySend) {
  auto experiment = item(2);
  for (auto& run : trainings_of(experiment)) {
    if (run.method_label != "dense") run = of_ranks(4, run);
  }
  ReportedValue value;
  value.quantity = PaperQuantity::kCommunicationReduction;
  value.unit = "%";
  value.basis = Basis::kCount;
  value.paper = {{{"0", 0.0}}, {{"58", 58.0}}, {{"48", 48.0}}};
  experiment.paper.values = {value};
  {
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(experiment, "sweep");
    for (const auto& run : experiment.runs()) {
      const auto id = store.begin(run.key, environment_of(), folder_ / ("r" + run.key.substr(9)));
      auto events = accuracy_events({0.5});
      if (run.method_label == "zero") {
        events.insert(events.begin(),
                      {traffic_event("a", 4, 200, 800), traffic_event("b", 4, 200, 200),
                       traffic_event("", 4, 24, 24)});
      }
      store.finish(*id, events, {});
    }
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "zero", "communication_reduction", "measured"), "58.594");
  EXPECT_EQ(at(table, "zero", "communication_reduction", "n"), "2");
  EXPECT_EQ(at(table, "zero", "communication_reduction", "verdict"),
            name(Verdict::kByConstruction));
  EXPECT_EQ(at(table, "dense", "communication_reduction", "verdict"), name(Verdict::kNotRun));
  EXPECT_EQ(at(table, "dense", "communication_reduction", "reason"),
            "its runs are of one rank, which sends nothing");
  EXPECT_EQ(at(table, "random", "communication_reduction", "reason"), "its runs did not record it");
}

// More ranks train than are timed, where a machine has cores for fewer: each value is of its own
// runs.
TEST_F(PaperReport, TrainingsAndTimingsMayBeOfOtherNumbersOfRanks) {
  auto experiment = item(2);
  for (auto& run : trainings_of(experiment)) run = of_ranks(8, run);
  for (int64_t seed = 0; seed < 5; ++seed) {
    trainings_of(experiment).push_back(planned("zero", seed, Purpose::kTiming));
  }
  ReportedValue speedup;
  speedup.quantity = PaperQuantity::kSpeedup;
  experiment.paper.values = {accuracy_value(), speedup};
  {
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(experiment, "sweep");
    int64_t number = 0;
    for (const auto& run : experiment.runs()) {
      const auto id =
          store.begin(run.key, environment_of(), folder_ / fmt::format("r{}", ++number));
      const std::vector<Json> blocks = {
          block_event(0, "dense", 10, 200), block_event(0, "approx", 10, 100),
          block_event(1, "dense", 10, 200), block_event(1, "approx", 10, 100), final_event(1)};
      const bool timing = run.config.purpose == Purpose::kTiming;
      store.finish(*id, timing ? blocks : accuracy_events({0.5}), {});
    }
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "zero", "accuracy", "n"), "2");
  EXPECT_EQ(at(table, "zero", "accuracy", "reason"), "");
  EXPECT_EQ(at(table, "zero", "speedup", "n"), "5");
  EXPECT_EQ(at(table, "zero", "speedup", "reason"), "");
}

// Why there is no number: accuracy runs and timing runs are counted by themselves.
TEST_F(PaperReport, WhatIsMissingIsSaidByPurpose) {
  auto experiment = item(1);
  for (const char* method : {"dense", "zero", "random"}) {
    trainings_of(experiment).push_back(planned(method, 0, Purpose::kTiming));
    auto& key = trainings_of(experiment).back().key;
    std::replace(key.begin(), key.end(), '/', '-');
  }
  ReportedValue speedup, target;
  speedup.quantity = PaperQuantity::kSpeedup;
  target.quantity = PaperQuantity::kTimeToTarget;
  experiment.paper.values = {accuracy_value(), speedup, target};
  experiment.target = Target{"accuracy", 0.99};
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_experiment(experiment, "sweep");
  for (const auto& run : experiment.runs()) {
    const bool timing = run.config.purpose == Purpose::kTiming;
    const auto id = store.begin(run.key, environment_of(),
                                folder_ / ("r" + run.method_label + (timing ? "t" : "a")));
    if (run.method_label == "zero" && timing) {
      store.finish(*id, {}, {.state = RunState::kFailed, .error = "no memory"});
    } else if (timing) {
      store.finish(
          *id,
          {block_event(0, "dense", 10, 200), block_event(0, "approx", 10, 100),
           block_event(1, "dense", 10, 200), block_event(1, "approx", 10, 100), final_event(1)},
          {});
    } else if (run.method_label == "random") {
      store.finish(*id, accuracy_events({0.1}, RunState::kDiverged), {});
    } else {
      store.finish(*id, accuracy_events({0.5}), {});
    }
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "random", "accuracy", "reason"), "its runs diverged");
  EXPECT_EQ(at(table, "zero", "speedup", "reason"), "its timing runs failed");
  EXPECT_EQ(at(table, "zero", "time_to_target", "reason"), "no run reached the target");
  // Dense is the reference of a speedup and not of a time.
  EXPECT_EQ(at(table, "dense", "time_to_target", "reason"), "no run reached the target");
  EXPECT_EQ(at(table, "random", "speedup", "n"), "1") << "one run of two pairs";
  EXPECT_NE(render(table, "md").find("| ours 2.00 (1 process) [b] "), std::string::npos)
      << render(table, "md");
}

// How far the reference's own time lies from nothing saved is what noise looks like, in whatever
// unit.
TEST_F(PaperReport, TheReferenceOfATimeThatIsSavedIsMeasured) {
  auto experiment = item(1);
  for (auto& run : trainings_of(experiment)) run.config.purpose = Purpose::kTiming;
  experiment.paper.values[0].quantity = PaperQuantity::kTimeSaved;
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_experiment(experiment, "sweep");
  for (const auto& run : experiment.runs()) {
    const auto id = store.begin(run.key, environment_of(), folder_ / ("r" + run.key.substr(9)));
    store.finish(*id,
                 {environment_of(), block_event(0, "dense", 10, 200),
                  block_event(0, "approx", 10, 160), final_event(1)},
                 {});
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "dense", "time_saved", "n"), "1");
  EXPECT_EQ(at(table, "dense", "time_saved", "measured"), "20.000");
  EXPECT_EQ(at(table, "dense", "time_saved", "verdict"), "") << "nothing to judge";
}

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

TEST_F(PaperReport, ThreadsThatAFileLeavesToTheMachineTellNoPlansApart) {
  auto elsewhere = item(6);
  for (auto& run : trainings_of(elsewhere)) run.config.threads = 7;
  fill(elsewhere, 6);
  const auto here = item(6);
  EXPECT_EQ(
      at(report_paper(Snapshot::or_empty(path_), here, here), "zero", "accuracy_loss", "verdict"),
      name(Verdict::kReproduced));
}

TEST_F(PaperReport, ATimingThatWasDisturbedSaysSo) {
  auto experiment = item(1);
  for (auto& run : trainings_of(experiment)) run.config.purpose = Purpose::kTiming;
  experiment.paper.values[0].quantity = PaperQuantity::kSpeedup;
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_experiment(experiment, "sweep");
  for (const auto& run : experiment.runs()) {
    if (run.method_label == "random") continue;
    const auto id = store.begin(run.key, environment_of(), folder_ / ("r" + run.key.substr(9)));
    const RunEnd end{.taint = run.method_label == "zero" ? std::vector<std::string>{"load"}
                                                         : std::vector<std::string>{}};
    store.finish(*id,
                 {environment_of(), block_event(0, "dense", 10, 200),
                  block_event(0, "approx", 10, 100), final_event(1)},
                 end);
    EXPECT_EQ(store.status(run.key).tainted, run.method_label == "zero");
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "dense", "speedup", "n"), "1");
  EXPECT_EQ(at(table, "zero", "speedup", "reason"), kTimingsDisturbed);
  EXPECT_EQ(at(table, "random", "speedup", "reason"), "no timing run in the store");
  EXPECT_EQ(
      at(report_paper(Snapshot::or_empty(path_), experiment, experiment, {.include_tainted = true}),
         "zero", "speedup", "measured"),
      "2.000");
}

Json timing_metric(const std::string& name, const std::string& split, int64_t step, double value) {
  return {{"event", "metric"}, {"name", name},  {"split", split}, {"step", step},
          {"epoch", 0.5},      {"train_ns", 1}, {"value", value}};
}

// Steps twice as fast, and in two pairs backward passes 2 and 8 times: by the mean of the
// logarithms 4 times in one process.
TEST_F(PaperReport, TheBackwardPassIsAColumnOfItsOwn) {
  auto experiment = item(2);
  for (auto& run : trainings_of(experiment)) run.config.purpose = Purpose::kTiming;
  auto& values = experiment.paper.values;
  values[0].quantity = PaperQuantity::kSpeedup;
  values[0].paper.clear();
  values.push_back(values[0]);
  values[1].basis = Basis::kBackward;
  values[1].paper = {{{"", std::nullopt}}, {{"4×", 4.0}}};
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_experiment(experiment, "sweep");
  for (const auto& run : experiment.runs()) {
    const auto id = store.begin(run.key, environment_of(), folder_ / ("r" + run.key.substr(9)));
    std::vector<Json> events = {environment_of(), block_event(0, "dense", 10, 200),
                                block_event(0, "approx", 10, 100)};
    if (run.method_label == "zero") {
      for (const auto& [step, approx] : {std::pair(20, 40.0), std::pair(21, 10.0)}) {
        events.push_back(timing_metric("backward_ns", "dense", step, 80));
        events.push_back(timing_metric("backward_ns", "approx", step, approx));
      }
      events.push_back(timing_metric("backward_ns", "dense", 22, 80));  // alone: no pair
    }
    events.push_back(final_event(1));
    store.finish(*id, events, {});
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  const auto cell = [&](const std::string& method, const std::string& basis,
                        const std::string& column) -> std::string {
    Table part = table;
    std::erase_if(part.rows, [&](const auto& row) {
      return std::ranges::find(row, Field(basis)) == row.end();
    });
    return at(part, method, "speedup", column);
  };
  EXPECT_EQ(cell("zero", "measured-e2e", "measured"), "2.000");
  EXPECT_EQ(cell("zero", "measured-backward", "measured"), "4.000");
  EXPECT_EQ(cell("zero", "measured-backward", "n"), "2") << "processes";
  EXPECT_EQ(cell("zero", "measured-backward", "reported"), "4.000");
  EXPECT_EQ(cell("zero", "measured-backward", "verdict"), name(Verdict::kNotComparable));
  EXPECT_EQ(cell("random", "measured-backward", "reason"),
            "its timing runs did not time the backward pass by itself");
  EXPECT_NE(render(table, "md").find("speedup, % (measured-backward)"), std::string::npos);
}

// A step takes 20 ms, half of it data gradients. "zero" leaves out three quarters of their work,
// which would make steps 1.6 times as fast, "random" half, 4/3 times. Both reach the target, after
// 1200 and 600 steps.
TEST_F(PaperReport, AnEstimateOfTheTimeToATargetIsMadeOfStepsAndShares) {
  auto experiment = item(2);
  auto& runs = trainings_of(experiment);
  const auto trainings = runs;
  for (auto run : trainings) {
    run.config.purpose = Purpose::kTiming;
    run.key = "timings/" + run.key;
    runs.push_back(run);
  }
  experiment.target = Target{"accuracy", 0.8};
  ReportedValue time = accuracy_value();
  time.quantity = PaperQuantity::kTimeToTarget;
  time.unit = "s";
  ReportedValue estimated = time;
  estimated.basis = Basis::kEstimated;
  ReportedValue speed = estimated;
  speed.quantity = PaperQuantity::kSpeedup;
  speed.unit = "x";
  speed.against = "random";
  speed.paper = {{{"", std::nullopt}}, {{"0.5", 0.5}}};
  experiment.paper.values = {estimated, speed};
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_experiment(experiment, "sweep");
  for (const auto& run : experiment.runs()) {
    std::string folder = run.key;
    std::replace(folder.begin(), folder.end(), '/', '-');
    const auto id = store.begin(run.key, environment_of(), folder_ / folder);
    std::vector<Json> events = {environment_of()};
    if (run.config.purpose == Purpose::kAccuracy) {
      for (auto& event :
           run.method_label == "random" ? accuracy_events({0.85}) : accuracy_events({0.7, 0.85})) {
        events.push_back(event);
      }
    } else {
      const double left = run.method_label == "zero" ? 25 : run.method_label == "random" ? 50 : 100;
      events.insert(events.end(), {block_event(0, "dense", 10, 200'000'000),
                                   block_event(0, "approx", 10, 300'000'000),
                                   timing_metric("phase_share", "data_gradient", 20, 0.5),
                                   {{"event", "layer"},
                                    {"layer", "conv"},
                                    {"product", "data_gradient"},
                                    {"method", run.method_label},
                                    {"calls", 1},
                                    {"exact_calls", 0},
                                    {"macs_dense", 100},
                                    {"macs_done", left},
                                    {"density", nullptr}},
                                   final_event(1)});
    }
    store.finish(*id, events, {});
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "dense", "time_to_target", "measured"), "24.000");
  EXPECT_EQ(at(table, "zero", "time_to_target", "measured"), "15.000");
  EXPECT_EQ(at(table, "random", "time_to_target", "measured"), "9.000");
  EXPECT_EQ(at(table, "zero", "speedup", "measured"), "0.600") << "9 s over 15 s";
  EXPECT_EQ(at(table, "zero", "speedup", "n"), "2") << "seeds";
  EXPECT_EQ(at(table, "zero", "speedup", "reason"),
            "both are estimates, each from the times of its own machine");
  EXPECT_EQ(at(table, "dense", "speedup", "measured"), "0.375");
  EXPECT_EQ(at(table, "random", "speedup", "measured"), "") << "what the others are held against";
  EXPECT_EQ(at(table, "random", "speedup", "verdict"), "");
}

TEST_F(PaperReport, FewSeedsAndLossyDataHaveNoVerdict) {
  const auto experiment = item(3);
  fill(experiment, 3, /*lossy=*/true);
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_NE(at(table, "dense", "accuracy", "reason").find("lossy data"), std::string::npos);
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reason"), "n = 3: fewer than 6 seeds");
  EXPECT_NE(at(table, "zero", "accuracy_loss", "notes").find("few seeds; lossy data"),
            std::string::npos);
  const std::string text = render(table, "md");
  EXPECT_NE(text.find("lossy data: the images went through JPEG"), std::string::npos) << text;
}

// Photographs that the paper's own loader writes anew are no worse than the paper's.
TEST_F(PaperReport, DataEncodedAsThePapersOwnLoaderDoesAreJudged) {
  auto experiment = item(6);
  fill(experiment, 6, /*lossy=*/true);
  EXPECT_EQ(at(report_paper(Snapshot::or_empty(path_), experiment, experiment), "dense", "accuracy",
               "reason"),
            "lossy data: only differences from dense are judged");
  experiment.paper.reencoded = "full";  // the variant of the stored data
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "dense", "accuracy", "verdict"), name(Verdict::kDiffers));
  EXPECT_NE(at(table, "dense", "accuracy", "notes").find("lossy data"), std::string::npos);
  experiment.paper.reencoded = "longer side 500, JPEG quality 90";
  EXPECT_EQ(at(report_paper(Snapshot::or_empty(path_), experiment, experiment), "dense", "accuracy",
               "verdict"),
            name(Verdict::kNotComparable));
}

// The rate of a tuned row is its own: it is compared with dense training at another.
TEST_F(PaperReport, RowsOfATunedExperimentAreComparedAtTheirOwnRates) {
  auto experiment = item(6);
  for (auto& run : trainings_of(experiment)) {
    if (run.method_label == "zero") run.config.recipe.learning_rate = 0.025;
  }
  fill(experiment, 6);
  const auto loss = [&] {
    const RowSet set(Snapshot(path_), {.experiment = experiment.id});
    for (const auto& row : set.rows()) {
      if (row.first->method_label == "zero") return row.loss.n;
    }
    return int64_t{-1};
  };
  EXPECT_EQ(loss(), 0);
  auto trials = item(1);
  trials.id = experiment.id + ":tune";
  for (auto& run : trainings_of(trials)) run.key += "-trial", run.config.seed = 100;
  RunStore(path_, RunStore::Mode::kWrite).add_experiment(trials, "sweep --tune");
  EXPECT_EQ(loss(), 6);
  // The trials themselves are shown where they are asked for, and nowhere else.
  const RowSet all(Snapshot(path_), ReportOptions{});
  for (const auto& row : all.rows()) EXPECT_NE(row.first->config.seed, 100);
  EXPECT_FALSE(RowSet(Snapshot(path_), {.experiment = trials.id}).rows().empty());
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

TEST_F(PaperReport, CountsWhatTheStoreHas) {
  const auto experiment = item(2);
  fill(experiment, 1);
  const Snapshot snapshot(path_);
  const auto& items = snapshot.items();
  ASSERT_TRUE(items.has("paper:table"));
  EXPECT_EQ(items.all().at("paper:table").planned, 6);
  const std::map<Purpose, int64_t> finished = {{Purpose::kAccuracy, 3}};
  EXPECT_EQ(items.all().at("paper:table").finished, finished);
  EXPECT_EQ(items.finished_runs(experiment), 3);
  EXPECT_TRUE(items.finished_beside(experiment).empty());
  EXPECT_TRUE(Snapshot::or_empty(folder_ / "none.db").items().all().empty());
}

// What `sweep --purpose timing` added to a table of accuracies is not counted among its runs.
TEST_F(PaperReport, CountsRunsOfAnotherPurposeBesideThePlan) {
  const auto experiment = item(2);
  fill(experiment, 1);
  auto timings = experiment;
  for (auto& run : trainings_of(timings)) {
    run.config.purpose = Purpose::kTiming;
    run.key += "-timing";
  }
  fill(timings, 2);
  const Snapshot snapshot(path_);
  const auto& items = snapshot.items();
  EXPECT_EQ(items.finished_runs(experiment), 3);
  const std::map<Purpose, int64_t> beside = {{Purpose::kTiming, 6}};
  EXPECT_EQ(items.finished_beside(experiment), beside);
  EXPECT_EQ(items.all().at("paper:table").all_finished(), 9);
}

// An item without runs of its own at its scales.
ItemAtScale at_scale(Experiment& layout) {
  return [&layout](Scale scale) -> const Experiment& {
    layout.id =
        scale == Scale::kFull ? layout.item : fmt::format("{}:{}", layout.item, name(scale));
    return layout;
  };
}

TEST(MostMeasured, IsTheScaleThatIsShown) {
  Experiment layout;
  layout.item = "paper:table";
  layout.scales = {Scale::kFull, Scale::kReduced, Scale::kSmoke};
  const auto of = [&](const std::map<std::string, StoredItem>& stored) {
    return StoredItems(stored).most_measured(layout, at_scale(layout));
  };
  const auto shown = [&](int64_t full, int64_t reduced, int64_t smoke) {
    const auto has = [](int64_t finished) {
      return StoredItem{.finished = {{Purpose::kAccuracy, finished}}};
    };
    return of({{"paper:table", has(full)},
               {"paper:table:reduced", has(reduced)},
               {"paper:table:smoke", has(smoke)}});
  };
  EXPECT_EQ(shown(12, 24, 99), Scale::kReduced);
  EXPECT_EQ(shown(24, 24, 99), Scale::kFull);
  EXPECT_EQ(shown(0, 0, 1), Scale::kSmoke);
  EXPECT_EQ(shown(0, 0, 0), Scale::kFull);
  EXPECT_EQ(of({}), Scale::kFull);
  EXPECT_EQ(of({{"paper:table:reduced", {.item_results = 1}}}), Scale::kReduced);
}

// What another experiment had run is a result of a smaller scale as of the full one.
TEST_F(PaperReport, MostMeasuredCountsRunsOfOtherExperimentsAtEachScale) {
  auto full = item(3), reduced = item(3), other = item(2);
  full.scales = {Scale::kFull, Scale::kReduced};
  reduced.id += ":reduced", other.id = "other:experiment";
  for (auto& run : trainings_of(reduced)) run.key += "-reduced";
  for (auto& run : trainings_of(other)) run.key += "-reduced";
  fill(other, 2);
  const auto scale = [&](Scale wanted) -> const Experiment& {
    return wanted == Scale::kFull ? full : reduced;
  };
  EXPECT_EQ(Snapshot(path_).items().most_measured(full, scale), Scale::kReduced);
  fill(full, 3);
  EXPECT_EQ(Snapshot(path_).items().most_measured(full, scale), Scale::kFull);
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

TEST_F(PaperReport, AnItemThatCannotRunSaysWhy) {
  Experiment experiment = experiment_of({}, "paper:figure5");
  experiment.item = experiment.id;
  experiment.work = NotRunItem{"training on several machines is not written"};
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  const std::string text = render(table, "md");
  EXPECT_NE(text.find("NOT RUN: training on several machines is not written"), std::string::npos);
}

}  // namespace
}  // namespace approx
