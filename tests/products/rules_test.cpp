#include "products/rules.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "kernels/variant.h"
#include "tests/kernels/plan_contract.h"

namespace approx {
namespace {

using ::testing::Contains, ::testing::Not;

// Keys of runs name the built-in table by its version: rows that are changed are a new one.
TEST(KernelRules, OtherRowsAreAnotherVersion) {
  const auto& rules = builtin_kernel_rules();
  EXPECT_EQ(rules.version(), 4);
  EXPECT_EQ(sha256_hex(text_of(rules.rows())),
            "d49e5ef99b3375bb7ea1cef9f2b2fcdd9bdc276df0b289587290f55fb16a48c1")
      << "give products/rules.txt the next version, and write both here";
}

TEST(KernelRules, TheBuiltInTableKnowsWherePairsPay) {
  struct Case {
    int64_t ci, co, size, kernel;
    double rows, lists;  // the largest shares at which they pay; -1: never
  };
  for (const auto& c :
       {Case{16, 16, 32, 3, -1, 0.5}, Case{16, 32, 16, 5, -1, -1}, Case{64, 64, 32, 3, 0.6, 0.7},
        Case{512, 512, 4, 3, 0.5, 0.5}, Case{64, 8, 32, 3, 0.6, -1}, Case{32, 64, 56, 1, 0.3, 0.2},
        Case{64, 256, 56, 1, 0.3, 0.3}, Case{64, 64, 8, 2, 0.3, -1}, Case{512, 512, 2, 1, 0.3, -1},
        Case{256, 256, 8, 3, 0.5, 0.7}, Case{512, 512, 8, 3, 0.5, 0.5},
        Case{512, 512, 2, 3, 0.5, 0.3}, Case{512, 512, 1, 3, -1, -1}, Case{512, 512, 4, 1, 0.3, -1},
        Case{512, 512, 7, 1, 0.3, 0.3}, Case{4096, 4096, 1, 1, -1, -1}}) {
    Problem p;
    p.ci = c.ci, p.co = c.co, p.ho = p.wo = c.size, p.kh = p.kw = c.kernel;
    for (const double share : {0.0, 0.1, 0.2, 0.21, 0.3, 0.31, 0.5, 0.51, 0.6, 0.61, 0.7, 0.71}) {
      p.density = share;
      SCOPED_TRACE(testing::Message() << c.ci << " " << c.co << " " << c.size << " " << share);
      EXPECT_EQ(builtin_kernel_rules().pay("pair_rows_bf16", p), share <= c.rows);
      EXPECT_EQ(builtin_kernel_rules().pay("pair_lists_bf16", p), share <= c.lists);
    }
  }
}

TEST(KernelRules, TheBuiltInTableKnowsWhereEntriesPay) {
  struct Case {
    int64_t ci, co, size, kernel, stride;
    double rows, lists;  // the largest shares at which they pay; -1: never
  };
  for (const auto& c : {Case{16, 16, 32, 3, 1, 0.5, 0.45}, Case{16, 32, 16, 3, 2, 0.3, 0.45},
                        Case{64, 64, 32, 3, 1, 0.5, 0.5}, Case{512, 512, 4, 3, 1, 0.45, 0.45},
                        Case{512, 512, 1, 3, 1, -1, -1}, Case{3, 64, 32, 3, 1, 0.5, -1},
                        Case{64, 8, 32, 3, 1, -1, -1}, Case{64, 64, 56, 1, 1, 0.3, 0.4},
                        Case{64, 256, 56, 1, 1, 0.45, 0.4}, Case{256, 1024, 14, 1, 1, 0.45, -1},
                        Case{256, 512, 28, 1, 2, 0.45, -1}, Case{2048, 512, 7, 1, 1, 0.45, 0.5},
                        Case{32, 32, 16, 1, 1, -1, -1}}) {
    Problem p;
    p.ci = c.ci, p.co = c.co, p.ho = p.wo = c.size, p.kh = p.kw = c.kernel;
    p.geometry.stride = c.stride;
    const auto expect_most = [&](const char* variant, double most) {
      for (const double share : {0.0, 0.1, most, most + 0.01}) {
        p.density = share;
        EXPECT_EQ(builtin_kernel_rules().pay(variant, p), share >= 0 && share <= most)
            << variant << " " << c.ci << " " << c.co << " " << c.size << " " << share;
      }
    };
    expect_most("sparse_rows", c.rows);
    expect_most("sparse_lists", c.lists);
  }
}

TEST(KernelRules, TheBuiltInTableIsOfVariantsWithARule) {
  const auto known = names_of(ruled_variants());
  for (const auto& row : builtin_kernel_rules().rows()) {
    EXPECT_THAT(known, Contains(row.variant));
  }
}

TEST(KernelRules, ARegistrationSaysWhatItsRuleIs) {
  const auto all = ruled_variants();
  const auto expect = [&](const RuledVariant& variant) {
    EXPECT_EQ(std::ranges::count(all, variant), 1) << variant.name << " " << name(variant.product);
  };
  expect({"sparse_rows", "PrunedDY", "exact", Product::kDataGradient, Pays::kBelow});
  expect({"sparse_lists", "PrunedDY", "exact", Product::kWeightGradient, Pays::kBelow});
  expect({"lists", "SparseDY", "simd", Product::kWeightGradient, Pays::kAbove});
  for (const auto product : kAllProducts) {
    expect({"whole", "Sampled", "gather", product, Pays::kAbove});
  }
  EXPECT_THAT(names_of(all), Not(Contains("gather"))) << "a variant without a rule";
}

// For a device that no machine has, so that no other test meets it.
template <typename Kind>
at::Tensor never_computed(const Kind& /*plan*/, const Operands& /*operands*/) {
  return {};
}

REGISTER_KERNEL(PrunedDY, "waiting", never_computed<PrunedDY>)
    .computes({Product::kDataGradient})
    .on({Hardware::kOther})
    .ruled_against("exact")
    .waits_for_density()
    .rank(-9);

REGISTER_KERNEL(Sampled, "asking", never_computed<Sampled>)
    .computes({Product::kForward})
    .on({Hardware::kOther})
    .ruled_against("gather")
    .rank(-9);

TEST(KernelRules, TheFirstRowThatFitsDecides) {
  const KernelRules rules(
      "# a comment\n"
      "whole data_gradient 9 ..16 * 4..63 1 0.25..0.75  # and another\n"
      "whole * * ..16 * * * never\n"
      "\n"
      "whole * * * 32 * 2.. ..0.5\n",
      "t");
  Problem p{.product = Product::kDataGradient, .ci = 16, .co = 32, .ho = 2, .wo = 2};
  p.kh = p.kw = 3, p.density = 0.5;
  EXPECT_TRUE(rules.pay("whole", p));
  EXPECT_FALSE(rules.pay("lists", p)) << "a variant without a row";
  p.density = 0.76;
  EXPECT_FALSE(rules.pay("whole", p)) << "no later row is asked";
  p.density = 0.5, p.ho = 1;
  EXPECT_FALSE(rules.pay("whole", p)) << "too few pixels: the second row";
  p.ci = 17;
  EXPECT_FALSE(rules.pay("whole", p)) << "the stride is 1: no row";
  p.geometry.stride = 2;
  EXPECT_TRUE(rules.pay("whole", p));
  EXPECT_EQ(rules.version(), 0);
}

TEST(KernelRules, RowsAreWrittenAsTheyAreRead) {
  for (const auto& rules :
       {builtin_kernel_rules(),
        KernelRules("version 3\nwhole forward 9 ..16 7.. 4..63 2 0.25..0.75\nlists * * * * * * *\n",
                    "t")}) {
    const std::string text = text_of(rules.rows());
    EXPECT_EQ(KernelRules(text, "t").rows(), rules.rows()) << text;
  }
}

TEST(KernelRules, AVariantWithoutRowsPaysWhereAnotherTableSaysSo) {
  Problem p{.product = Product::kDataGradient, .ci = 64, .co = 64, .ho = 8, .wo = 8};
  p.device = Hardware::kOther;
  p.density = 0;
  EXPECT_EQ(choose<PrunedDY>(p)->name, "exact");
  use_kernel_rules("waiting * * * * * * ..0.1");
  EXPECT_EQ(choose<PrunedDY>(p)->name, "waiting");
  p.density = 0.2;
  EXPECT_EQ(choose<PrunedDY>(p)->name, "exact");
  use_kernel_rules("");
}

TEST(KernelRules, WaitForADensityWhereATableHasRowsOfAVariantThatWaits) {
  EXPECT_FALSE(rules_wait_for_density());
  use_kernel_rules("sparse_rows * * * * * * ..0.1");
  EXPECT_FALSE(rules_wait_for_density()) << "a CPU knows its density";
  use_kernel_rules("waiting * * * * * * ..0.01");
  EXPECT_TRUE(rules_wait_for_density());
  use_kernel_rules("asking * * * * * * ..0.5");
  EXPECT_FALSE(rules_wait_for_density()) << "a sample knows its own";
  use_kernel_rules("");
  EXPECT_FALSE(rules_wait_for_density());
}

std::string mistake(const std::string& text) {
  try {
    const KernelRules rules(text, "here.rules", names_of(ruled_variants()));
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(KernelRules, WithoutKnownVariantsARowMayNameAny) {
  EXPECT_TRUE(KernelRules("spares_rows * * * * * * *", "t").have_rows_of("spares_rows"));
}

TEST(KernelRules, MistakesAreSaidWithTheirLine) {
  EXPECT_EQ(
      mistake("\nwhole * * *\n"),
      "here.rules:2: 4 columns, expected 8: variant product taps in out pixels stride density");
  EXPECT_EQ(mistake("whole sideways * * * * * *"), "here.rules:1: unknown product \"sideways\"");
  EXPECT_EQ(mistake("whole * nine * * * * *"),
            "here.rules:1: taps \"nine\": expected *, a number, FIRST..LAST, FIRST.. or ..LAST");
  EXPECT_EQ(mistake("whole * * .. * * * *"),
            "here.rules:1: in \"..\": expected *, a number, FIRST..LAST, FIRST.. or ..LAST");
  EXPECT_EQ(mistake("whole * * * * * * ..2"),
            "here.rules:1: density \"..2\": expected *, a number, FIRST..LAST, FIRST.. or ..LAST "
            "from 0 to 1, or never");
  EXPECT_EQ(mistake("version none"), "here.rules:1: version \"none\": expected a number from 1");
  EXPECT_EQ(mistake("spares_rows * * * * * * *").substr(0, 69),
            "here.rules:1: unknown variant \"spares_rows\" (did you mean \"sparse_row");
}

// The table that is in use decides what `run` takes.
TEST(KernelRules, AnotherTableTakesOtherPaths) {
  auto o = random_operands({4, 64, 8, 64, 3, 1, 1});
  o.product = Product::kDataGradient;
  const PrunedDY plan{o.dy * at::rand_like(o.dy).lt(0.2), at::scalar_tensor(3000, at::kLong)};
  const auto taken = [&] {
    LayerVariants counts;
    run(plan, o, {}, &counts);
    return std::string(counts.of(o.product).entries().front().variant);
  };
  EXPECT_EQ(taken(), "sparse_rows");
  use_kernel_rules("sparse_rows * * * * * * never");
  EXPECT_EQ(taken(), "exact");
  EXPECT_THROW(use_kernel_rules("sparse_rows"), Error);
  EXPECT_EQ(taken(), "exact") << "a table with a mistake is not taken";
  use_kernel_rules("");
  EXPECT_EQ(taken(), "sparse_rows");
}

}  // namespace
}  // namespace approx
