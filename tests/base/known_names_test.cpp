#include "base/known_names.h"

#include <gtest/gtest.h>

namespace approx {
namespace {

TEST(KnownNames, AreListedWhereTheyHelp) {
  const std::vector<std::string> few = {"red", "green", "blue"};
  EXPECT_EQ(known_names("gren", few), " (did you mean \"green\"?); known: red, green, blue");
  EXPECT_EQ(known_names("chartreuse", few), "; known: red, green, blue");
  std::vector<std::string> many;
  for (int i = 0; i < 44; ++i) many.push_back("experiment_" + std::to_string(i));
  EXPECT_EQ(known_names("experimnt_7", many), " (did you mean \"experiment_7\"?)");
  EXPECT_NE(known_names("x", many).find("known: experiment_0, experiment_1"), std::string::npos);
}

}  // namespace
}  // namespace approx
