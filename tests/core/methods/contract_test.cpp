// What every registered method must keep, whatever it is, in each of its modes and with samples of
// each size: a new method is held to this without a line of test.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/methods/method.h"
#include "core/nn/gradient_part.h"
#include "core/studies/study.h"
#include "tests/core/train/operators.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

struct Case {
  std::string text;  // of the method
  std::vector<Product> products;
  Product product;

  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.text << " " << name(c.product);
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    std::vector<std::string> texts = {entry->name};
    for (const auto& param : entry->params) {
      // Otherwise it leaves these small layers exact.
      if (param.name == "min_uses") texts = {with_params(entry->name, {{param.name, "0"}})};
      if (param.name != "mode" && param.name != "size") continue;
      std::vector<std::string> with_it;
      for (const auto& text : texts) {
        for (const auto& choice : param.choices) {
          with_it.push_back(with_params(text, {{param.name, choice}}));
        }
      }
      texts = std::move(with_it);
    }
    for (const auto& text : texts) {
      const auto products = entry->products_with(Params(entry->params, parse_spec(text)));
      for (const auto product : products) all.push_back({text, products, product});
    }
  }
  return all;
}

class MethodContract : public testing::TestWithParam<Case> {
 protected:
  static constexpr uint64_t kSeed = 11;

  // The operands of a shape, as a layer hands them over.
  Operands operands_of(const TestShape& shape, const Method& method) const {
    auto o = random_operands(shape);
    o.product = GetParam().product;
    const bool lets_x_go = method.keep() == Method::Keep::kNothing;
    if (lets_x_go && o.product == Product::kWeightGradient) o.x = at::Tensor();
    return o;
  }

  Plan plan_of(Method& method, Operands& o) const {
    const Rng rng{.seed = kSeed, .layer = 3, .step = 5, .product = o.product};
    return plan_as_layer(method, GetParam().products, o, rng).plan;
  }

  static std::vector<TestShape> shapes() {
    auto all = conv_shapes();
    for (const auto& shape : random_shapes(8, 51)) all.push_back(shape);
    return all;
  }
};

TEST_P(MethodContract, EqualDrawsGiveEqualFiniteResultsOnEveryVariant) {
  for (const auto& shape : shapes()) {
    SCOPED_TRACE(shape);
    const auto method = make_method(GetParam().text), twin = make_method(GetParam().text);
    auto o = operands_of(shape, *method);
    const Plan plan = plan_of(*method, o), again = plan_of(*twin, o);
    const auto result = run(plan, o);
    ASSERT_TRUE(result.defined());  // no method freezes by default
    EXPECT_TRUE(at::isfinite(result).all().item<bool>());
    const auto& sizes = o.product == Product::kWeightGradient ? o.w.sizes()
                        : o.product == Product::kDataGradient ? at::IntArrayRef(o.input_sizes)
                                                              : o.dy.sizes();
    EXPECT_EQ(result.sizes(), sizes);
    EXPECT_CLOSE(run(again, o), result);
    for (const auto& variant : variants(plan, o)) {
      EXPECT_CLOSE(run(plan, o, variant), result) << variant;
    }
    EXPECT_LE(plan_macs(plan, o), dense_macs(o));
  }
}

TEST_P(MethodContract, ThreadsDoNotMatter) {
  const auto threads = at::get_num_threads();
  for (const auto& shape : random_shapes(4, 52)) {
    SCOPED_TRACE(shape);
    const auto method = make_method(GetParam().text), twin = make_method(GetParam().text);
    auto o = operands_of(shape, *method);
    const auto result = run(plan_of(*method, o), o);
    at::set_num_threads(1);
    const auto alone = run(plan_of(*twin, o), o);
    at::set_num_threads(threads);
    EXPECT_CLOSE(alone, result);
  }
}

