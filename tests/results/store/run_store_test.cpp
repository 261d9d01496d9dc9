#include "results/store/run_store.h"

#include <gtest/gtest.h>

#include <limits>
#include <string_view>

#include "tests/results/store/store_test.h"

namespace approx {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST_F(StoreTest, AnExperimentAddsEachCellOnce) {
  auto runs = std::vector{planned("dense", 0), planned("zero", 0), planned("huge", 0)};
  runs[2].excluded = "needs more memory";
  RunStore store(path_, Mode::kWrite);
  const auto id = store.add_experiment(experiment_of(runs), "first");
  EXPECT_EQ(store.add_experiment(experiment_of(runs), "second"), id);
  EXPECT_NE(store.add_experiment(experiment_of(runs, "test:two"), "third"), id);
  EXPECT_EQ(query(path_, "SELECT count(*) FROM cell"), std::vector<std::string>{"2"});
  EXPECT_EQ(query(path_,
                  "SELECT method_label, schedule_label, excluded FROM experiment_cell "
                  "WHERE experiment_id = 1 ORDER BY method_label"),
            (std::vector<std::string>{"dense||", "huge|all|needs more memory", "zero|all|"}));
  EXPECT_EQ(query(path_, "SELECT command_line FROM experiment WHERE experiment_id = 1"),
            std::vector<std::string>{"second"});
  EXPECT_EQ(store.status("accuracy/zero/0").state, std::nullopt);
  EXPECT_GT(store.status("accuracy/zero/0").cell_id, 0);
  EXPECT_EQ(store.status("no such key").cell_id, 0);
}

TEST_F(StoreTest, NarrowedSweepsOfOneFileAddUp) {
  const auto members = [&] {
    return query(path_, "SELECT method_label FROM experiment_cell ORDER BY method_label");
  };
  auto whole = experiment_of({planned("dense", 0), planned("zero", 0), planned("random", 0)});
  RunStore store(path_, Mode::kWrite);
  store.add_experiment(whole, "sweep");
  store.add_experiment(experiment_of({planned("zero", 0)}), "sweep --method zero");
  EXPECT_EQ(members(), (std::vector<std::string>{"dense", "random", "zero"}));

  ASSERT_TRUE(store.begin("accuracy/random/0", environment_of(), directory("a")));
  auto edited = experiment_of({planned("zero", 0), planned("new", 0)});
  edited.text = "# other";
  store.add_experiment(edited, "sweep");
  EXPECT_EQ(members(), (std::vector<std::string>{"new", "random", "zero"}))
      << "a cell that has a run is kept, one that the file no longer asks for is not";
  EXPECT_EQ(store.status("accuracy/dense/0").cell_id, 0) << "nothing refers to it";
}

// By it a merge knows the later text; where the text is the same nothing was recorded anew.
TEST_F(StoreTest, TheTimeOfAnExperimentIsThatOfItsText) {
  auto store = with({planned("zero", 0)});
  auto experiment = experiment_of({planned("zero", 0)});
  const auto id = store.add_experiment(experiment, "sweep");
  sqlite(path_, "UPDATE experiment SET created_utc = '2026-01-01T00:00:00Z'");
  EXPECT_EQ(store.add_experiment(experiment, "sweep again"), id);
  EXPECT_EQ(query(path_, "SELECT command_line, created_utc FROM experiment"),
            std::vector<std::string>{"sweep again|2026-01-01T00:00:00Z"});
  experiment.text = "# another";
  EXPECT_EQ(store.add_experiment(experiment, "sweep"), id);
  EXPECT_EQ(query(path_, "SELECT created_utc > '2026-01-02' FROM experiment"),
            std::vector<std::string>{"1"});
}

TEST_F(StoreTest, ARunIsStoredWhole) {
  auto store = with({planned("zero", 3)});
  const auto id = store.begin("accuracy/zero/3", environment_of("box", true), directory("a"));
  ASSERT_TRUE(id);
  EXPECT_EQ(store.status("accuracy/zero/3").state, RunState::kRunning);

  auto events = accuracy_events({0.5, 0.75});
  events.insert(events.begin(), {{"event", "progress"}, {"step", 1}});
  events.push_back({{"event", "layer"},
                    {"layer", "conv2"},
                    {"product", "weight_gradient"},
                    {"method", "zero"},
                    {"calls", 10},
                    {"exact_calls", 5},
                    {"macs_dense", 1000},
                    {"macs_done", 500},
                    {"density", nullptr}});
  events.push_back({{"event", "variant"},
                    {"layer", "conv2"},
                    {"product", "weight_gradient"},
                    {"plan", "Skip"},
                    {"variant", "skip"},
                    {"calls", 10}});
  events.push_back(traffic_event("conv2", 4, 300, 600));
  events.push_back(traffic_event("", 4, 80, 80));
  store.finish(*id, events, {.exit_code = 0});

  EXPECT_EQ(query(path_,
                  "SELECT state, attempt, train_ns, wall_ns, warmup_ns, step_ns_median, "
                  "step_ns_q1, step_ns_q3, length(step_ns), timing_valid, exit_code FROM run"),
            std::vector<std::string>{
                "finished|1|2000000000|2000001700|200|10000000.0|10000000.0|11000000.0|32|0|0"});
  EXPECT_EQ(query(path_, "SELECT step, value FROM metric ORDER BY step"),
            (std::vector<std::string>{"600|0.5", "1200|0.75"}));
  EXPECT_EQ(query(path_, "SELECT layer, macs_done, density FROM layer_metric"),
            std::vector<std::string>{"conv2|500|NULL"});
  EXPECT_EQ(query(path_, "SELECT layer, product, plan, variant, calls FROM layer_variant"),
            std::vector<std::string>{"conv2|weight_gradient|Skip|skip|10"});
  EXPECT_EQ(query(path_, "SELECT layer, calls, bytes, bytes_dense FROM layer_traffic ORDER BY 1"),
            (std::vector<std::string>{"|4|80|80", "conv2|4|300|600"}));
  EXPECT_EQ(query(path_, "SELECT hostname, cpu_model, n_cores FROM host"),
            std::vector<std::string>{"box|Test CPU|2"});
  EXPECT_EQ(query(path_, "SELECT git_sha, dirty, torch FROM build"),
            std::vector<std::string>{"abc123|1|2.11.0"});
  EXPECT_EQ(query(path_, "SELECT name, sha256, lossy FROM run JOIN dataset USING(dataset_id)"),
            std::vector<std::string>{"mnist|feed|0"});
  EXPECT_EQ(query(path_,
                  "SELECT method, accuracy, batch_size, json_extract(recipe, '$.epochs') "
                  "FROM v_final"),
            std::vector<std::string>{"zero|0.75|100|1"});
  EXPECT_EQ(store.status("accuracy/zero/3").state, RunState::kFinished);
}

TEST_F(StoreTest, EveryEndHasItsState) {
  const auto states = kEndStates;
  std::vector<PlannedRun> runs;
  for (size_t i = 0; i < states.size(); ++i) runs.push_back(planned("zero", static_cast<int>(i)));
  auto store = with(runs);
  for (size_t i = 0; i < states.size(); ++i) {
    const auto id =
        store.begin(runs[i].key, environment_of(), directory(std::string(name(states[i]))));
    ASSERT_TRUE(id);
    store.finish(*id, accuracy_events({0.5}), {.state = states[i], .signal = 9, .error = "why"});
    EXPECT_EQ(store.status(runs[i].key).state, states[i]);
    EXPECT_EQ(store.status(runs[i].key).error, "why");
    EXPECT_THROW(store.finish(*id, {}, {}), Error) << "a run ends once";
  }
}

TEST_F(StoreTest, AGoodExitNeedsAFinalEvent) {
  auto store = with({planned("zero", 0), planned("zero", 1)});
  const auto silent = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  store.finish(*silent, {accuracy_event(1, 0.5)}, {.exit_code = 0});
  EXPECT_EQ(store.status("accuracy/zero/0").state, RunState::kFailed);
  EXPECT_EQ(store.status("accuracy/zero/0").error, "it ended without a final event");

  const auto diverged = store.begin("accuracy/zero/1", environment_of(), directory("b"));
  store.finish(*diverged, accuracy_events({0.1}, RunState::kDiverged), {.exit_code = 0});
  EXPECT_EQ(store.status("accuracy/zero/1").state, RunState::kDiverged);
}

TEST_F(StoreTest, NumbersThatAreNotFiniteAreMarked) {
  auto store = with({planned("zero", 0)});
  const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  std::vector<Json> events;
  int step = 0;
  for (const double value : {kNan, kInf, -kInf, 1.5}) {
    events.push_back({{"event", "metric"},
                      {"name", "loss"},
                      {"split", "train"},
                      {"step", ++step},
                      {"epoch", 0.1},
                      {"train_ns", 1},
                      {"value", value}});
  }
  // As they arrive over a pipe.
  events.push_back(Json::parse(R"({"event":"metric","name":"loss","split":"train","step":5,
                                   "epoch":1,"train_ns":1,"value":null,"special":"+inf"})"));
  events.push_back(Json::parse(R"({"event":"metric","name":"loss","split":"train","step":6,
                                   "epoch":1,"train_ns":1,"value":null})"));
  events.push_back(final_event(1, RunState::kDiverged));
  store.finish(*id, events, {});
  EXPECT_EQ(query(path_, "SELECT value, special FROM metric ORDER BY step"),
            (std::vector<std::string>{"NULL|nan", "NULL|+inf", "NULL|-inf", "1.5|NULL", "NULL|+inf",
                                      "NULL|nan"}));
}

TEST_F(StoreTest, MalformedEventsAreLeftOutAndCounted) {
  auto store = with({planned("zero", 0)});
  const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  auto events = accuracy_events({0.5});
  events.push_back(Json::array());
  events.push_back({{"event", "metric"}, {"name", "loss"}});
  events.push_back({{"event", 7}});
  events.push_back(block_event(0, "other", 1, 1));
  events.push_back(block_event(0, "dense", 0, 1));
  // Beyond what an integer holds.
  for (const Json& step : {Json(1e40), Json(-1e19), Json(uint64_t{1} << 63)}) {
    events.push_back({{"event", "metric"}, {"name", "loss"}, {"step", step}, {"value", 1}});
  }
  store.finish(*id, events, {});
  EXPECT_EQ(store.status("accuracy/zero/0").state, RunState::kFinished);
  EXPECT_EQ(store.status("accuracy/zero/0").error, "8 malformed events were left out");
}

TEST_F(StoreTest, MalformedCountsOfBytesAreLeftOutAndCounted) {
  auto store = with({planned("zero", 0)});
  const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  auto events = accuracy_events({0.5});
  const auto spoilt = [&](const char* key, const Json& value) {
    Json event = traffic_event("conv1", 4, 300, 600);
    if (value.is_discarded()) {
      event.erase(key);
    } else {
      event[key] = value;
    }
    events.push_back(event);
  };
  int64_t bad = 0;
  for (const char* key : {"layer", "calls", "bytes", "bytes_dense"}) {
    for (const Json& value : {Json(Json::value_t::discarded), Json(nullptr), Json::array(),
                              std::string_view(key) == "layer" ? Json(1) : Json("1")}) {
      spoilt(key, value);
      ++bad;
    }
  }
  for (const char* key : {"calls", "bytes", "bytes_dense"}) {
    for (const Json& value : {Json(-1), Json(1e40), Json(uint64_t{1} << 63)}) {
      spoilt(key, value);
      ++bad;
    }
  }
  events.push_back(traffic_event("conv2", 4, 300, 600));
  events.push_back(traffic_event("conv3", 0, 0, 0));  // of a step none was due
  store.finish(*id, events, {});
  EXPECT_EQ(store.status("accuracy/zero/0").error,
            fmt::format("{} malformed events were left out", bad));
  EXPECT_EQ(query(path_, "SELECT layer FROM layer_traffic ORDER BY 1"),
            (std::vector<std::string>{"conv2", "conv3"}));
}

TEST_F(StoreTest, CountsOfWhatIsNoProductAreLeftOut) {
  auto store = with({planned("zero", 0)});
  const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  const auto counts = [](const char* event, const char* product) {
    return Json{{"event", event},  {"layer", "conv1"}, {"product", product}, {"method", "zero"},
                {"plan", "Dense"}, {"variant", "v"},   {"calls", 4},         {"exact_calls", 0},
                {"macs_dense", 9}, {"macs_done", 0}};
  };
  auto events = accuracy_events({0.5});
  for (const auto& [event, product] :
       {std::pair("layer", "forward"), std::pair("layer", "sideways"),
        std::pair("variant", "data_gradient"), std::pair("variant", "")}) {
    events.push_back(counts(event, product));
  }
  store.finish(*id, events, {});
  EXPECT_EQ(store.status("accuracy/zero/0").error, "2 malformed events were left out");
  EXPECT_EQ(
      query(path_, "SELECT product FROM layer_metric UNION ALL SELECT product FROM layer_variant"),
      (std::vector<std::string>{"forward", "data_gradient"}));
}

TEST_F(StoreTest, TextThatIsNotUtf8IsStoredReplaced) {
  auto store = with({planned("zero", 0)});
  auto environment = environment_of();
  environment["engine"]["note"] = "\xff\xfe";
  const auto id = store.begin("accuracy/zero/0", environment, directory("a"));
  ASSERT_TRUE(id);
  store.finish(*id, accuracy_events({0.5}), {.state = RunState::kFailed, .error = "\xff"});
  EXPECT_EQ(store.status("accuracy/zero/0").state, RunState::kFailed);
}

TEST_F(StoreTest, TimingIsValidOnlyAloneAndUndisturbed) {
  std::vector<PlannedRun> runs;
  for (int seed = 0; seed < 4; ++seed) runs.push_back(planned("zero", seed, Purpose::kTiming));
  auto store = with(runs);
  const auto run = [&](int seed, Json environment, RunEnd end, Json final) {
    const auto id = store.begin(runs[static_cast<size_t>(seed)].key, environment,
                                directory(std::to_string(seed)));
    store.finish(
        *id, {block_event(0, "dense", 10, 2000), block_event(0, "approx", 10, 1000), final}, end);
  };
  run(0, environment_of(), {}, final_event(1));
  run(1, environment_of(), {.taint = {"load 2.0"}}, final_event(1));
  auto shared = environment_of();
  shared["isolated"] = false;
  run(2, shared, {}, final_event(1));
  auto tainted = final_event(1);
  tainted["taint"] = {"the machine slept"};
  run(3, environment_of(), {}, tainted);
  EXPECT_EQ(query(path_, "SELECT timing_valid, isolated, taint FROM run ORDER BY run_id"),
            (std::vector<std::string>{"1|1|[]", "0|1|[\"load 2.0\"]", "0|0|[]",
                                      "0|1|[\"the machine slept\"]"}));
  EXPECT_EQ(query(path_, "SELECT speedup FROM v_timing WHERE timing_valid"),
            std::vector<std::string>{"2.0"});
}

TEST_F(StoreTest, ABlockKnowsTheCoresOfItsThreadsAndTheirClock) {
  const auto run = planned("zero", 0, Purpose::kTiming);
  auto store = with({run});
  const auto id = store.begin(run.key, environment_of(), directory("a"));
  auto probed = block_event(0, "dense", 10, 2000), last = block_event(0, "approx", 10, 1000);
  probed.update(
      {{"core_share", 0.75}, {"repeats", 2}, {"clock_mhz", 3150.5}, {"slowed_by", "heat"}});
  store.finish(*id, {probed, last, final_event(1)}, {});
  EXPECT_EQ(query(path_,
                  "SELECT arm, core_share, repeats, clock_mhz FROM timing_block ORDER BY arm DESC"),
            (std::vector<std::string>{"dense|0.75|2|3150.5", "approx|NULL|0|NULL"}));
  EXPECT_EQ(query(path_,
                  "SELECT core_share, dense_clock_mhz, approx_clock_mhz, dense_slowed_by, "
                  "approx_slowed_by FROM v_timing"),
            std::vector<std::string>{"NULL|3150.5|NULL|heat|NULL"});
}

TEST_F(StoreTest, PairsNeedEqualSettings) {
  auto other_batch = planned("dense", 1);
  other_batch.config.batch_size = 50;
  // Of one seed, but on a subset that all seeds share beside one of the seed's own.
  auto other_subset = planned("zero", 2);
  other_subset.config.train_subset = SubsetKind::kSeed;
  auto store = with({planned("dense", 0), planned("zero", 0), planned("zero", 1), other_batch,
                     planned("dense", 2), other_subset});
  const auto run = [&](const std::string& key, const std::string& host, double accuracy) {
    const auto id = store.begin(key, environment_of(host), directory("x"));
    ASSERT_TRUE(id) << key;
    store.finish(*id, accuracy_events({accuracy}), {});
  };
  run("accuracy/dense/0", "box", 0.75);
  run("accuracy/dense/2", "box", 0.75);
  run("accuracy/zero/2", "box", 0.5);
  run("accuracy/zero/0", "box", 0.5);
  run("accuracy/zero/1", "box", 0.5);  // its dense partner has another batch size
  run("accuracy/dense/1", "box", 0.75);
  EXPECT_EQ(query(path_, "SELECT method, seed, accuracy_loss, speedup FROM v_paired"),
            std::vector<std::string>{"zero|0|0.25|1.0"});
}

TEST_F(StoreTest, KernelResultsAreKept) {
  RunStore store(path_, Mode::kWrite);
  const Json row = {{"op", "weight_gradient"},
                    {"method", "topk"},
                    {"variant", "simd"},
                    {"shape", {{"batch", 8}}},
                    {"precision", "fp32"},
                    {"threads", 2},
                    {"device", "cpu"},
                    {"ns", {100, 200, 400}},
                    {"baseline_ns", {300, 500}},
                    {"ratio", 2.0},
                    {"ratio_lo", 1.5},
                    {"ratio_hi", 2.5},
                    {"gflops", 3.0},
                    {"max_rel_error", kInf},
                    {"baseline_variant", "packed channels last"},
                    {"chosen", true},
                    {"density", 0.25},
                    {"ceiling_gflops", 50.0},
                    {"bytes", 1.5e6},
                    {"memory_gbs", 20.0},
                    {"verdict", "faster"}};
  store.add_kernel_results(environment_of(), {row});
  store.add_kernel_results(environment_of(), {row});
  EXPECT_EQ(query(path_, "SELECT count(*), count(DISTINCT kernel_run_id) FROM v_kernel"),
            std::vector<std::string>{"2|2"});
  EXPECT_EQ(query(path_,
                  "SELECT op, shape, ns_median, baseline_ns_median, ratio, max_rel_error, "
                  "special, verdict FROM v_kernel LIMIT 1"),
            std::vector<std::string>{"weight_gradient|{\"batch\":8}|200.0|400.0|2.0|NULL|"
                                     "{\"max_rel_error\":\"+inf\"}|faster"});
  EXPECT_EQ(query(path_,
                  "SELECT baseline_variant, chosen, density, ceiling_gflops, bytes, memory_gbs "
                  "FROM v_kernel LIMIT 1"),
            std::vector<std::string>{"packed channels last|1|0.25|50.0|1500000.0|20.0"});
  EXPECT_EQ(query(path_, "SELECT count(*) FROM kernel_case"), std::vector<std::string>{"1"});
  EXPECT_EQ(query(path_, "SELECT clock_mhz, baseline_clock_mhz, held_back FROM v_kernel LIMIT 1"),
            std::vector<std::string>{"NULL|NULL|{}"});
}

TEST_F(StoreTest, KernelResultsKeepTheClockOfTheirRepetitions) {
  RunStore store(path_, Mode::kWrite);
  Json row = {{"op", "forward"},
              {"method", "dense"},
              {"variant", "a"},
              {"ns", {100, 200, 400}},
              {"baseline_ns", {300, 500}},
              {"clock_khz", {3'000'000, 2'900'500, 1'000'000}},
              {"baseline_clock_khz", {3'000'000, 2'000'000}},
              {"held_back", {{"heat", 2}}}};
  store.add_kernel_results(environment_of(), {row});
  row["variant"] = "b";
  row["clock_khz"] = {3'000'000};  // of other repetitions than the times
  store.add_kernel_results(environment_of(), {row});
  EXPECT_EQ(query(path_,
                  "SELECT clock_mhz, baseline_clock_mhz, v.held_back, length(clock_khz) FROM "
                  "v_kernel v JOIN kernel_result r USING(kernel_run_id, kernel_case_id, clock_mhz, "
                  "baseline_clock_mhz) ORDER BY variant"),
            std::vector<std::string>{"2900.5|2500.0|{\"heat\":2}|24"});
  EXPECT_EQ(query(path_, "SELECT clock_mhz, baseline_clock_mhz FROM v_kernel ORDER BY variant"),
            (std::vector<std::string>{"2900.5|2500.0", "NULL|2500.0"}));
}

}  // namespace
}  // namespace approx
