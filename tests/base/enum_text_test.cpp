#include "base/enum_text.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/params.h"

namespace approx {

enum class Colour { kRed, kDarkBlue, kGreen };

constexpr auto enum_texts(Colour) {
  return std::to_array<EnumText<Colour>>(
      {{Colour::kGreen, "green"}, {Colour::kRed, "red"}, {Colour::kDarkBlue, "dark_blue"}});
}

namespace {

std::string colour_message(std::string_view text) {
  try {
    parse<Colour>(text, "unknown colour");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  ADD_FAILURE() << text;
  return "";
}

static_assert(name(Colour::kDarkBlue) == "dark_blue");

TEST(EnumText, GoesToTextAndBack) {
  for (const auto colour : all_of_enum<Colour>()) {
    EXPECT_EQ(parse<Colour>(name(colour), "unknown colour"), colour);
  }
  EXPECT_EQ(names_of_enum<Colour>(), (std::vector<std::string>{"green", "red", "dark_blue"}));
  EXPECT_EQ(find_named<Colour>("blue"), std::nullopt);
}

TEST(EnumText, NamesWhatThereIs) {
  EXPECT_EQ(colour_message("dark_blu"),
            "unknown colour \"dark_blu\" (did you mean \"dark_blue\"?); known: green, red, "
            "dark_blue");
  EXPECT_EQ(colour_message(std::string(100, 'x')).substr(0, 105),
            "unknown colour \"" + std::string(80, 'x') + "...\"; kno");
}

TEST(EnumText, IsAWordInJson) {
  const Json json = {{"colour", Colour::kRed}};
  EXPECT_EQ(json.dump(), R"({"colour":"red"})");
  EXPECT_EQ(json.at("colour").get<Colour>(), Colour::kRed);
}

}  // namespace
}  // namespace approx