TEST_P(MethodContract, GradientsWithoutInformationStayFinite) {
  for (const auto& shape : shapes()) {
    SCOPED_TRACE(shape);
    for (const double value : {0.0, 1.0, -3.0, 1e-42}) {
      const auto method = make_method(GetParam().text);
      auto o = operands_of(shape, *method);
      o.dy = at::full_like(o.dy, value);
      const auto result = run(plan_of(*method, o), o);
      EXPECT_TRUE(at::isfinite(result).all().item<bool>()) << value;
    }
  }
}

// An infinity or a NaN in a gradient may end up anywhere in the result, but ends nothing else: the
// run is told from its loss that it diverged, and a step that is passed over for it, as under a
// loss scale that was too large, leaves the next one as if it had not been.
TEST_P(MethodContract, WhatIsNoNumberIsSurvived) {
  for (const auto& shape : conv_shapes()) {
    SCOPED_TRACE(shape);
    for (const double value : {std::nan(""), double(INFINITY), -double(INFINITY)}) {
      for (const bool all : {false, true}) {
        const auto method = make_method(GetParam().text);
        auto o = operands_of(shape, *method);
        o.dy = all ? at::full_like(o.dy, value) : o.dy.clone();
        o.dy[0][0][0][0].fill_(value);
        const auto good = operands_of(shape, *method);
        const auto result = run(plan_of(*method, o), o);
        auto next = good;
        const auto after = run(plan_of(*method, next), next);
        const auto twin = make_method(GetParam().text);
        next = good;
        const auto wanted = run(plan_of(*twin, next), next);
        EXPECT_EQ(result.sizes(), wanted.sizes());
        EXPECT_TRUE(at::equal(after, wanted)) << value << (all ? " everywhere" : " once");
      }
    }
  }
}

TEST_P(MethodContract, LeavesItsOperandsAlone) {
  for (const auto& shape : shapes()) {
    SCOPED_TRACE(shape);
    const auto method = make_method(GetParam().text);
    auto o = operands_of(shape, *method);
    const auto copy = [](const at::Tensor& t) { return t.defined() ? t.clone() : t; };
    const auto x = copy(o.x), w = copy(o.w), dy = copy(o.dy);
    run(plan_of(*method, o), o);
    EXPECT_TRUE(!x.defined() || at::equal(x, o.x));
    EXPECT_TRUE(at::equal(w, o.w) && at::equal(dy, o.dy));
  }
}

// What the optimizer gets, after it has divided by the loss scale, is what it gets without one:
// also of a method that remembers earlier steps, when the scale changes. Scales are powers of two,
// so nothing is rounded otherwise.
TEST_P(MethodContract, ALossScaleCancels) {
  if (GetParam().product == Product::kForward) GTEST_SKIP() << "not a gradient";
  for (const auto& shape : random_shapes(6, 53)) {
    SCOPED_TRACE(shape);
    const auto method = make_method(GetParam().text), twin = make_method(GetParam().text);
    for (const double factor : {1024.0, 256.0, 65536.0}) {
      auto o = operands_of(shape, *method);
      const Rng rng{.seed = kSeed, .layer = 3, .step = 5, .product = o.product};
      const auto plain = run(plan_as_layer(*method, GetParam().products, o, rng).plan, o);
      o.dy = o.dy * factor;
      const auto scale = at::scalar_tensor(factor, at::kFloat);
      const auto scaled = run(plan_as_layer(*twin, GetParam().products, o, rng, scale).plan, o);
      EXPECT_CLOSE(scaled / factor, plain) << factor;
    }
  }
}

// Ranks that train one network together have other examples and other draws each.
TEST_P(MethodContract, IsWhatRanksTakeItFor) {
  for (const auto& shape : shapes()) {
    SCOPED_TRACE(shape);
    const auto method = make_method(GetParam().text);
    auto o = operands_of(shape, *method), other = o;
    if (o.x.defined()) other.x = at::randn_like(o.x);
    other.dy = at::randn_like(o.dy);
    const auto plan_for = [&](Operands& operands, uint64_t seed) {
      const Rng rng{.seed = seed, .layer = 3, .step = 5, .product = o.product};
      return plan_as_layer(*method, GetParam().products, operands, rng).plan;
    };
    const Plan plan = plan_for(o, 1), others = plan_for(other, 2);
    GradientPart part, others_part;
    part.note(plan, *method, shape.groups);
    others_part.note(others, *method, shape.groups);
    EXPECT_EQ(part.kind, others_part.kind);
    if (method->follows_weights()) {
      ASSERT_EQ(plan.index(), others.index());
      const auto* sample = std::get_if<Sampled>(&plan);
      if (sample != nullptr && sample->axis == Axis::kInputChannels) {
        EXPECT_TRUE(at::equal(sample->index, std::get<Sampled>(others).index));
      }
    }
    if (method->abstains() && o.product == Product::kWeightGradient) {
      const auto result = run(plan, o);
      EXPECT_TRUE(!result.defined() || result.abs().max().item<double>() == 0);
    }
  }
}

