// What the sampling methods of Adelman et al. 2021 (adelman2021) share: which axis a product
// samples, how its pairs are scored, how many are taken, and which products go by one sample. A
// method adds how the sample is drawn.
//
// A product sums over pairs, one for each entry of an axis: the forward product over input
// channels, the data gradient over output channels, the weight gradient over examples (their
// section 7; linear layers are 1x1 convolutions on 1x1 maps). The score of a pair is the product
// of the Euclidean norms of its two slices. Modes, in the paper's order of use:
//   both             the forward product is sampled; both gradients are those of the sampled
//                    product, so the same channels serve all three and no other is kept
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

  // How many pairs of the product the method goes by: k, or all of them where it leaves the product
  // exact. Nothing where the scores decide (`share`).
  std::optional<int64_t> sample_size(const Operands& operands) const;

  // E|err|^2 of a product of matrices, such as that of 1x1 kernels, over the draws of a sample;
  // `exact_square` is |exact product|^2. NaN where there is no closed form: where nothing is drawn,
  // and where the scores decide how many pairs are taken.
  double expected_square(const Operands& operands, double exact_square) const;

  // The parameters `ratio`, `min_k`, `share`, `min_channels` and `mode`.
  static void declare(MethodEntry& entry);

 protected:
  // k of the n entries that `scores` [n] double is about (not negative), k < n. Only `index` and
  // `scale` of the result are taken. Of scores that are no finite number at least one must be among
  // them (uniform_crs, whose scores look at nothing, has none such): a product that is none must
  // not become one because that pair was not drawn. Nothing here may read a score: that would wait
  // for the device in every step.
  virtual Sampled choose(const at::Tensor& scores, int64_t k, const Rng& rng) const = 0;

  // The expected square of `choose` with k pairs (expected_square()); NaN without a closed form.
  virtual double expected_square_of(const at::Tensor& scores, int64_t k, double exact_square) const;

  // How many pairs there are along an axis.
  static int64_t length_of(Axis axis, const Operands& operands);

  // The norms of both slices multiplied, [n] double.
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

// How many pairs the sample of a method that draws has. kDrawn: those that were drawn, each once.
// The device knows how many and the host waits for it. kFixed: so many as follows from k and n, and
// where fewer were drawn, others at scale 0 beside them. Nothing waits, so that steps can be
// captured.
enum class SampleSize { kDrawn, kFixed };

constexpr auto enum_texts(SampleSize) {
  return std::to_array<EnumText<SampleSize>>(
      {{SampleSize::kDrawn, "drawn"}, {SampleSize::kFixed, "fixed"}});
}

// A sampling method in which draws decide how many pairs are taken, too.
class DrawingMethod : public SamplingMethod {
 public:
  explicit DrawingMethod(const Params& params);

  std::string_view waits_for() const final {
    return has_fixed_size_ ? SamplingMethod::waits_for() : "how many pairs its draws take";
  }

  // The parameters of all sampling methods, `mix` and `size`.
  static void declare(MethodEntry& entry);

 protected:
  double mix() const { return mix_; }
  bool has_fixed_size() const { return has_fixed_size_; }

 private:
  const double mix_;
  const bool has_fixed_size_;
};

// Norms of the slices of w that meet each input channel, [Ci] double.
at::Tensor input_channel_norms(const Operands& operands);

}  // namespace approx
