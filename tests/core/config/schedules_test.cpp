#include <gtest/gtest.h>

#include "core/config/named_schedule.h"
#include "core/config/schedule.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

// The convolutions with an approximated weight gradient, as text, at each of the first four steps.
std::vector<std::string> picture(const char* schedule_text, int64_t convolutions) {
  const auto network = test_network("any", convolutions);
  const Schedule schedule(make_schedule(schedule_text), network.layers, "zero", test_catalogue(),
                          10, 100);
  std::vector<std::string> rows;
  for (size_t i = 0; i < network.layers.size(); ++i) {
    std::string row;
    for (int64_t step = 0; step < 4; ++step) {
      const auto decision = schedule.at(i, step);
      EXPECT_EQ(decision.of(Product::kForward), Decision::kDense);
      EXPECT_EQ(decision.of(Product::kDataGradient), Decision::kDense);
      row += decision.dense() ? '.' : '*';
    }
    rows.push_back(row);
  }
  EXPECT_EQ(rows.back(), "....") << "linear layers stay exact";
  rows.pop_back();
  return rows;
}

TEST(Wang2019S1, TouchesFiveLayersOfResnet20AndFourOfVgg19) {
  const auto resnet20 = picture("wang2019_s1", 19);
  EXPECT_EQ(std::count(resnet20.begin(), resnet20.end(), "****"), 5);
  EXPECT_EQ(std::count(resnet20.begin(), resnet20.end(), "...."), 14);
  EXPECT_EQ(resnet20[1], "****");
  EXPECT_EQ(resnet20[5], "****");
  const auto vgg19 = picture("wang2019_s1", 16);
  EXPECT_EQ(std::count(vgg19.begin(), vgg19.end(), "****"), 4);
}

TEST(Wang2019S2, TakesEveryOtherLayerAndBatch) {
  EXPECT_EQ(picture("wang2019_s2", 5),
            (std::vector<std::string>{"....", "*.*.", "....", "*.*.", "...."}));
}

TEST(Wang2019S3, TakesEveryLayerButTheFirstEveryFourthBatch) {
  EXPECT_EQ(picture("wang2019_s3", 3), (std::vector<std::string>{"....", "*...", "*..."}));
  EXPECT_EQ(picture("wang2019_s3:first=true", 3),
            (std::vector<std::string>{"*...", "*...", "*..."}));
}

TEST(Wang2019Cnn2, TakesTheSecondLayerEveryOtherBatch) {
  EXPECT_EQ(picture("wang2019_cnn2", 2), (std::vector<std::string>{"....", "*.*."}));
}

TEST(FreezeLayersSchedule, FreezesConvolutionAfterConvolution) {
  const auto of_three = make_schedule("freeze_layers:layers=3,from=0.2,until=0.6");
  ASSERT_EQ(of_three.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(of_three[i].layers, std::to_string(i + 1));
    EXPECT_EQ(of_three[i].products, std::vector<Product>{Product::kWeightGradient});
    EXPECT_TRUE(of_three[i].until.empty());
  }
  const auto network = test_network("any", 4);
  const Schedule schedule(of_three, network.layers, "zero", test_catalogue(), 10, 100);
  const auto frozen = [&](int64_t step) {
    std::string row;
    for (size_t i = 0; i < 4; ++i) row += schedule.at(i, step).dense() ? '.' : '*';
    return row;
  };
  EXPECT_EQ(frozen(19), "....");
  EXPECT_EQ(frozen(20), "*...");
  EXPECT_EQ(frozen(40), "**..");
  EXPECT_EQ(frozen(60), "***.");
  EXPECT_EQ(frozen(99), "***.");
  EXPECT_EQ(make_schedule("freeze_layers:layers=1,from=0.5").at(0).from, "0.5dur");
  EXPECT_THROW(make_schedule("freeze_layers:from=0.6,until=0.5"), Error);
  EXPECT_THROW(make_schedule("freeze_layers:layers=0"), Error);
  EXPECT_THROW(Schedule(make_schedule("freeze_layers:layers=9"), network.layers, "zero",
                        test_catalogue(), 10, 100),
               Error);
}

TEST(SliceSchedule, IsOneRule) {
  EXPECT_EQ(make_schedule("slice"), std::vector<Rule>{Rule()});
  const Rule rule{"2+4", "1::2", {Product::kForward, Product::kWeightGradient},
                  "",    "1ep",  "0.5dur"};
  EXPECT_EQ(make_schedule("slice:layers=2+4,steps=1::2,products=forward+weight_gradient,from=1ep,"
                          "until=0.5dur"),
            std::vector<Rule>{rule});
}

TEST(SliceSchedule, RejectsUnknownParts) {
  EXPECT_THROW(make_schedule("slice:products=backward"), Error);
  EXPECT_THROW(make_schedule("slice:layer=2"), Error);
  EXPECT_THROW(make_schedule("slices"), Error);
  EXPECT_THROW(make_schedule("wang2019_s3:first=yes"), Error);
}

TEST(EverySchedule, WorksWithItsDefaultsAndSaysWhatItIs) {
  const auto entries = Registry<ScheduleEntry>::instance().all();
  EXPECT_EQ(entries.size(), 8u);
  for (const auto* entry : entries) {
    EXPECT_FALSE(entry->summary.empty()) << entry->name;
    EXPECT_FALSE(picture(entry->name.c_str(), 19).empty()) << entry->name;
    EXPECT_EQ(entry->paper.empty(), entry->paper_at.empty()) << entry->name;
    for (const auto& param : entry->params) EXPECT_FALSE(param.help.empty()) << param.name;
  }
}

TEST(SliceSchedule, TakesEveryKindOfWindowAndSaysSo) {
  int windows = 0;
  for (const auto& spec : Registry<ScheduleEntry>::instance().find("slice").params) {
    if (spec.name != "from" && spec.name != "until") continue;
    ++windows;
    for (const char* text : {"300ba", "10ep", "0.25dur", "plateau", "plateau:patience=3"}) {
      EXPECT_NE(spec.help.find(text), std::string::npos) << spec.help;
      const auto rules = make_schedule(fmt::format("slice:{}={}", spec.name, text));
      EXPECT_NO_THROW(check_rule(rules.at(0), test_catalogue())) << text;
    }
  }
  EXPECT_EQ(windows, 2);
}

}  // namespace
}  // namespace approx
