#include "base/params.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

Params read_method(std::string_view text) { return test_catalogue().method_params(text); }

// Two of the choices of topk_position's parameter, in another order.
enum class SomeScales { kL1, kEqual };

constexpr auto enum_texts(SomeScales) {
  return std::to_array<EnumText<SomeScales>>(
      {{SomeScales::kL1, "l1"}, {SomeScales::kEqual, "equal"}});
}

TEST(ParseSpec, CutsNameAndArguments) {
  const Spec spec = parse_spec(" a : k = 1 , b=x=y ");
  EXPECT_EQ(spec.name, "a");
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(spec.arguments, (Pairs{{"k", "1"}, {"b", "x=y"}}));
  for (const char* text : {"", " ", ":k=1", "a:", "a:k", "a:=1", "a:k=1,", "a:k=1,k=2"}) {
    EXPECT_THROW(parse_spec(text), Error) << text;
  }
}

TEST(Params, FillsDefaultsAndSpellsThemOut) {
  EXPECT_EQ(read_method("topk_position:k=1").to_string(), "topk_position");
  EXPECT_EQ(read_method("topk_position").full_text(), "topk_position:k=1,scale=equal");
  EXPECT_EQ(read_method("topk_position:scale=l1,k=3").to_string(), "topk_position:k=3,scale=l1");
  EXPECT_EQ(read_method("random:std=1e-3").real("std"), 1e-3);
  EXPECT_TRUE(read_method("zero:freeze=true").flag("freeze"));
  EXPECT_EQ(read_method("topk_position:scale=l1").choice<SomeScales>("scale"), SomeScales::kL1);
  EXPECT_THROW(read_method("topk_position:scale=none").choice<SomeScales>("scale"), Error);
}

TEST(Params, FullTextReadsBackAsItself) {
  for (const char* text : {"random:std=0.1", "random:std=1e-9", "topk_position:k=7,scale=none"}) {
    EXPECT_EQ(read_method(read_method(text).full_text()).full_text(),
              read_method(text).full_text());
  }
}

TEST(Params, RefusesWrongTypesRangesAndNames) {
  for (const char* text :
       {"random:std=x", "random:std=nan", "random:std=inf", "random:std=-1", "random:std=11",
        "random:std=0,1", "topk_position:k=1.5", "topk_position:k=0",
        "topk_position:k=99999999999999999999", "topk_position:scale=", "zero:freeze=1",
        "zero:frieze=true", "dense:k=1", "mixed:k=1"}) {
    EXPECT_THROW(read_method(text), Error) << text;
  }
}

TEST(Params, RefusesWhatDoesNotGoTogetherOrLiesBetweenSteps) {
  const std::vector<ParamSpec> specs = {
      {.name = "n", .fallback = int64_t{2}, .min = 1, .at_most = "m"},
      {.name = "m", .fallback = int64_t{4}, .min = 1, .max = 32},
      {.name = "depth", .fallback = int64_t{28}, .min = 10, .step = 6}};
  const auto refusal = [&](const char* text) -> std::string {
    try {
      Params(specs, parse_spec(text));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("x:n=4"), "");
  EXPECT_EQ(refusal("x:n=5"), "x: n=5: expected at most m, which is 4");
  EXPECT_EQ(refusal("x:n=5,m=5"), "");
  EXPECT_EQ(refusal("x:m=1"), "x: n=2: expected at most m, which is 1");
  for (const char* depth : {"x:depth=10", "x:depth=16", "x:depth=40"}) {
    EXPECT_EQ(refusal(depth), "") << depth;
  }
  for (const char* depth : {"x:depth=4", "x:depth=20", "x:depth=27"}) {
    EXPECT_NE(refusal(depth).find("expected an integer 10 + 6n, of at least 10"), std::string::npos)
        << refusal(depth);
  }
  // And so it is after a catalogue was written and read.
  for (auto& spec : specs) {
    ParamSpec again;
    from_json(Json(spec), again);
    EXPECT_EQ(again.step, spec.step);
    EXPECT_EQ(again.at_most, spec.at_most);
  }
}

TEST(ParamSpecJson, KeepsTheTypeOfTheDefault) {
  for (const ParamSpec& spec :
       {ParamSpec{"a", int64_t{1}, "help", 1}, ParamSpec{"b", 1.0, "help", 0, 2},
        ParamSpec{"c", true, ""}, ParamSpec{"d", std::string("x"), ""}}) {
    const auto back = Json::parse(Json(spec).dump()).get<ParamSpec>();
    EXPECT_EQ(back.fallback, spec.fallback);
    EXPECT_EQ(back.min, spec.min);
    EXPECT_EQ(back.max, spec.max);
  }
}

TEST(Catalogue, SurvivesJson) {
  const Json json = test_catalogue();
  const auto back = Json::parse(json.dump()).get<Catalogue>();
  EXPECT_EQ(Json(back), json);
  EXPECT_EQ(back.network("resnet20").layers.size(), 20u);
  EXPECT_EQ(back.method("meprop").products.size(), 2u);
}

TEST(Catalogue, KeepsWhatAVariantIsRuledAgainst) {
  Catalogue catalogue;
  catalogue.ruled_variants = {
      {"a", "PrunedDY", "exact", Product::kWeightGradient, Pays::kAbove, /*on_cpu=*/false},
      {"b", "Sampled", "gather", Product::kForward, Pays::kBelow, /*on_cpu=*/true}};
  EXPECT_EQ(Json(catalogue).get<Catalogue>().ruled_variants, catalogue.ruled_variants);
}

TEST(Catalogue, KnowsDenseAndMixedWithoutListingThem) {
  EXPECT_TRUE(test_catalogue().method("dense").products.empty());
  EXPECT_EQ(read_method("dense").full_text(), "dense");
  EXPECT_EQ(read_method("mixed").full_text(), "mixed");
  EXPECT_THROW(test_catalogue().method("densee"), Error);
  EXPECT_THROW(test_catalogue().network("dense"), Error);
}

TEST(Nearest, FindsOneSlipAndNothingFarAway) {
  const std::vector<std::string> words = {"seeds", "steps", "k"};
  EXPECT_EQ(nearest("seeds", words), "seeds");
  EXPECT_EQ(nearest("sedes", words), "seeds");
  EXPECT_EQ(nearest("seed", words), "seeds");
  EXPECT_EQ(nearest("network", words), "");
  EXPECT_EQ(nearest("", {}), "");
  EXPECT_EQ(nearest(std::string(1'000'000, 's'), words), "");
}

}  // namespace
}  // namespace approx
