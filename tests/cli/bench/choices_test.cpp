#include "cli/bench/choices.h"

#include <gmock/gmock.h>

namespace approx {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr;

KernelChoice choice() {
  return {.op = "data_gradient",
          .method = "sdgp",
          .shape = {.label = "conv2"},
          .plan = "PrunedDY",
          .density = 0.5,
          .candidates = {{.name = "foreign", .limit = Limit::kProduct},
                         {.name = "slow", .has_rule = true, .pays = false},
                         {.name = "taken", .has_rule = true, .chosen = true},
                         {.name = "late"},
                         {.name = "reference", .is_definition = true}}};
}

TEST(Choices, EveryCandidateHasItsReason) {
  const auto all = choice().candidates;
  std::vector<std::string> reasons;
  for (const auto& candidate : all) reasons.push_back(reason_of(candidate, all));
  EXPECT_THAT(reasons, ElementsAre("it does not compute this product",
                                   "its rule says that it does not pay here",
                                   "the first in rank that fits and pays", "taken comes before it",
                                   "the definition: taken by its name alone"));
}

TEST(Choices, ALimitIsNamed) {
  for (const auto& [limit, word] :
       {std::pair(Limit::kDevice, "device"), std::pair(Limit::kPrecision, "precision"),
        std::pair(Limit::kLayout, "layout"), std::pair(Limit::kShape, "shape")}) {
    EXPECT_THAT(reason_of({.name = "x", .limit = limit}, {}), HasSubstr(word));
  }
}

TEST(Choices, AreALineForEachCandidateInTheOrderOfTheirRanks) {
  EXPECT_EQ(render(choices_table({choice()}), "csv"),
            "op,shape,epoch,method,plan,density,rank,variant,fits,pays,chosen,why\n"
            "data_gradient,conv2,,sdgp,PrunedDY,0.5,1,foreign,no,–,no,"
            "it does not compute this product\n"
            "data_gradient,conv2,,sdgp,PrunedDY,0.5,2,slow,yes,no,no,"
            "its rule says that it does not pay here\n"
            "data_gradient,conv2,,sdgp,PrunedDY,0.5,3,taken,yes,yes,yes,"
            "the first in rank that fits and pays\n"
            "data_gradient,conv2,,sdgp,PrunedDY,0.5,4,late,yes,no rule,no,taken comes before it\n"
            "data_gradient,conv2,,sdgp,PrunedDY,0.5,5,reference,yes,–,no,"
            "the definition: taken by its name alone\n");
}

}  // namespace
}  // namespace approx
