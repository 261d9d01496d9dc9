#include "kernels/numbers_of.h"
#include "kernels/trials/fused_product.h"
#include "tests/testing.h"

namespace approx {
namespace {

// What the kernels are told to do (kernels/trials/fused_gather.h), in plain loops.
template <typename Number>
void gather(const ListedWeights<Number>& on) {
  for (int64_t row = 0; row < on.padded_rows; ++row) {
    for (int64_t d = 0; d < on.padded_depth; ++d) {
      Number& out = on.out[row * on.padded_depth + d];
      out = Number(0.0F);
      if (row >= on.rows || d >= on.depth) continue;
      const int64_t j = on.list_on_rows ? row : d;
      const int64_t r = on.list_on_rows ? on.index[j] : row, c = on.list_on_rows ? d : on.index[j];
      const auto w = static_cast<float>(on.w[r * on.of_row + c * on.of_depth]);
      out = Number(on.scale == nullptr ? w : w * on.scale[j]);
    }
  }
}

template <typename Number>
void multiply(const SampleSum<Number>& on) {
  for (int64_t p = 0; p < on.pixels; ++p) {
    for (int64_t c = 0; c < on.columns; ++c) {
      double sum = 0;
      for (int64_t j = 0; j < on.kept; ++j) {
        const int64_t channel = on.index == nullptr ? j : on.index[j];
        sum += double{static_cast<float>(on.from[p * on.channels + channel])} *
               static_cast<float>(on.weights[c * on.depth + j]);
      }
      on.out[p * on.columns + c] = Number(static_cast<float>(sum));
    }
  }
}

template <typename Number>
void multiply(const SampleSpread<Number>& on) {
  std::fill(on.out, on.out + on.pixels * on.channels, Number(0.0F));
  for (int64_t p = 0; p < on.pixels; ++p) {
    for (int64_t j = 0; j < on.kept; ++j) {
      double sum = 0;
      for (int64_t d = 0; d < on.terms; ++d) {
        sum += double{static_cast<float>(on.from[p * on.terms + d])} *
               static_cast<float>(on.weights[j * on.depth + d]);
      }
      on.out[p * on.channels + on.index[j]] =
          Number(static_cast<float>(on.scale == nullptr ? sum : sum * on.scale[j]));
    }
  }
}

template <typename Number>
at::Tensor computed(const Sampled& plan, const Operands& o) {
  const auto product = fused_product<Number>(plan, o);
  // What the kernels ask of them.
  EXPECT_EQ(product.weights.padded_rows % kPaddedDepth, 0);
  EXPECT_EQ(product.weights.padded_depth % kPaddedDepth, 0);
  EXPECT_TRUE(product.result.is_contiguous(at::MemoryFormat::ChannelsLast));
  gather(product.weights);
  if (product.sums) {
    EXPECT_GE(product.weights.padded_rows, in_multiples(product.sum.columns, kPaddedColumns));
    multiply(product.sum);
  } else {
    EXPECT_GE(product.weights.padded_rows, product.spread.kept + kPaddedColumns);
    multiply(product.spread);
  }
  return product.result;
}

// Every second channel from the second on.
Sampled half_of(Axis axis, const Operands& o, bool scaled) {
  const int64_t length = axis == Axis::kInputChannels ? o.w.size(1) : o.w.size(0);
  const auto index = at::arange(1, length, 2, at::kLong);
  return {.axis = axis,
          .index = index,
          .scale = scaled ? at::rand({index.numel()}) + 0.5 : at::Tensor()};
}

TEST(FusedGather, KernelsAreToldToComputeTheProduct) {
  at::manual_seed(91);
  for (const auto type : {at::kBFloat16, at::kHalf}) {
    for (const int64_t size : {1, 5}) {
      auto o = random_operands({3, 24, size, 40, 1, 1, 0});
      for (auto* tensor : {&o.x, &o.w, &o.dy}) *tensor = tensor->to(type);
      for (const auto& [product, axis] :
           {std::pair(Product::kForward, Axis::kInputChannels),
            std::pair(Product::kDataGradient, Axis::kInputChannels),
            std::pair(Product::kDataGradient, Axis::kOutputChannels)}) {
        o.product = product;
        for (const bool scaled : {false, true}) {
          SCOPED_TRACE(testing::Message() << name(product) << " axis " << int(axis) << " size "
                                          << size << " scaled " << scaled);
          const auto plan = half_of(axis, o, scaled);
          ASSERT_TRUE(goes_through_list(plan, o));
          auto exact = o;
          for (auto* tensor : {&exact.x, &exact.w, &exact.dy}) *tensor = tensor->to(at::kDouble);
          const auto wanted = run(plan, exact, kReference);
          const auto of = [&](const Operands& operands) {
            return type == at::kHalf ? computed<Float16>(plan, operands)
                                     : computed<BFloat16>(plan, operands);
          };
          const double rounding = type == at::kHalf ? 1e-3 : 8e-3;
          const auto got = of(o);
          EXPECT_TRUE(close(got, wanted, rounding));
          // From the sample alone, and from tensors that lie otherwise.
          auto other = o;
          other.x =
              product == Product::kForward ? sampled_input(o.x, plan, o.geometry) : at::Tensor();
          other.w = o.w.contiguous(), other.dy = o.dy.contiguous();
          EXPECT_TRUE(at::equal(of(other), got));
        }
      }
    }
  }
}

TEST(FusedGather, GoesThroughListsOfChannelsAlone) {
  auto o = random_operands({3, 8, 2, 16, 1, 1, 0});
  for (const auto axis : {Axis::kInputChannels, Axis::kOutputChannels, Axis::kExamples}) {
    const Sampled plan{.axis = axis, .index = at::arange(0, 2, at::kLong), .scale = {}};
    o.product = Product::kForward;
    EXPECT_EQ(goes_through_list(plan, o), axis == Axis::kInputChannels);
    o.product = Product::kDataGradient;
    EXPECT_EQ(goes_through_list(plan, o), axis != Axis::kExamples);
    o.product = Product::kWeightGradient;
    EXPECT_FALSE(goes_through_list(plan, o));
  }
}

TEST(FusedGather, TakesProductsThatAreMatricesOfEights) {
  Problem p{.product = Product::kForward, .ci = 64, .co = 24, .element = ElementType::kBFloat16};
  EXPECT_TRUE(takes_fused_gather(p));
  const auto refuses = [&](auto change) {
    Problem other = p;
    change(other);
    return !takes_fused_gather(other);
  };
  EXPECT_TRUE(refuses([](Problem& o) { o.product = Product::kWeightGradient; }));
  EXPECT_TRUE(refuses([](Problem& o) { o.element = ElementType::kFloat; }));
  EXPECT_TRUE(refuses([](Problem& o) { o.kw = 3; }));
  EXPECT_TRUE(refuses([](Problem& o) { o.geometry.stride = {1, 2}; }));
  EXPECT_TRUE(refuses([](Problem& o) { o.geometry.padding = {1, 0}; }));
  EXPECT_TRUE(refuses([](Problem& o) { o.geometry.groups = 2; }));
  EXPECT_TRUE(refuses([](Problem& o) { o.ci = 63; }));
  EXPECT_TRUE(refuses([](Problem& o) { o.co = 20; }));
}

}  // namespace
}  // namespace approx
