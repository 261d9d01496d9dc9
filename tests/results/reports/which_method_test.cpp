#include "results/reports/which_method.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/params.h"
#include "generated/source_dir.h"

namespace approx {
namespace {

Json advice_row(const std::string& hardware, const std::string& precision) {
  return {{"hardware", hardware},
          {"precision", precision},
          {"method", "Half of it"},
          {"network", "resnet20"},
          {"primary", 1},
          {"verdict", "undecided"},
          {"speedup", 1.256},
          {"speedup_lo", 1.204},
          {"speedup_hi", 1.31},
          {"processes", 10},
          {"loss_pp", -0.001},
          {"loss_pp_half", 0.386},
          {"seeds", 6},
          {"margin_pp", 3.3},
          {"decided_by", "loss"},
          {"why", "its loss may be larger"},
          {"speed_machine", "A processor"},
          {"speed_date", "2026-11-28"},
          {"speed_commit", "0123456789ab"},
          {"speed_data", "synthetic"},
          {"speed_database", "folder/steps"},
          {"loss_machine", "A GPU"},
          {"loss_date", "2026-11-27"},
          {"loss_commit", "ba9876543210 (changed)"},
          {"loss_data", "cifar10"},
          {"loss_database", "folder/study"},
          {"lossy_data", nullptr}};
}

std::string advice_file(const std::vector<Json>& rows) {
  return json_text({{"schema", "approxtrain.advice/1"}, {"rows", rows}});
}

TEST(WhichMethod, ShowsALineAsPeopleReadItAndItsSources) {
  const auto table = which_method(advice_file({advice_row("cpu", "fp32")}), {});
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(text_of(table.rows[0].at(6)), "1.256");
  ASSERT_EQ(table.text_rows.size(), 1U);
  EXPECT_EQ(table.text_rows[0],
            (std::vector<std::string>{"cpu", "fp32", "Half of it", "1.26× [1.20, 1.31]",
                                      "0.00 ± 0.39", "? undecided", "resnet20", "10", "6",
                                      "synthetic; loss: cifar10", "its loss may be larger"}));
  EXPECT_EQ(table.notes.at(table.notes.size() - 2),
            "speedups of folder/steps: A processor, 2026-11-28, commit 0123456789ab");
  EXPECT_EQ(table.notes.back(),
            "losses of folder/study: A GPU, 2026-11-27, commit ba9876543210 (changed)");
}

TEST(WhichMethod, SaysOfWhichDataTheImagesAreLossy) {
  Json lossy = advice_row("cpu", "fp32");
  lossy["lossy_data"] = "cifar10";
  const auto table = which_method(advice_file({lossy, lossy, advice_row("cpu", "bf16")}), {});
  EXPECT_EQ(table.notes.at(table.notes.size() - 3),
            "lossy data: the images of cifar10 went through JPEG");
  const auto others = which_method(advice_file({advice_row("cpu", "bf16")}), {});
  for (const auto& note : others.notes) EXPECT_EQ(note.find("lossy"), std::string::npos) << note;
}

TEST(WhichMethod, ASentenceCountsTheVerdicts) {
  Json no = advice_row("cpu", "bf16");
  no["verdict"] = "no";
  EXPECT_EQ(which_method(advice_file({advice_row("cpu", "fp32"), no, no}), {}).screen.headline,
            "3 lines: 2 no, 1 undecided.");
}

TEST(WhichMethod, SaysWhatWasNotMeasured) {
  Json row = advice_row("gpu", "bf16");
  for (auto& [name, value] : row.items()) {
    if (name != "hardware" && name != "precision" && name != "method") value = nullptr;
  }
  row["primary"] = 1;
  row["verdict"] = "not measured";
  const auto table = which_method(advice_file({row}), {});
  EXPECT_EQ(table.text_rows.at(0),
            (std::vector<std::string>{"gpu", "bf16", "Half of it", "not measured", "not measured",
                                      "not measured", "–", "–", "–", "–", ""}));
}

TEST(WhichMethod, OneProcessAndOneSeedHaveNoInterval) {
  Json row = advice_row("gpu", "bf16");
  for (const char* name : {"speedup_lo", "speedup_hi", "loss_pp_half"}) row[name] = nullptr;
  row["verdict"] = "no";
  const auto texts = which_method(advice_file({row}), {}).text_rows.at(0);
  EXPECT_EQ(texts.at(3), "1.26× (n=10)") << "as in every report";
  EXPECT_EQ(texts.at(4), "0.00 (n=6)");
  EXPECT_EQ(texts.at(5), "✘ no");
}

TEST(WhichMethod, TakesTheHardwareAndThePrecisionThatAreAskedFor) {
  const auto file = advice_file(
      {advice_row("cpu", "fp32"), advice_row("gpu", "fp32"), advice_row("gpu", "bf16")});
  EXPECT_EQ(which_method(file, {}).rows.size(), 3U);
  EXPECT_EQ(which_method(file, {.hardware = "gpu"}).rows.size(), 2U);
  EXPECT_EQ(which_method(file, {.precision = "fp32"}).rows.size(), 2U);
  EXPECT_EQ(which_method(file, {.hardware = "gpu", .precision = "bf16"}).rows.size(), 1U);
  const auto none = which_method(file, {.hardware = "cpu", .precision = "bf16"});
  EXPECT_TRUE(none.rows.empty());
  EXPECT_TRUE(none.notes.empty());
}

TEST(WhichMethod, HasOneLineForAMethodUnlessAllNetworksAreAskedFor) {
  Json other = advice_row("cpu", "fp32");
  other["primary"] = 0;
  const auto file = advice_file({advice_row("cpu", "fp32"), other});
  EXPECT_EQ(which_method(file, {}).rows.size(), 1U);
  EXPECT_EQ(which_method(file, {.all_networks = true}).rows.size(), 2U);
}

// Each database stands once below the table, with all that its lines rest on.
TEST(WhichMethod, NamesASourceOnce) {
  Json later = advice_row("cpu", "bf16");
  later["speed_machine"] = "A processor; Another";
  later["speed_date"] = "2026-11-29";
  later["speed_commit"] = "fedcba987654";
  const auto table = which_method(advice_file({advice_row("cpu", "fp32"), later}), {});
  EXPECT_EQ(table.notes.at(table.notes.size() - 2),
            "speedups of folder/steps: A processor, Another, 2026-11-28 to 2026-11-29, commit "
            "0123456789ab, fedcba987654");
  EXPECT_TRUE(table.notes.back().starts_with("losses of folder/study: A GPU, 2026-11-27"));
}

TEST(WhichMethod, RefusesWhatIsNoTableOfAdvice) {
  Json short_row = advice_row("cpu", "fp32");
  short_row.erase("why");
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string(R"({"schema": "other/1", "rows": []})"),
        std::string(R"({"schema": "approxtrain.advice/1"})"), advice_file({short_row})}) {
    try {
      which_method(text, {});
      ADD_FAILURE() << "was taken: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_NE(std::string(error.what()).find("is no table of advice ("), std::string::npos);
    }
  }
}

// What is installed: every precision that people ask about, and a verdict for all that was
// measured.
TEST(WhichMethod, TheCommittedFileHasEveryHardwareAndPrecision) {
  std::ifstream in(APPROX_SOURCE_DIR "/results/measured/which-method.json");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const char* hardware : {"cpu", "gpu"}) {
    for (const char* precision : {"fp32", "bf16"}) {
      const auto table = which_method(text, {.hardware = hardware, .precision = precision});
      EXPECT_GE(table.rows.size(), 5U) << hardware << ' ' << precision;
      for (const auto& row : table.text_rows) {
        const bool measured = row.at(3) != "not measured" || row.at(4) != "not measured";
        EXPECT_EQ(measured, row.at(5) != "not measured") << row.at(2);
      }
    }
  }
}

}  // namespace
}  // namespace approx
