#include "results/render/column.h"

#include <gtest/gtest.h>

namespace approx {
namespace {

struct Pet {
  std::string name;
  int64_t legs = 0;
  std::optional<double> weight;
};

const std::vector<Pet> kPets = {{"cat", 4, 4.25}, {"parrot", 2, std::nullopt}};

// One column that both read, one for programs, one for people.
Columns<Pet> pet_columns(bool legs_shown) {
  return {{.name = "name", .header = "pet", .value = &Pet::name},
          {.name = "legs", .header = "legs", .value = &Pet::legs, .shown = legs_shown},
          {.name = "weight_kg", .value = via(&Pet::weight)},
          {.header = "weight", .text = [](const Pet& pet) { return pet.weight ? "known" : "–"; }}};
}

TEST(Columns, ProgramsAndPeopleSeeTheirOwn) {
  Table table;
  fill(table, pet_columns(/*legs_shown=*/true), kPets);
  EXPECT_EQ(table.columns, (std::vector<std::string>{"name", "legs", "weight_kg"}));
  EXPECT_EQ(table.rows[0], (std::vector<Field>{"cat", int64_t{4}, 4.25}));
  EXPECT_EQ(table.rows[1], (std::vector<Field>{"parrot", int64_t{2}, Field()}));
  EXPECT_EQ(table.text_columns, (std::vector<std::string>{"pet", "legs", "weight"}));
  EXPECT_EQ(table.text_rows[0], (std::vector<std::string>{"cat", "4", "known"}));
  EXPECT_EQ(table.text_rows[1], (std::vector<std::string>{"parrot", "2", "–"}));
}

TEST(Columns, OneThatIsNotShownStaysForPrograms) {
  Table table;
  fill(table, pet_columns(/*legs_shown=*/false), kPets);
  EXPECT_EQ(table.columns.size(), 3u);
  EXPECT_EQ(table.text_columns, (std::vector<std::string>{"pet", "weight"}));
  EXPECT_EQ(table.text_rows[1], (std::vector<std::string>{"parrot", "–"}));
}

TEST(Columns, WithoutHeadersPeopleSeeWhatProgramsDo) {
  Table table;
  fill(table, without_headers(pet_columns(/*legs_shown=*/true)), kPets);
  EXPECT_TRUE(table.text_columns.empty());
  EXPECT_TRUE(table.text_rows.empty());
  EXPECT_EQ(text_of(table).columns, table.columns);
}

}  // namespace
}  // namespace approx
