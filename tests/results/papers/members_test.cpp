// Which runs of a store are those of an item of a paper, and how many it has.
#include <gtest/gtest.h>

#include "results/render/verdict.h"
#include "tests/core/config/test_catalogue.h"
#include "tests/results/papers/paper_report_test.h"

namespace approx {
namespace {

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

TEST_F(PaperReport, ThreadsThatAFileLeavesToTheMachineTellNoPlansApart) {
  auto elsewhere = item(6);
  for (auto& run : trainings_of(elsewhere)) run.config.threads = 7;
  fill(elsewhere, 6);
  const auto here = item(6);
  EXPECT_EQ(
      at(report_paper(Snapshot::or_empty(path_), here, here), "zero", "accuracy_loss", "verdict"),
      name(Verdict::kReproduced));
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

}  // namespace
}  // namespace approx
