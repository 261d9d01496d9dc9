#include <ATen/Parallel.h>

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/select/select.h"
#include "tests/kernels/plan_contract.h"
#include "tests/reference.h"

namespace approx {
namespace {

constexpr Product kGradients[] = {Product::kDataGradient, Product::kWeightGradient};

std::vector<StructuredDY> choices() {
  std::vector<StructuredDY> all;
  for (const auto rescaling : {Rescaling::kNone, Rescaling::kGroup, Rescaling::kPlane}) {
    all.push_back({{.n = 2, .m = 4, .rescaling = rescaling}, {}});
  }
  all.push_back({{.n = 1, .m = 2}, {}});
  all.push_back({{.n = 3, .m = 5}, {}});
  all.push_back({{.n = 1, .m = 4, .random = true}, {.seed = 5, .layer = 2, .step = 3}});
  return all;
}

TEST(StructuredDY, EveryVariantAgreesWithTheDefinition) {
  for (auto& o : uneven_operands(20, 81)) {
    for (const auto& plan : choices()) {
      for (const auto product : kGradients) {
        o.product = product;
        expect_variants_agree(plan, o);
      }
    }
  }
}

TEST(StructuredDY, IsTheExactProductOfWhatIsChosen) {
  auto o = uneven_operands(1, 82)[0];
  for (const auto& plan : choices()) {
    Operands replaced = o;
    const auto written = nm_pruned(o.dy, plan.choice, plan.rng);
    replaced.dy = written.dy;
    for (const auto product : kGradients) {
      o.product = replaced.product = product;
      EXPECT_CLOSE(run(plan, o), run(Dense{}, replaced)) << name(product);
    }
    EXPECT_TRUE(at::equal(used_gradient(plan, o.dy), written.dy));
    EXPECT_EQ(pruned_gradient(plan, o).kept, written.kept.item<int64_t>());
    EXPECT_EQ(plan_macs(plan, o), written.kept.item<int64_t>() * o.w[0].numel());
  }
}

TEST(StructuredDY, RowsAgreeWithPlainLoops) {
  // As PrunedDY.SparseRowsAgreeWithPlainLoops, with whole vectors of output channels.
  at::manual_seed(83);
  for (const auto& shape : {TestShape{3, 16, 9, 16, 3, 1, 1}, TestShape{2, 48, 7, 48, 3, 1, 1},
                            TestShape{37, 112, 4, 144, 3, 1, 1}, TestShape{2, 64, 6, 32, 5, 1, 2},
                            TestShape{2, 32, 6, 16, 1, 1, 0}, TestShape{2, 16, 8, 32, 3, 2, 1},
                            TestShape{5, 16, 3, 80, 3, 1, 1}}) {
    SCOPED_TRACE(shape);
    auto o = random_operands(shape);
    o.product = Product::kDataGradient;
    for (const auto& plan : choices()) {
      if (4 % plan.choice.m != 0) continue;
      auto replaced = o;
      replaced.dy = used_gradient(plan, o.dy);
      EXPECT_CLOSE(run(plan, o, "rows"), reference::product(replaced).tensor());
    }
  }
}

TEST(StructuredDY, RowsKeepWhatIsNoNumber) {
  auto o = random_operands({1, 16, 5, 16, 3, 1, 1});
  o.product = Product::kDataGradient;
  o.dy.select(1, 3).select(1, 2).select(1, 1).fill_(std::numeric_limits<float>::quiet_NaN());
  const StructuredDY plan{{.n = 1, .m = 4}, {}};
  EXPECT_EQ(run(plan, o, "rows").isnan().sum().item<int64_t>(), 16 * 9);
}

// A plane of zeros has nothing that its rescaling could divide by.
TEST(StructuredDY, ZerosStayZeros) {
  auto o = random_operands({2, 16, 5, 16, 3, 1, 1});
  o.product = Product::kDataGradient;
  o.dy.zero_();
  for (const auto& plan : choices()) {
    if (4 % plan.choice.m != 0) continue;
    EXPECT_TRUE(at::equal(run(plan, o, "rows"), at::zeros_like(o.x)));
  }
}

TEST(StructuredDY, RowsGiveTheSameBitsOnAnyNumberOfThreads) {
  auto o = random_operands({9, 32, 8, 32, 3, 1, 1});
  o.product = Product::kDataGradient;
  const int threads = at::get_num_threads();
  for (const auto& plan : choices()) {
    if (4 % plan.choice.m != 0) continue;
    at::set_num_threads(1);
    const auto alone = run(plan, o, "rows");
    at::set_num_threads(3);
    EXPECT_TRUE(at::equal(run(plan, o, "rows"), alone));
    at::set_num_threads(threads);
  }
}

// In bfloat16, channels last.
Operands half_operands(const TestShape& shape) {
  auto o = random_operands(shape);
  o.product = Product::kDataGradient;
  for (auto* tensor : {&o.x, &o.w, &o.dy}) {
    *tensor = tensor->to(at::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
  }
  return o;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr const char* kChosenPairs = "pairs_bf16";

// Where a pruned dY goes by pairs, one whose entries are chosen here must as well.
bool machine_has_chosen_pairs() {
  const auto o = half_operands({1, 32, 4, 8, 3, 1, 1});
  return has(variants(nm_pruned(o.dy, choices()[0].choice, {}), o), "pair_rows_bf16");
}

#define CHOSEN_PAIRS_OR_SKIP       \
  if (!machine_has_chosen_pairs()) \
  GTEST_SKIP() << "this processor does not multiply pairs of bfloat16"

// Choices that divide eight channels.
std::vector<StructuredDY> even_choices() {
  auto all = choices();
  std::erase_if(all, [](const StructuredDY& plan) { return 8 % plan.choice.m != 0; });
  all.push_back({{.n = 3, .m = 4}, {}});
  all.push_back({{.n = 2, .m = 8, .rescaling = Rescaling::kPlane}, {}});
  all.push_back({{.n = 2, .m = 4, .random = true, .rescaling = Rescaling::kPlane},
                 {.seed = 7, .layer = 1, .step = 2}});
  return all;
}

TEST(StructuredDY, PairsAreThoseOfWhatIsPrunedBeforehand) {
  CHOSEN_PAIRS_OR_SKIP;
  // Several images together, with a rest; more than one block of output channels; a last vector
  // that is not whole.
  at::manual_seed(84);
  for (const auto& shape : {TestShape{3, 32, 9, 8, 3, 1, 1}, TestShape{2, 96, 7, 48, 3, 1, 1},
                            TestShape{300, 224, 2, 136, 3, 1, 1}, TestShape{2, 64, 6, 32, 5, 1, 2},
                            TestShape{2, 64, 9, 8, 1, 2, 0}, TestShape{3, 96, 8, 24, 3, 2, 1}}) {
    SCOPED_TRACE(shape);
    const auto o = half_operands(shape);
    for (const auto& plan : even_choices()) {
      const auto pruned = nm_pruned(o.dy, plan.choice, plan.rng, Choosing::kReference);
      EXPECT_TRUE(at::equal(run(plan, o, kChosenPairs), run(pruned, o, "pair_rows_bf16")));
    }
  }
}

TEST(StructuredDY, PairsTakeWhatIsNoNumberAndZeros) {
  CHOSEN_PAIRS_OR_SKIP;
  auto o = half_operands({2, 32, 5, 16, 3, 1, 1});
  o.dy.select(1, 3).select(1, 2).select(1, 1).fill_(std::numeric_limits<float>::quiet_NaN());
  const StructuredDY plan{{.n = 1, .m = 4}, {}};
  EXPECT_EQ(run(plan, o, kChosenPairs).isnan().sum().item<int64_t>(), 2 * 32 * 9);
  o.dy.zero_();
  for (const auto& choice : even_choices()) {
    EXPECT_TRUE(at::equal(run(choice, o, kChosenPairs), at::zeros_like(o.x)));
  }
}

TEST(StructuredDY, PairsGiveTheSameBitsOnAnyNumberOfThreads) {
  CHOSEN_PAIRS_OR_SKIP;
  const auto o = half_operands({300, 64, 4, 32, 3, 1, 1});
  const int threads = at::get_num_threads();
  for (const auto& plan : even_choices()) {
    at::set_num_threads(1);
    const auto alone = run(plan, o, kChosenPairs);
    at::set_num_threads(3);
    EXPECT_TRUE(at::equal(run(plan, o, kChosenPairs), alone));
    at::set_num_threads(threads);
  }
}

TEST(StructuredDY, PairsAreLeftOutWhereGroupsAreNotWhole) {
  CHOSEN_PAIRS_OR_SKIP;
  const StructuredDY plan{{.n = 2, .m = 4}, {}};
  EXPECT_FALSE(has(variants(plan, half_operands({1, 32, 4, 10, 3, 1, 1})), kChosenPairs));
  const StructuredDY odd{{.n = 1, .m = 3}, {}};  // images of 27 elements
  EXPECT_FALSE(has(variants(odd, half_operands({2, 32, 3, 3, 3, 1, 1})), kChosenPairs));
}

}  // namespace
}  // namespace approx
