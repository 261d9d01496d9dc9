#include "kernels/rules.h"

#include "tests/kernels/plan_contract.h"

namespace approx {
namespace {

// Version 1 once more as functions: keys of stored runs say nothing of a table, so it must stay
// what it is.
bool sparse_rows_paid(const Problem& p) {
  if (p.co < 16 || p.ho * p.wo < 4) return false;
  if (p.kh * p.kw < 9) return p.ci >= 64 && p.density <= 0.3;
  return p.density <= 0.5;
}

bool sparse_lists_paid(const Problem& p) {
  if (p.co < 16 || p.ci < 16 || p.ho * p.wo < 4) return false;
  if (p.kh * p.kw < 9) return p.density <= (p.ci >= 512 ? 0.5 : 0.2);
  if (p.ci < 64) return p.density <= (p.ci >= 32 ? 0.4 : 0.3);
  return p.density <= (p.ho * p.wo >= 16 ? 0.5 : 0.45);
}

bool lists_paid(const Problem& p) {
  return p.ci >= 16 && (p.density >= 1.0 / 16 || (p.ci >= 256 && p.density >= 1.0 / 64));
}

TEST(KernelRules, TheFirstVersionDecidesAsBefore) {
  int64_t paid = 0;
  Problem p;
  for (const int64_t ci : {8, 15, 16, 31, 32, 63, 64, 255, 256, 511, 512}) {
    for (const int64_t co : {15, 16, 31, 32, 64}) {
      for (const int64_t size : {1, 2, 3, 4, 32}) {
        for (const int64_t kernel : {1, 2, 3, 5}) {
          for (const int64_t stride : {1, 2}) {
            for (const double density : {0.0, 0.01, 1.0 / 64, 0.03, 1.0 / 16, 0.2, 0.21, 0.25, 0.26,
                                         0.3, 0.31, 0.4, 0.41, 0.45, 0.46, 0.5, 0.51, 1.0}) {
              p.ci = ci, p.co = co, p.ho = p.wo = size, p.kh = p.kw = kernel;
              p.geometry.stride = stride, p.density = density;
              const auto pays = [&p](const char* variant) {
                return builtin_kernel_rules().pay(variant, p);
              };
              ASSERT_EQ(pays("sparse_rows"), sparse_rows_paid(p)) << ci << " " << co;
              ASSERT_EQ(pays("sparse_lists"), sparse_lists_paid(p)) << ci << " " << co;
              ASSERT_EQ(pays("lists"), lists_paid(p)) << ci << " " << co;
              paid += pays("sparse_rows");
            }
          }
        }
      }
    }
  }
  EXPECT_GT(paid, 0);
  EXPECT_EQ(builtin_kernel_rules().version(), 1);
}

TEST(KernelRules, EveryRuledVariantHasRows) {
  for (const auto& variant : kRuledVariants) {
    const auto& rows = builtin_kernel_rules().rows();
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
      return row.variant == variant.name;
    })) << variant.name;
  }
}

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

std::string mistake(const std::string& text) {
  try {
    const KernelRules rules(text, "here.rules");
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
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
