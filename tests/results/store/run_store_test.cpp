#include "results/store/run_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

#include "results/store/run_lock.h"
#include "tests/results/filled_store.h"

namespace approx {
namespace {

using Mode = RunStore::Mode;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// The message of the Error(kDatabase) that opening raises.
std::string store_refusal(const std::string& path, Mode mode, StoreOptions options = {}) {
  try {
    RunStore store(path, mode, std::move(options));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDatabase);
    std::string what = error.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_TRUE(what.starts_with(path)) << what;
    return what;
  }
  ADD_FAILURE() << path << " was opened";
  return "";
}

void expect_refused_untouched(const std::string& path, const std::string& reason) {
  const std::string before = file_bytes(path);
  for (const Mode mode : {Mode::kRead, Mode::kWrite}) {
    EXPECT_NE(store_refusal(path, mode).find(reason), std::string::npos)
        << store_refusal(path, mode);
  }
  EXPECT_TRUE(file_bytes(path) == before) << path << " was changed";
}

void sqlite(const std::string& path, const std::string& sql) {
  SQLite::Database db(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec(sql);
}

class StoreTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";

  std::string directory(const std::string& name) { return folder_ / ("runs-" + name); }

  // A store with these runs planned.
  RunStore with(const std::vector<PlannedRun>& runs) {
    RunStore store(path_, Mode::kWrite);
    store.add_experiment(experiment_of(runs), "approxtrain sweep test.toml");
    return store;
  }
};

TEST_F(StoreTest, ANewFileHasOurIdentityAndPragmas) {
  { RunStore store(path_, Mode::kWrite); }
  EXPECT_EQ(query(path_, "PRAGMA application_id"), std::vector<std::string>{"1095783512"});
  EXPECT_EQ(query(path_, "PRAGMA user_version"),
            std::vector<std::string>{std::to_string(store_migrations().back().version)});
  auto db = open_for_writing(path_, {});
  EXPECT_EQ(db.execAndGet("PRAGMA journal_mode").getString(), "truncate");
  EXPECT_EQ(db.execAndGet("PRAGMA synchronous").getInt(), 2);
  EXPECT_EQ(db.execAndGet("PRAGMA foreign_keys").getInt(), 1);
  EXPECT_EQ(db.execAndGet("PRAGMA trusted_schema").getInt(), 0);
  EXPECT_EQ(db.execAndGet("PRAGMA cell_size_check").getInt(), 1);
}

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
  probed.update({{"core_share", 0.75}, {"repeats", 2}, {"clock_mhz", 3150.5}});
  store.finish(*id, {probed, last, final_event(1)}, {});
  EXPECT_EQ(query(path_,
                  "SELECT arm, core_share, repeats, clock_mhz FROM timing_block ORDER BY arm DESC"),
            (std::vector<std::string>{"dense|0.75|2|3150.5", "approx|NULL|0|NULL"}));
  EXPECT_EQ(query(path_, "SELECT core_share, dense_clock_mhz, approx_clock_mhz FROM v_timing"),
            std::vector<std::string>{"NULL|3150.5|NULL"});
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

TEST_F(StoreTest, ARunIsClaimedOnce) {
  auto store = with({planned("zero", 0)});
  RunStore other(path_, Mode::kWrite);
  const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  ASSERT_TRUE(id);
  EXPECT_FALSE(other.begin("accuracy/zero/0", environment_of(), directory("b")));
  EXPECT_FALSE(other.begin("accuracy/zero/0", environment_of(), directory("a")));
  EXPECT_EQ(other.recover(), 0);
  store.finish(*id, accuracy_events({0.5}), {});
  EXPECT_FALSE(other.begin("accuracy/zero/0", environment_of(), directory("c"))) << "has a result";
  EXPECT_FALSE(other.begin("accuracy/zero/0", environment_of(), directory("c"), 0));
  const auto again = other.begin("accuracy/zero/0", environment_of(), directory("c"), 1);
  ASSERT_TRUE(again);
  other.finish(*again, accuracy_events({0.75}), {});
  EXPECT_EQ(query(path_, "SELECT accuracy FROM v_final"), std::vector<std::string>{"0.75"})
      << "the last attempt with a result counts";
  EXPECT_THROW(store.begin("no such key", environment_of(), directory("a")), Error);
}

TEST_F(StoreTest, AFailedRunIsBegunAgainWithoutBeingAsked) {
  auto store = with({planned("zero", 0)});
  const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  store.finish(*id, {}, {.state = RunState::kFailed, .error = "no"});
  ASSERT_TRUE(store.begin("accuracy/zero/0", environment_of(), directory("a")));
  EXPECT_EQ(store.status("accuracy/zero/0").attempts, 2);
}

TEST_F(StoreTest, ARunThatIsTakenBackWasNeverBegun) {
  auto store = with({planned("zero", 0)});
  const auto first = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  store.finish(*first, {}, {.state = RunState::kFailed, .error = "no"});
  const auto second = store.begin("accuracy/zero/0", environment_of(), directory("b"), 1);
  ASSERT_TRUE(second);
  store.discard(*second);
  EXPECT_EQ(store.status("accuracy/zero/0").attempts, 1);
  EXPECT_EQ(store.status("accuracy/zero/0").state, RunState::kFailed);
  EXPECT_THROW(store.discard(*second), Error);
  EXPECT_THROW(store.discard(*first), Error) << "it has ended";
  EXPECT_FALSE(RunLock::held(directory("b"), RunLock::kClaim));
  const auto third = store.begin("accuracy/zero/0", environment_of(), directory("b"), 1);
  ASSERT_TRUE(third);
  store.finish(*third, accuracy_events({0.5}), {});
  EXPECT_EQ(query(path_, "SELECT attempt FROM run ORDER BY 1"),
            (std::vector<std::string>{"1", "2"}));
}

TEST_F(StoreTest, ADestroyedCoordinatorLeavesLostRuns) {
  std::optional<int64_t> id;
  {
    auto store = with({planned("zero", 0)});
    id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  }
  RunStore store(path_, Mode::kWrite);
  EXPECT_EQ(store.recover(), 1);
  EXPECT_EQ(store.recover(), 0);
  EXPECT_EQ(store.status("accuracy/zero/0").state, RunState::kLost);
  EXPECT_TRUE(store.begin("accuracy/zero/0", environment_of(), directory("b")));
}

// The worker, a process of its own, outlives its coordinator, then is killed: only then is its run
// lost, with what it had measured.
TEST_F(StoreTest, AKilledWorkerIsLostWithWhatItMeasured) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t worker = ::fork();
  if (worker == 0) {
    const auto lock = RunLock::acquire(directory("a"));
    const char byte = lock ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    ::alarm(60);  // should the test fail before it kills this process
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  {
    auto store = with({planned("zero", 0)});
    ASSERT_TRUE(store.begin("accuracy/zero/0", environment_of(), directory("a")));
    std::ofstream(directory("a") + "/events.jsonl")
        << accuracy_event(1, 0.25).dump() << "\n"
        << "garbage\n"
        << accuracy_event(2, 0.5).dump();  // cut off: no end of line
  }
  RunStore store(path_, Mode::kWrite);
  EXPECT_EQ(store.recover(), 0) << "the worker still runs";
  EXPECT_FALSE(store.begin("accuracy/zero/0", environment_of(), directory("b")));
  ::kill(worker, SIGKILL);
  ::waitpid(worker, nullptr, 0);
  EXPECT_EQ(store.recover(), 1);
  EXPECT_EQ(store.status("accuracy/zero/0").state, RunState::kLost);
  EXPECT_EQ(query(path_, "SELECT step, value FROM metric"), std::vector<std::string>{"600|0.25"});
}

TEST_F(StoreTest, ALogWithAFinalEventIsAResult) {
  {
    auto store = with({planned("zero", 0), planned("zero", 1), planned("zero", 2),
                       planned("zero", 3), planned("zero", 4)});
    const auto log = [&](int seed, const std::vector<Json>& events) {
      const auto where = directory(std::to_string(seed));
      ASSERT_TRUE(store.begin("accuracy/zero/" + std::to_string(seed), environment_of(), where));
      std::ofstream out(where + "/events.jsonl");
      for (const auto& event : events) out << event.dump() << "\n";
    };
    log(0, accuracy_events({0.5}));
    log(1, accuracy_events({0.5}, RunState::kDiverged));
    log(2, {{{"event", "error"}, {"kind", 5}, {"message", "no data"}}});
    log(3, {{{"event", "error"}, {"kind", 1}, {"message", "rank 1"}, {"state", "lost"}}});
    log(4, {{{"event", "error"}, {"kind", 1}, {"message", "odd"}, {"state", "finished"}}});
  }
  RunStore store(path_, Mode::kWrite);
  EXPECT_EQ(store.recover(), 5);
  EXPECT_EQ(store.status("accuracy/zero/0").state, RunState::kFinished);
  EXPECT_EQ(store.status("accuracy/zero/1").state, RunState::kDiverged);
  EXPECT_EQ(store.status("accuracy/zero/2").state, RunState::kFailed);
  EXPECT_EQ(store.status("accuracy/zero/2").error, "no data");
  EXPECT_EQ(store.status("accuracy/zero/3").state, RunState::kLost);
  EXPECT_EQ(store.status("accuracy/zero/4").state, RunState::kFailed);
  EXPECT_EQ(query(path_, "SELECT accuracy FROM v_final"), std::vector<std::string>{"0.5"});
}

// However long after that somebody looks.
TEST_F(StoreTest, ARunThatIsGoneEndedWhenItsLogWasLastWritten) {
  {
    auto store = with({planned("zero", 0), planned("zero", 1), planned("zero", 2)});
    const auto log = [&](int seed, const std::vector<Json>& events) {
      const auto where = directory(std::to_string(seed));
      ASSERT_TRUE(store.begin("accuracy/zero/" + std::to_string(seed), environment_of(), where));
      const auto path = where + "/events.jsonl";
      {
        std::ofstream out(path);
        for (const auto& event : events) out << event.dump() << "\n";
      }
      const timespec written{.tv_sec = 1767323045, .tv_nsec = 0};
      const timespec times[] = {written, written};
      ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    };
    log(0, accuracy_events({0.5}));
    log(1, {accuracy_event(1, 0.25)});
    ASSERT_TRUE(store.begin("accuracy/zero/2", environment_of(), directory("2")));
  }
  EXPECT_EQ(RunStore(path_, Mode::kWrite).recover(), 3);
  EXPECT_EQ(query(path_,
                  "SELECT state, iif(seed < 2, ended_utc, ended_utc >= started_utc) FROM run JOIN "
                  "cell USING(cell_id) ORDER BY seed"),
            (std::vector<std::string>{"finished|2026-01-02T03:04:05Z", "lost|2026-01-02T03:04:05Z",
                                      "lost|1"}));
}

// Four coordinators, processes of their own, share one list of cells.
TEST_F(StoreTest, ManyWritersRunEachCellOnce) {
  constexpr int kCells = 25, kWriters = 4;
  std::vector<PlannedRun> runs;
  for (int seed = 0; seed < kCells; ++seed) runs.push_back(planned("zero", seed));
  std::vector<pid_t> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = ::fork();
    if (child == 0) {
      int status = 0;
      try {
        RunStore store(path_, Mode::kWrite);
        store.add_experiment(experiment_of(runs), "sweep");
        for (const auto& run : runs) {
          const auto where =
              directory(std::to_string(writer) + "-" + std::to_string(run.config.seed));
          if (const auto id = store.begin(run.key, environment_of(), where)) {
            store.finish(*id, accuracy_events({0.5}), {});
          }
        }
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        status = 1;
      }
      ::_exit(status);
    }
    writers.push_back(child);
  }
  for (const pid_t child : writers) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(query(path_, "SELECT count(*), count(DISTINCT cell_id), max(attempt) FROM run"),
            std::vector<std::string>{"25|25|1"});
  EXPECT_EQ(query(path_, "PRAGMA integrity_check"), std::vector<std::string>{"ok"});
}

