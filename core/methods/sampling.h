// The common part of the sampling methods of Adelman et al. 2021 (adelman2021): which axis a
// product samples, how its pairs are scored, how many are taken, and which products share a sample.
// A method adds how the sample is drawn.
//
// A product sums over pairs, one for each entry of an axis (their section 7). The forward product
// sums over input channels, the data gradient over output channels, the weight gradient over
// examples. Linear layers are 1x1 convolutions on 1x1 maps. The score of a pair is the product of
// the Euclidean norms of its two slices. Modes, in the paper's order of use:
//   both             the forward product is sampled; both gradients are those of the sampled
//                    product: its channels serve all three, and no others are kept
//   backward         exact forward product; each gradient samples its own axis
//   weight_gradient  the weight gradient alone, over examples
//   black_box        sampled forward product, exact gradients
#pragma once

#include <cstdint>
#include <optional>

#include "core/methods/method.h"

namespace approx {

class SamplingMethod : public Method {
 public:
  enum class Mode { kBoth, kBackward, kWeightGradient, kBlackBox };

  explicit SamplingMethod(const Params& params);

  Plan plan(const Operands& operands, const MethodCall& call) final;
  std::string_view waits_for() const override {
    return share_ > 0 ? "how many pairs make up its share" : "";
  }
  Keep keep() const final { return mode_ == Mode::kBoth ? Keep::kSample : Keep::kInput; }

  // The number of pairs of the product that the method takes: k, or all if it leaves the product
  // exact. Nothing if the scores decide (`share`).
  std::optional<int64_t> sample_size(const Operands& operands) const;

  // E|err|^2 of a product of matrices, such as that of 1x1 kernels, over the draws of a sample.
  // `exact_square` is |exact product|^2. NaN if there is no closed form: if nothing is drawn, or if
  // the scores decide how many pairs are taken.
  double expected_square(const Operands& operands, double exact_square) const;

  // The parameters `ratio`, `min_k`, `share`, `min_channels` and `mode`.
  static void declare(MethodEntry& entry);

 protected:
  // Chooses k of the n pairs with these scores ([n] double, not negative), k < n. Callers read only
  // `index` and `scale` of the result. If some scores are not finite, the sample must have at least
  // one such pair. Otherwise a product that is not finite could turn finite because that pair was
  // not drawn. (uniform_crs is free of this: its scores do not read the operands.) Never read a
  // score on the host here: it stalls the GPU in every step.
  virtual Sampled choose(const at::Tensor& scores, int64_t k, const Rng& rng) const = 0;

  // The expected square of `choose` with k pairs (expected_square()); NaN without a closed form.
  virtual double expected_square_of(const at::Tensor& scores, int64_t k, double exact_square) const;

  // The number of pairs along an axis.
  static int64_t length_of(Axis axis, const Operands& operands);

  // The products of the norms of both slices, [n] double.
  virtual at::Tensor scores(const Operands& operands, Axis axis) const;

 private:
  bool is_exact(const Operands& operands) const;
  int64_t sample_size(int64_t length) const;  // by ratio
  int64_t sample_size(int64_t length, const at::Tensor& scores) const;

  const Mode mode_;
  const double ratio_, share_;
  const int64_t min_k_, min_channels_;
};

constexpr auto enum_texts(SamplingMethod::Mode) {
  return std::to_array<EnumText<SamplingMethod::Mode>>(
      {{SamplingMethod::Mode::kBoth, "both"},
       {SamplingMethod::Mode::kBackward, "backward"},
       {SamplingMethod::Mode::kWeightGradient, "weight_gradient"},
       {SamplingMethod::Mode::kBlackBox, "black_box"}});
}

// How many pairs the sample of a drawing method has. kDrawn: the pairs that were drawn, each once.
// Only the device knows how many, and the host waits for it. kFixed: a number that depends on k and
// n alone. If fewer pairs were drawn, others at scale 0 fill it up. The host does not wait, so that
// steps can be captured.
enum class SampleSize { kDrawn, kFixed };

constexpr auto enum_texts(SampleSize) {
  return std::to_array<EnumText<SampleSize>>(
      {{SampleSize::kDrawn, "drawn"}, {SampleSize::kFixed, "fixed"}});
}

// A sampling method whose random draws also decide how many pairs are taken.
class DrawingMethod : public SamplingMethod {
 public:
  explicit DrawingMethod(const Params& params);

  std::string_view waits_for() const final {
    return has_fixed_size_ ? SamplingMethod::waits_for() : "how many pairs its draws take";
  }

  // Declares the parameters of all sampling methods, `mix` and `size`.
  static void declare(MethodEntry& entry);

 protected:
  double mix() const { return mix_; }
  // The probability of each pair in one draw: its share of the scores, mixed with the uniform one.
  at::Tensor shares(const at::Tensor& scores) const;
  bool has_fixed_size() const { return has_fixed_size_; }

 private:
  const double mix_;
  const bool has_fixed_size_;
};

// Norms of the slices of w for each input channel, [Ci] double.
at::Tensor input_channel_norms(const Operands& operands);

}  // namespace approx
