#include "cli/bench/products.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "cli/text.h"

namespace approx {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr;

// One method of gradients with parameters, and one whose mode decides what it approximates.
Catalogue two_methods() {
  Catalogue catalogue;
  auto& prune = catalogue.methods.emplace_back();
  prune.name = "prune";
  prune.products = {Product::kDataGradient, Product::kWeightGradient};
  prune.params = {{.name = "n", .fallback = int64_t{2}, .help = "kept"},
                  {.name = "m", .fallback = int64_t{4}, .help = "of"}};
  auto& sample = catalogue.methods.emplace_back();
  sample.name = "sample";
  sample.products = {Product::kForward, Product::kWeightGradient};
  sample.products_of_mode = {{"forward", {Product::kForward}},
                             {"weight", {Product::kWeightGradient}}};
  sample.params = {{.name = "mode",
                    .fallback = std::string("forward"),
                    .help = "which",
                    .choices = {"forward", "weight"}}};
  return catalogue;
}

std::vector<std::string> texts_of(const std::vector<BenchedProduct>& products) {
  std::vector<std::string> texts;
  for (const auto& [product, methods] : products) {
    for (const auto& method : methods) texts.push_back(std::string(name(product)) + " " + method);
  }
  return texts;
}

std::string refusal(const std::vector<std::string>& ops, const std::vector<std::string>& methods) {
  try {
    benched_products(two_methods(), ops, methods);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(BenchedProducts, AllAreThoseThatTheMethodApproximates) {
  const auto products = benched_products(two_methods(), {"all"}, split_methods("prune:n=1,m=8"));
  EXPECT_THAT(texts_of(products),
              ElementsAre("data_gradient prune:n=1,m=8", "weight_gradient prune:n=1,m=8"));
}

TEST(BenchedProducts, CommasInsideAMethodArePartsOfIt) {
  const auto products = benched_products(two_methods(), {"weight_gradient"},
                                         split_methods("prune:n=1,m=8,sample:mode=weight,prune"));
  EXPECT_THAT(texts_of(products),
              ElementsAre("weight_gradient prune:n=1,m=8", "weight_gradient sample:mode=weight",
                          "weight_gradient prune:n=2,m=4"));
}

TEST(BenchedProducts, AModeNarrowsThem) {
  const auto products = benched_products(two_methods(), {"forward", "weight_gradient"}, {});
  EXPECT_THAT(texts_of(products),
              ElementsAre("forward sample:mode=forward", "weight_gradient prune:n=2,m=4"));
}

TEST(BenchedProducts, ExactPathsAloneAreBenchmarkedWhereDenseIsNamed) {
  const auto products = benched_products(two_methods(), {"all"}, {"dense"});
  EXPECT_THAT(texts_of(products),
              ElementsAre("forward dense", "data_gradient dense", "weight_gradient dense"));
}

TEST(BenchedProducts, DensitiesAreOfBothGradientsAndAloneWhereNoMethodIsNamed) {
  EXPECT_THAT(texts_of(benched_products(two_methods(), {"all"}, {}, {0.5, 0.01})),
              ElementsAre("data_gradient pruned_at_random:density=0.5",
                          "data_gradient pruned_at_random:density=0.01",
                          "weight_gradient pruned_at_random:density=0.5",
                          "weight_gradient pruned_at_random:density=0.01"));
  EXPECT_THAT(
      texts_of(benched_products(two_methods(), {"data_gradient"}, {"prune"}, {0.5})),
      ElementsAre("data_gradient prune:n=2,m=4", "data_gradient pruned_at_random:density=0.5"));
  EXPECT_THROW(benched_products(two_methods(), {"forward"}, {"sample"}, {0.5}), Error);
}

TEST(BenchedProducts, WhatApproximatesNoneOfThemIsRefused) {
  EXPECT_THAT(refusal({"forward"}, {"prune"}), HasSubstr("prune:n=2,m=4 does not approximate"));
  EXPECT_THAT(refusal({"all"}, {"prume"}), HasSubstr("prune"));
  EXPECT_THAT(refusal({"wieght_gradient"}, {}), HasSubstr("weight_gradient"));
}

}  // namespace
}  // namespace approx