TEST_F(StoreTest, ReadersNeverStopAWriter) {
  auto store = with({planned("zero", 0)});
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;
  std::thread reader([&] {
    while (!stop) {
      RunStore snapshot(path_, Mode::kRead);
      ++reads;
    }
  });
  int64_t attempts = 0;
  while (attempts < 30 || reads < 5) {
    const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"), attempts++);
    ASSERT_TRUE(id);
    store.finish(*id, accuracy_events({0.5}), {});
  }
  stop = true;
  reader.join();
  EXPECT_EQ(store.status("accuracy/zero/0").attempts, attempts);
}

TEST_F(StoreTest, ALockedDatabaseIsGivenUpWithAMessage) {
  auto store = with({planned("zero", 0)});
  SQLite::Database holder(path_, SQLite::OPEN_READWRITE);
  holder.exec("BEGIN EXCLUSIVE");
  StoreOptions options;
  options.lock_timeout = std::chrono::milliseconds(50);
  EXPECT_NE(store_refusal(path_, Mode::kWrite, options).find("locked by another program"),
            std::string::npos);
  EXPECT_NE(store_refusal(path_, Mode::kRead, options).find("locked by another program"),
            std::string::npos);
}

TEST_F(StoreTest, AWriterWaitsAndSaysSo) {
  auto store = with({planned("zero", 0)});
  SQLite::Database holder(path_, SQLite::OPEN_READWRITE);
  holder.exec("BEGIN EXCLUSIVE");
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2800));
    holder.exec("ROLLBACK");
  });
  std::vector<std::string> notices;
  StoreOptions options;
  options.notice = [&](const std::string& message) { notices.push_back(message); };
  RunStore waiting(path_, Mode::kWrite, options);
  release.join();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].find("waiting for another program's lock"), std::string::npos);
}