// A plan may have a size that its draws decide, and that is waited for (Step.OfWhichMethodsWaits);
// a value of a tensor is never asked for.
TEST_P(MethodContract, ReadsNoValueOfATensor) {
  const auto read = [](const std::vector<std::string>& calls) {
    for (const auto& call : calls) {
      const auto name = call.substr(0, call.find(' '));
      if (name == "aten::item" || name == "aten::_local_scalar_dense" ||
          name == "aten::is_nonzero") {
        return true;
      }
    }
    return false;
  };
  for (const auto& shape : conv_shapes()) {
    SCOPED_TRACE(shape);
    const auto method = make_method(GetParam().text);
    auto o = operands_of(shape, *method);
    const Rng rng{.seed = kSeed, .layer = 3, .step = 5, .product = o.product};
    for (const bool norm_follows : {false, true}) {
      std::optional<Plan> forward, plan;
      if (o.product != Product::kForward) forward = plan_of(*method, o);
      const MethodCall call{
          .rng = rng, .norm_follows = norm_follows, .forward = forward ? &*forward : nullptr};
      {
        const Operators operators;
        plan = method->plan(o, call);
        EXPECT_FALSE(read(Operators::calls())) << "plan";
      }
      const auto result = run(*plan, o);
      const Operators operators;
      method->finish(o, result, call);
      EXPECT_FALSE(read(Operators::calls())) << "finish";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, MethodContract, testing::ValuesIn(cases()), [](const auto& info) {
  std::string text = fmt::format("{}_{}", info.param.text, name(info.param.product));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
});

// By its own examples one rank may take a sample of its share, and another all there is.
TEST(MethodContract, RanksSendAlikeWhetherTheySampleOrNot) {
  const auto method = make_method("topk_crs:share=0.67");
  GradientPart sampled, whole;
  sampled.note(Sampled{.index = at::tensor({0, 2}, at::kLong)}, *method, 1);
  whole.note(Dense{}, *method, 1);
  EXPECT_EQ(sampled.kind, whole.kind);
  EXPECT_EQ(whole.kind, GradientPart::Kind::kScattered);
}

TEST(MethodContract, EveryEntrySaysWhatItIs) {
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    EXPECT_FALSE(entry->summary.empty()) << entry->name;
    EXPECT_FALSE(entry->products.empty()) << entry->name;
    for (const auto& param : entry->params) EXPECT_FALSE(param.help.empty()) << param.name;
    // A version that differs by rounding alone is an earlier one.
    EXPECT_GE(entry->rounding_since, 0) << entry->name;
    EXPECT_LT(entry->rounding_since, entry->version) << entry->name;
    EXPECT_GE(entry->half_rounding_since, 0) << entry->name;
    EXPECT_LT(entry->half_rounding_since, entry->half_version) << entry->name;
  }
}

TEST(MethodContract, AnEntrySaysWhichVersionsDifferByRoundingAlone) {
  MethodEntry entry;
  entry.in_version(3).rounding_from(2).in_half_version(5).half_rounding_from(4);
  EXPECT_EQ(entry.version, 3);
  EXPECT_EQ(entry.first_that_counts(), 2);
  EXPECT_EQ(entry.half_version, 5);
  EXPECT_EQ(entry.first_half_that_counts(), 4);
}

}  // namespace
}  // namespace approx
