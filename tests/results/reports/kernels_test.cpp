
#include "results/reports/kernels.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "results/reports/compare.h"
#include "results/store/database.h"
#include "tests/results/filled_store.h"
#include "tests/results/reports/made.h"

namespace approx {
namespace {

using Mode = RunStore::Mode;

class KernelsTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";
};

TEST_F(KernelsTest, KernelsShowTheLastOfEachCase) {
  const auto row = [](double ratio, double error) {
    return Json{{"op", "weight_gradient"},
                {"method", "topk"},
                {"variant", "simd"},
                {"shape", {{"batch", 8}}},
                {"label", "conv2"},
                {"precision", "fp32"},
                {"threads", 2},
                {"device", "cpu"},
                {"ns", {1000, 2000, 4000}},
                {"baseline_ns", {4000}},
                {"ratio", ratio},
                {"ratio_lo", 1.5},
                {"ratio_hi", 2.5},
                {"gflops", 3.0},
                {"max_rel_error", error},
                {"verdict", "faster"}};
  };
  RunStore store(path_, Mode::kWrite);
  store.add_kernel_results(environment_of(), {row(9, 0)});
  store.add_kernel_results(environment_of(), {row(2, std::numeric_limits<double>::infinity())});
  EXPECT_EQ(
      render(made("kernels", path_), "md"),
      "| product         | shape | method | variant | on                        | µs  | exact µs "
      "| GFLOP/s | speedup            | max rel. error | verdict |\n"
      "|-----------------|-------|--------|---------|---------------------------|-----|----------"
      "|---------|--------------------|----------------|---------|\n"
      "| weight_gradient | conv2 | topk   | simd    | cpu, fp32, 2 threads, box | 2.0 | 4.0      "
      "| 3.0     "
      "| 2.00× [1.50, 2.50] | inf            | faster  |\n\n"
      "- [ ]: 95 % intervals of one process each. They say nothing about another process, and a "
      "speedup within 4 % of 1 is no evidence\n");
  const Json json = Json::parse(render(made("kernels", path_), "json"));
  EXPECT_EQ(json["rows"][0]["max_rel_error"], nullptr);
  EXPECT_EQ(json["rows"][0]["special"]["max_rel_error"], "inf");
  EXPECT_EQ(json["rows"][0]["speedup"], 2);
}

// A row as bench-kernel makes it. Exact: 1 GFLOP in 100 ms, of a ceiling of 20 GFLOP/s.
Json benched(const std::string& method, const std::string& variant, bool chosen, double ratio) {
  const bool exact = method == "dense";
  const double flops = exact ? 1e9 : 2.5e8;
  return {{"op", "forward"},
          {"method", method},
          {"variant", variant},
          {"chosen", chosen},
          {"shape", {{"batch", 8}}},
          {"label", "conv2"},
          {"precision", "fp32"},
          {"threads", 1},
          {"device", "cpu"},
          {"ns", {1e8 / ratio}},
          {"baseline_ns", {1e8}},
          {"baseline_variant", "libtorch channels last"},
          {"ratio", ratio},
          {"ratio_lo", nullptr},
          {"ratio_hi", nullptr},
          {"dense_flops", 1e9},
          {"flops", flops},
          {"density", flops / 1e9},
          {"gflops", flops / (1e8 / ratio)},
          {"ceiling_gflops", 20.0},
          {"bytes", 2e8},
          {"memory_gbs", 40.0},
          {"verdict", exact ? "same" : "slower"},
          {"reason", ""}};
}

TEST_F(KernelsTest, KernelsShowWhatThePlanKeptAndTheMachineCanDo) {
  RunStore(path_, Mode::kWrite)
      .add_kernel_results(environment_of(), {benched("dense", "libtorch channels last", true, 1),
                                             benched("dense", "packed channels last", false, 0.5),
                                             benched("crs", "gather", true, 0.97),
                                             benched("crs", "mask", false, 0.5)});
  const Json rows = Json::parse(render(made("kernels", path_), "json"))["rows"];
  ASSERT_EQ(rows.size(), 4u);
  const Json& gather = rows[2];
  EXPECT_EQ(gather["variant"], "gather");
  EXPECT_EQ(gather["density"], 0.25);
  EXPECT_EQ(gather["baseline_variant"], "libtorch channels last");
  EXPECT_DOUBLE_EQ(gather["baseline_gflops"], 10);
  EXPECT_DOUBLE_EQ(gather["gflops"], 2.5 * 0.97);
  EXPECT_NEAR(gather["ceiling_pct"].get<double>(), 100 * 2.5 * 0.97 / 20, 1e-9);
  EXPECT_DOUBLE_EQ(rows[0]["ceiling_pct"], 50);
  // 2 GB a second of 40: it is nearer to what the cores can do.
  EXPECT_DOUBLE_EQ(rows[0]["gb_per_s"], 2);
  EXPECT_DOUBLE_EQ(rows[0]["memory_pct"], 5);
  EXPECT_DOUBLE_EQ(rows[0]["roofline_pct"], 50);
  EXPECT_EQ(rows[0]["caches"], "warm");
  const auto notes = made("kernels", path_).notes;
  ASSERT_EQ(notes.size(), 2U) << "no interval is known, and a processor has no column `of memory`";
  EXPECT_TRUE(notes[0].starts_with("of ceiling: "));
  EXPECT_TRUE(notes[1].starts_with("of roofline: "));
  const std::string text = render(made("kernels", path_), "md");
  EXPECT_NE(text.find("same: the fastest exact path "), std::string::npos);
  EXPECT_NE(text.find("slower: chosen, but slower than dense by more than 2 %"), std::string::npos);
}

TEST_F(KernelsTest, KernelsShowTheClockWhereItIsKnown) {
  Json row = benched("crs", "gather", true, 1);
  EXPECT_EQ(render(kernel_table({kernel_line(row)}), "md").find("MHz"), std::string::npos);
  row["clock_khz"] = {2'950'400};
  row["baseline_clock_khz"] = {3'000'000};
  row["held_back"] = {{"heat", 2}};
  const Table printed = kernel_table({kernel_line(row)});
  RunStore(path_, Mode::kWrite).add_kernel_results(environment_of(), {row});
  const Table stored = made("kernels", path_);
  for (const Table& table : {printed, stored}) {
    const Json shown = Json::parse(render(table, "json"))["rows"][0];
    EXPECT_DOUBLE_EQ(shown["clock_mhz"], 2950.4);
    EXPECT_DOUBLE_EQ(shown["baseline_clock_mhz"], 3000);
    EXPECT_EQ(shown["held_back"], "heat: 2");
    const std::string text = render(table, "md");
    EXPECT_NE(text.find("2950"), std::string::npos) << text;
    EXPECT_NE(text.find("left out repetitions, held back by heat: 2"), std::string::npos) << text;
  }
  EXPECT_NE(render(stored, "md").find("MHz: the median clock"), std::string::npos);
}

// One that moves much is nearer to what its memory can do.
TEST(KernelLineTest, TheRooflineIsTheNearerOfBothLimits) {
  Json row = benched("crs", "gather", true, 1);
  row["bytes"] = 3.6e9;
  const Json shown = Json::parse(render(kernel_table({kernel_line(row)}), "json"))["rows"][0];
  EXPECT_DOUBLE_EQ(shown["ceiling_pct"], 12.5);
  EXPECT_DOUBLE_EQ(shown["memory_pct"], 90);
  EXPECT_DOUBLE_EQ(shown["roofline_pct"], 90);
  row.erase("memory_gbs");
  const Json half = Json::parse(render(kernel_table({kernel_line(row)}), "json"))["rows"][0];
  EXPECT_TRUE(half["roofline_pct"].is_null());
}

// The same case on a GPU whose L2 holds 300 MB: 3.6 GB do not fit, 0.2 GB do unless caches are
// cold.
TEST_F(KernelsTest, WhatFitsIntoTheL2IsHeldAgainstIt) {
  const Json l2 = {{"bytes", 3e8}, {"gbs", 100.0}};
  Json fits = benched("crs", "gather", true, 1), large = fits, cold = fits;
  large["variant"] = "large";
  large["bytes"] = 3.6e9;
  cold["shape"]["cold"] = true;
  std::vector<Json> rows = {fits, large, cold};
  std::vector<KernelLine> printed;
  for (auto& row : rows) {
    row["device"] = "cuda";
    row["l2"] = l2;
    printed.push_back(kernel_line(row));
    printed.back().host = "box";
  }
  const Json shown = Json::parse(render(kernel_table(printed), "json"))["rows"];
  EXPECT_EQ(shown[0]["memory_level"], "L2");
  EXPECT_EQ(shown[0]["memory_gb_per_s"], 100);
  EXPECT_DOUBLE_EQ(shown[0]["memory_pct"], 2);
  EXPECT_DOUBLE_EQ(shown[0]["roofline_pct"], 12.5) << "nearer to what the cores can do";
  EXPECT_EQ(shown[1]["memory_level"], "memory");
  EXPECT_EQ(shown[1]["memory_gb_per_s"], 40);
  EXPECT_DOUBLE_EQ(shown[1]["memory_pct"], 90);
  EXPECT_DOUBLE_EQ(shown[1]["roofline_pct"], 90);
  EXPECT_EQ(shown[2]["memory_level"], "memory");
  EXPECT_DOUBLE_EQ(shown[2]["memory_pct"], 5);
  const auto text = render(kernel_table(printed), "md");
  for (const char* part :
       {"| of memory ", "| 2 % of L2 ", "| 90 % of memory ", "| 5 % of memory "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  // The store keeps it of the benchmark, not of its rows.
  auto environment = environment_of();
  environment["l2"] = l2;
  RunStore(path_, Mode::kWrite).add_kernel_results(environment, rows);
  EXPECT_EQ(render(made("kernels", path_), "csv"), render(kernel_table(printed), "csv"));
  // Where none was measured there is one memory, and nothing to tell apart.
  const auto cpu = kernel_table({kernel_line(benched("crs", "gather", true, 1))});
  EXPECT_EQ(render(cpu, "md").find("of memory"), std::string::npos);
  EXPECT_TRUE(Json::parse(render(cpu, "json"))["rows"][0]["memory_level"].is_null());
}

// A case of cold caches is another, and no report that goes by benchmarks takes it for a warm one.
TEST_F(KernelsTest, ColdCachesAndLaunchedCallsAreCasesOfTheirOwn) {
  Json cold = benched("crs", "gather", true, 0.8), launched = benched("crs", "gather", true, 0.7);
  cold["shape"]["cold"] = true;
  launched["shape"]["launched"] = true;
  RunStore(path_, Mode::kWrite)
      .add_kernel_results(environment_of(), {benched("crs", "gather", true, 0.9), cold, launched});
  const Json rows = Json::parse(render(made("kernels", path_), "json"))["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["caches"], "warm");
  EXPECT_EQ(rows[1]["caches"], "cold");
  const auto text = render(made("kernels", path_), "md");
  EXPECT_NE(text.find("1 thread, cold, box"), std::string::npos);
  EXPECT_NE(text.find("1 thread, launched, box"), std::string::npos);
  const Snapshot snapshot(path_);
  EXPECT_EQ(std::ranges::count_if(snapshot.kernels(), &KernelLine::is_usual), 1);
}

// What a layer takes, not what lies beside it, and more than 2 %.
TEST(KernelLineTest, AChosenVariantThatLosesIsMarked) {
  const auto loses = [](bool chosen, double ratio) {
    return kernel_line(benched("crs", "gather", chosen, ratio)).loses();
  };
  EXPECT_TRUE(loses(true, 0.97));
  EXPECT_FALSE(loses(true, 0.985));
  EXPECT_FALSE(loses(true, 1.3));
  EXPECT_FALSE(loses(false, 0.5));
  Json skipped = benched("crs", "gather", true, 0.5);
  skipped.erase("ratio");
  EXPECT_FALSE(kernel_line(skipped).loses());
}

Json recorded_row(double epoch) {
  Json row = benched("crs", "gather", true, 0.8);
  row["shape"]["recorded"] = {{"run_key", std::string(64, 'a')},
                              {"network", "vgg19"},
                              {"method", "zero"},
                              {"layer", "conv2"},
                              {"step", 9},
                              {"epoch", epoch}};
  return row;
}

// Random and recorded operands of one shape are different cases, and so are two epochs.
TEST_F(KernelsTest, OperandsOfATrainingAreCasesOfTheirOwn) {
  RunStore(path_, Mode::kWrite)
      .add_kernel_results(environment_of(),
                          {benched("crs", "gather", true, 0.8), recorded_row(2), recorded_row(4)});
  const Json rows = Json::parse(render(made("kernels", path_), "json"))["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["operands"], "random");
  EXPECT_EQ(rows[0]["epoch"], nullptr);
  EXPECT_EQ(rows[1]["operands"], "recorded");
  EXPECT_EQ(rows[1]["epoch"], 2);
  EXPECT_EQ(rows[2]["epoch"], 4);
  EXPECT_EQ(rows[2]["step"], 9);
  EXPECT_EQ(rows[2]["run_key"], std::string(64, 'a'));
  EXPECT_EQ(rows[2]["trained_by"], "zero");
  EXPECT_NE(render(made("kernels", path_), "md").find("| recorded in aaaaaaaaaaaa | 4"),
            std::string::npos);
  auto printed = kernel_line(recorded_row(4));
  EXPECT_EQ(printed.epoch, 4);
}

// A row of a comparison is of one case, which its name says; what one store alone has is counted.
TEST_F(KernelsTest, AComparisonTellsItsCasesApart) {
  const auto with = [](const char* key, const Json& value) {
    Json row = benched("crs", "gather", true, 0.8);
    row[key] = value;
    return row;
  };
  const Json usual = benched("crs", "gather", true, 0.8);
  Json cold = usual;
  cold["shape"]["cold"] = true;
  const std::vector<Json> both = {usual,
                                  benched("crs", "mask", false, 0.5),
                                  with("precision", "bf16"),
                                  with("threads", 2),
                                  with("device", "cuda"),
                                  cold};
  auto before = both, after = both;
  before.push_back(with("label", "conv3"));
  before.back()["shape"]["batch"] = 16;
  after.push_back(benched("topk", "lists", true, 2));
  after.push_back(benched("topk", "simd", false, 2));
  const std::string other = folder_ / "other.db";
  RunStore(path_, Mode::kWrite).add_kernel_results(environment_of(), before);
  RunStore(other, Mode::kWrite).add_kernel_results(environment_of(), after);
  const Table table = report_compare(Snapshot(path_), Snapshot(other), {});
  std::set<std::string> names;
  for (const auto& row : table.rows) names.insert(std::get<std::string>(row[0]));
  EXPECT_EQ(names,
            (std::set<std::string>{"forward conv2 crs, gather, bf16, threads: 1, cpu",
                                   "forward conv2 crs, gather, fp32, threads: 1, cpu",
                                   "forward conv2 crs, gather, fp32, threads: 1, cpu cold=true",
                                   "forward conv2 crs, gather, fp32, threads: 1, cuda",
                                   "forward conv2 crs, gather, fp32, threads: 2, cpu",
                                   "forward conv2 crs, mask, fp32, threads: 1, cpu"}));
  EXPECT_EQ(table.rows.size(), both.size());
  EXPECT_NE(table.notes[1].find("rows and kernels only in A: 1, only in B: 2"), std::string::npos)
      << table.notes[1];
  // What all have in common stands in no name.
  const std::string one = folder_ / "one.db";
  RunStore(one, Mode::kWrite).add_kernel_results(environment_of(), {usual});
  EXPECT_EQ(report_compare(Snapshot(one), Snapshot(one), {}).rows[0][0],
            Field(std::string("forward conv2 crs")));
}

// What bench-kernel prints is what the store gives back.
TEST_F(KernelsTest, AKernelLineIsTheSameBeforeAndAfterItIsStored) {
  auto row = benched("crs", "gather", true, 0.8);  // whole nanoseconds, as the store keeps them
  row["max_rel_error"] = nullptr;
  row["special"] = {{"max_rel_error", "inf"}};
  row["plan_ns"] = 1234.5;
  RunStore(path_, Mode::kWrite).add_kernel_results(environment_of(), {row});
  auto printed = kernel_line(row);
  printed.host = "box";
  EXPECT_EQ(render(kernel_table({printed}), "csv"), render(made("kernels", path_), "csv"));
}

}  // namespace
}  // namespace approx