// Stopped for longer than it waits, it goes on to wait.
TEST_F(StoreTest, ItsOwnPauseIsNoWait) {
  { auto store = with({planned("zero", 0)}); }
  const pid_t writer = ::fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    // It begins to wait once the lock is held.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    StoreOptions options;
    options.lock_timeout = std::chrono::milliseconds(2500);
    try {
      RunStore store(path_, Mode::kWrite, options);
    } catch (const Error&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  SQLite::Database holder(path_, SQLite::OPEN_READWRITE);
  holder.exec("BEGIN EXCLUSIVE");
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  ::kill(writer, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));
  ::kill(writer, SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  holder.exec("ROLLBACK");
  int status = -1;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(StoreTest, FilesThatAreNotOursAreRefusedUntouched) {
  const auto text = folder_ / "notes.txt";
  std::ofstream(text) << std::string(5000, 'x');
  expect_refused_untouched(text, "not an SQLite database");

  const auto foreign = folder_ / "foreign.db";
  sqlite(foreign, "PRAGMA application_id = 7; CREATE TABLE t(x)");
  expect_refused_untouched(foreign, "another application (application_id 0x00000007");

  const auto plain = folder_ / "plain.db";
  sqlite(plain, "CREATE TABLE t(x)");
  expect_refused_untouched(plain, "another application");

  const auto foreign_wal = folder_ / "wal.db";
  sqlite(foreign_wal, "PRAGMA journal_mode = WAL; CREATE TABLE t(x)");
  expect_refused_untouched(foreign_wal, "another application");
}

TEST_F(StoreTest, ANewerSchemaIsRefusedUntouched) {
  { RunStore store(path_, Mode::kWrite); }
  const auto known = store_migrations().back().version;
  sqlite(path_, fmt::format("PRAGMA user_version = {}", known + 1));
  expect_refused_untouched(
      path_, fmt::format("newer program (schema {}, this program knows {})", known + 1, known));
}

TEST_F(StoreTest, DamagedFilesAreRefusedUntouched) {
  {
    auto store = with({planned("zero", 0)});
    const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
    store.finish(*id, accuracy_events({0.5}), {});
  }
  const std::string whole = file_bytes(path_);
  const auto damaged = folder_ / "damaged.db";
  const auto write = [&](const std::string& bytes) {
    std::ofstream(damaged, std::ios::binary | std::ios::trunc) << bytes;
  };
  // Cut short, in the middle of a page and between two. Without its header the file may as well be
  // something else: any reason will do.
  for (const size_t size : {size_t{60}, size_t{5000}, whole.size() / 2, whole.size() - 4096}) {
    write(whole.substr(0, size));
    expect_refused_untouched(damaged, size < 100 ? "" : "damaged");
  }
  // Each page zeroed once. The first is the header's.
  for (size_t page = 0; page < whole.size() / 4096; ++page) {
    std::string bytes = whole;
    bytes.replace(page * 4096, 4096, 4096, '\0');
    write(bytes);
    expect_refused_untouched(damaged, page == 0 ? "" : "damaged");
  }
}

TEST_F(StoreTest, PlacesWhereNoDatabaseCanBe) {
  EXPECT_NE(store_refusal(folder_ / "none/store.db", Mode::kWrite).find("no folder"),
            std::string::npos);
  EXPECT_NE(store_refusal(path_, Mode::kRead).find("no such database"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path_)) << "a reader makes no file";
  std::filesystem::create_directory(folder_ / "folder");
  EXPECT_NE(store_refusal(folder_ / "folder", Mode::kWrite).find("a folder"), std::string::npos);
  { RunStore store(path_, Mode::kWrite); }
  ::chmod(path_.c_str(), 0444);
  ::chmod((folder_ / "").c_str(), 0777);
  // Root may write everywhere, so that it has to be another for a moment.
  constexpr uid_t kNobody = 65534;
  const bool is_root = ::geteuid() == 0;
  const auto become = [&](uid_t user) { return !is_root || ::setresuid(user, user, 0) == 0; };
  ASSERT_TRUE(become(kNobody));
  const auto refusal = store_refusal(path_, Mode::kWrite);
  ASSERT_TRUE(become(0));
  EXPECT_NE(refusal.find("not writable"), std::string::npos) << refusal;
}

// A version of the future, to try the way there.
StoreOptions next_version(const std::string& sql = "ALTER TABLE run ADD COLUMN joules REAL") {
  StoreOptions options;
  options.migrations.push_back({options.migrations.back().version + 1, sql});
  return options;
}

TEST_F(StoreTest, AStoreOfTheFirstVersionIsBroughtUpToThisOne) {
  StoreOptions first;
  first.migrations.resize(1);
  {
    // Its views are today's, which only the newer tables can answer: they are made anew below.
    SQLite::Database db(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec(first.migrations[0].sql);
    db.exec("PRAGMA user_version = 1");
    db.exec(
        "INSERT INTO host VALUES(1, 'f', 'box', 'cpu', 2, 3, '', '{}');"
        "INSERT INTO build VALUES(1, 'abc', 0, 'g++', '-O3', '2', '', '');"
        "INSERT INTO kernel_run VALUES(1, 1, 1, '2026-01-01T00:00:00Z', '{}')");
  }
  RunStore store(path_, Mode::kWrite);
  EXPECT_EQ(query(path_, "SELECT experiment FROM kernel_run"), std::vector<std::string>{""});
  EXPECT_FALSE(store.has_item_results("wang2019:table1"));
  store.add_kernel_results(environment_of(), {}, "wang2019:table1");
  EXPECT_TRUE(store.has_item_results("wang2019:table1"));
}

// Its numbers stay, and what nobody asked then is not known now.
TEST_F(StoreTest, KernelResultsOfTheFourthVersionAreKept) {
  StoreOptions fourth;
  fourth.migrations.resize(4);
  {
    SQLite::Database db(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    for (const auto& migration : fourth.migrations) db.exec(migration.sql);
    db.exec("PRAGMA user_version = 4");
    db.exec(
        "INSERT INTO host VALUES(1, 'f', 'box', 'cpu', 2, 3, '', '{}');"
        "INSERT INTO build VALUES(1, 'abc', 0, 'g++', '-O3', '2', '', '');"
        "INSERT INTO kernel_run VALUES(1, 1, 1, '2026-01-01T00:00:00Z', '{}', '');"
        "INSERT INTO kernel_case VALUES(1, 'forward', 'crs', 'gather', '{}', 'fp32', 1, 'cpu');"
        "INSERT INTO kernel_result(kernel_run_id, kernel_case_id, label, n, ns, baseline_n, "
        "baseline_ns, ratio, special, verdict, reason) "
        "VALUES(1, 1, 'conv1', 0, x'', 0, x'', 1.5, '{}', 'faster', '')");
  }
  { RunStore store(path_, Mode::kWrite); }
  EXPECT_EQ(query(path_,
                  "SELECT label, ratio, baseline_variant, chosen, density, ceiling_gflops, bytes, "
                  "memory_gbs FROM v_kernel"),
            std::vector<std::string>{"conv1|1.5||NULL|NULL|NULL|NULL|NULL"});
}

// A run of before keeps what it counted; which variants computed it is known of later runs alone.
TEST_F(StoreTest, RunsOfTheFifthVersionAreKeptWithoutVariants) {
  StoreOptions fifth;
  fifth.migrations.resize(5);
  {
    SQLite::Database db(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    for (const auto& migration : fifth.migrations) db.exec(migration.sql);
    db.exec("PRAGMA user_version = 5");
    db.exec(
        "INSERT INTO host VALUES(1, 'f', 'box', 'cpu', 2, 3, '', '{}');"
        "INSERT INTO build VALUES(1, 'abc', 0, 'g++', '-O3', '2', '', '');"
        "INSERT INTO cell(cell_id, run_key, purpose, method, schedule, network, dataset, seed, "
        "split, train_examples, recipe, batch_size, precision, threads, device, config) "
        "VALUES(1, 'k', 'accuracy', 'zero', '[]', 'lenet', 'mnist', 0, 'paper', 0, '{}', 1, "
        "'fp32', 1, 'cpu', '{}');"
        "INSERT INTO run(run_id, cell_id, attempt, host_id, build_id, state, isolated, "
        "run_directory, started_utc, ended_utc, environment) "
        "VALUES(1, 1, 1, 1, 1, 'finished', 0, 'd', 't', 't', '{}');"
        "INSERT INTO layer_metric VALUES(1, 'conv1', 'forward', 'dense', 2, 2, 8, 8, NULL)");
  }
  { RunStore store(path_, Mode::kWrite); }
  EXPECT_EQ(query(path_, "SELECT layer, calls FROM layer_metric"),
            std::vector<std::string>{"conv1|2"});
  EXPECT_EQ(query(path_, "SELECT * FROM layer_variant"), std::vector<std::string>{});
  SQLite::Database db(path_, SQLite::OPEN_READWRITE);
  db.exec("INSERT INTO layer_variant VALUES(1, 'conv1', 'forward', 'Dense', 'libtorch', 2)");
}

// A run of before keeps what it has; what its ranks sent is not known.
TEST_F(StoreTest, RunsOfTheEighthVersionAreKeptWithoutTraffic) {
  {
    auto store = with({planned("zero", 0)});
    const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
    store.finish(*id, accuracy_events({0.5}), {});
  }
  sqlite(path_, "DROP TABLE layer_traffic; PRAGMA user_version = 8");
  EXPECT_EQ(query(path_, "SELECT * FROM layer_traffic"), std::vector<std::string>{})
      << "a reader's copy has the table";
  { RunStore store(path_, Mode::kWrite); }
  EXPECT_EQ(query(path_, "SELECT accuracy FROM v_final"), std::vector<std::string>{"0.5"});
  sqlite(path_, "INSERT INTO layer_traffic VALUES(1, 'conv1', 4, 300, 600)");
  SQLite::Database backup(path_ + ".v8.backup", SQLite::OPEN_READONLY);
  EXPECT_EQ(backup.execAndGet("PRAGMA user_version").getInt(), 8);
  EXPECT_EQ(backup.execAndGet("SELECT count(*) FROM run").getInt(), 1);
  EXPECT_FALSE(backup.tableExists("layer_traffic"));
}

TEST_F(StoreTest, AnOlderSchemaIsCopiedThenMigrated) {
  {
    auto store = with({planned("zero", 0)});
    const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
    store.finish(*id, accuracy_events({0.5}), {});
  }
  const std::string before = file_bytes(path_);
  {
    auto snapshot = open_snapshot(path_, next_version());
    EXPECT_EQ(snapshot.execAndGet("SELECT count(joules) + count(*) FROM run").getInt(), 1);
  }
  EXPECT_TRUE(file_bytes(path_) == before) << "a reader migrates its own copy";

  auto db = open_for_writing(path_, next_version());
  EXPECT_EQ(db.execAndGet("PRAGMA user_version").getInt64(),
            next_version().migrations.back().version);
  EXPECT_EQ(db.execAndGet("SELECT count(joules) + count(*) FROM run").getInt(), 1);
  EXPECT_EQ(db.execAndGet("SELECT accuracy FROM v_final").getDouble(), 0.5);
  const auto version = std::to_string(store_migrations().back().version);
  const auto backup = fmt::format("{}.v{}.backup", path_, version);
  EXPECT_EQ(query(backup, "SELECT accuracy FROM v_final"), std::vector<std::string>{"0.5"});
  EXPECT_EQ(query(backup, "PRAGMA user_version"), std::vector<std::string>{version});
  EXPECT_NE(store_refusal(path_, Mode::kWrite).find("newer program"), std::string::npos);
}

// What another program does just as a connection begins to copy its file.
std::function<void()> rival;

int on_statement(unsigned, void*, void*, void* sql) {
  const bool copies = std::string_view(static_cast<const char*>(sql)).starts_with("VACUUM INTO");
  if (copies && rival) std::exchange(rival, nullptr)();
  return 0;
}

int watch_connection(sqlite3* db, char**, const sqlite3_api_routines*) {
  return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, on_statement, nullptr);
}

// Of two programs that migrate at once: the copy of before is the only one there is.
TEST_F(StoreTest, TheCopyOfBeforeIsNotOneOfAfter) {
  { auto store = with({planned("zero", 0)}); }
  const auto version = std::to_string(store_migrations().back().version);
  bool refused = false;
  rival = [&] {
    auto options = next_version();
    options.lock_timeout = std::chrono::milliseconds(1);
    try {
      open_for_writing(path_, options);
    } catch (const Error&) {
      refused = true;
    }
  };
  const auto watch = reinterpret_cast<void (*)()>(watch_connection);
  ASSERT_EQ(sqlite3_auto_extension(watch), SQLITE_OK);
  { open_for_writing(path_, next_version()); }
  sqlite3_cancel_auto_extension(watch);
  EXPECT_FALSE(std::exchange(rival, nullptr)) << "nothing was copied";
  EXPECT_TRUE(refused) << "it migrated under the copy";
  const auto backup = fmt::format("{}.v{}.backup", path_, version);
  EXPECT_EQ(query(backup, "PRAGMA user_version"), std::vector<std::string>{version});
  SQLite::Database copy(backup, SQLite::OPEN_READONLY);
  EXPECT_EQ(copy.execAndGet("SELECT count(*) FROM pragma_table_info('run') WHERE name = 'joules'")
                .getInt(),
            0);
  EXPECT_NE(store_refusal(path_, Mode::kWrite).find("newer program"), std::string::npos);
}

TEST_F(StoreTest, AMigrationThatFailsChangesNothing) {
  { auto store = with({planned("zero", 0)}); }
  const std::string before = file_bytes(path_);
  const auto broken = next_version("ALTER TABLE run ADD COLUMN joules REAL; SELECT nonsense");
  EXPECT_NE(store_refusal(path_, Mode::kWrite, broken).find("nonsense"), std::string::npos);
  EXPECT_TRUE(file_bytes(path_) == before);
  const auto dangling = next_version(
      "CREATE TABLE extra(run_id INTEGER REFERENCES run) STRICT; "
      "PRAGMA defer_foreign_keys = ON; INSERT INTO extra VALUES(99)");
  EXPECT_NE(
      store_refusal(path_, Mode::kWrite, dangling).find("would break a reference in table extra"),
      std::string::npos);
  EXPECT_TRUE(file_bytes(path_) == before);
  RunStore store(path_, Mode::kWrite);
  EXPECT_GT(store.status("accuracy/zero/0").cell_id, 0);
}

TEST_F(StoreTest, ANewFileOfTheNextVersionHasAllOfIt) {
  auto db = open_for_writing(path_, next_version());
  EXPECT_EQ(db.execAndGet("PRAGMA user_version").getInt64(),
            next_version().migrations.back().version);
  EXPECT_EQ(db.execAndGet("SELECT count(joules) FROM run").getInt(), 0);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".v0.backup"));
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
}

TEST_F(StoreTest, ASnapshotIsNotWritten) {
  { auto store = with({planned("zero", 0)}); }
  RunStore store(path_, Mode::kRead);
  EXPECT_THROW(store.recover(), Error);
  EXPECT_THROW(store.begin("accuracy/zero/0", environment_of(), directory("a")), Error);
}

TEST(RunLockTest, TellsWhoHoldsIt) {
  TemporaryFolder folder;
  EXPECT_FALSE(RunLock::held(folder / "run"));
  {
    auto lock = RunLock::acquire(folder / "run");
    ASSERT_TRUE(lock);
    EXPECT_TRUE(RunLock::held(folder / "run"));
    EXPECT_FALSE(RunLock::held(folder / "run", RunLock::kClaim));
    EXPECT_FALSE(RunLock::acquire(folder / "run"));
    auto moved = std::move(*lock);
    EXPECT_TRUE(RunLock::held(folder / "run"));
  }
  EXPECT_FALSE(RunLock::held(folder / "run"));
  std::ofstream(folder / "file") << "x";
  EXPECT_THROW(RunLock::acquire(folder / "file"), Error);
}

// The file system of /proc has no room; of a folder that is not there nothing is known.
TEST(DatabaseErrors, AnErrorOfAFullDiskIsToldAsOne) {
  const auto message = [](const std::string& path, int code) -> std::string {
    try {
      throw_database_error(path, SQLite::Exception("disk I/O error", code));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kDatabase);
      return error.what();
    }
  };
  EXPECT_EQ(
      message("/proc/x.db", SQLITE_IOERR),
      "/proc/x.db: the disk has no space left (disk I/O error); free some and run the command "
      "again");
  EXPECT_EQ(message("/proc/x.db", SQLITE_IOERR_TRUNCATE), message("/proc/x.db", SQLITE_IOERR));
  EXPECT_NE(message("/nowhere/x.db", SQLITE_IOERR).find("disk I/O error; `db check`"),
            std::string::npos);
}

}  // namespace
}  // namespace approx
