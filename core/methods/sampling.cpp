#include "core/methods/sampling.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

// The axis of the pairs that a product sums over.
Axis sampled_axis(Product product) {
  return product == Product::kForward        ? Axis::kInputChannels
         : product == Product::kDataGradient ? Axis::kOutputChannels
                                             : Axis::kExamples;
}

}  // namespace

SamplingMethod::SamplingMethod(const Params& params)
    : mode_(params.choice<Mode>(MethodEntry::kMode)),
      ratio_(params.real("ratio")),
      share_(params.real("share")),
      min_k_(params.integer("min_k")),
      min_channels_(params.integer(MethodEntry::kMinChannels)) {}

void SamplingMethod::declare(MethodEntry& entry) {
  entry.approximates({Product::kForward, Product::kDataGradient, Product::kWeightGradient})
      .param({"ratio", 0.5, "share of the pairs that is taken: k = floor(ratio * n)", 0, 1})
      .param({"min_k", int64_t{1}, "at least so many pairs; all of n where n is not larger", 1})
      .param({"share", 0.0,
              "take the fewest pairs (from min_k) whose scores make up this share of "
              "all; 0: go by ratio",
              0, 1})
      .param(
          {MethodEntry::kMinChannels, int64_t{0}, "layers with fewer input channels are exact", 0})
      .modes({{"both", {Product::kForward, Product::kDataGradient, Product::kWeightGradient}},
              {"backward", {Product::kDataGradient, Product::kWeightGradient}},
              {"weight_gradient", {Product::kWeightGradient}},
              {"black_box", {Product::kForward}}},
             "which products are approximated, by which samples");
}

DrawingMethod::DrawingMethod(const Params& params)
    : SamplingMethod(params),
      mix_(params.real("mix")),
      has_fixed_size_(params.choice<SampleSize>("size") == SampleSize::kFixed) {}

void DrawingMethod::declare(MethodEntry& entry) {
  entry.with(SamplingMethod::declare)
      .param({"mix", 0.0, "share of the uniform distribution in the probabilities", 0, 1})
      .param({.name = "size",
              .fallback = std::string(name(SampleSize::kDrawn)),
              .help =
                  "how many pairs are computed: those that were drawn, for which a GPU is waited "
                  "for, or a fixed number, some of them at scale 0",
              .choices = names_of_enum<SampleSize>(),
              .added_later = true});
}

at::Tensor DrawingMethod::shares(const at::Tensor& scores) const {
  const auto total = scores.sum();
  const auto even = at::full_like(scores, 1.0 / static_cast<double>(scores.numel()));
  return at::where(total > 0, scores / total, even) * (1 - mix_) + even * mix_;
}

Plan SamplingMethod::plan(const Operands& o, const MethodCall& call) {
  if (mode_ == Mode::kBoth && o.product != Product::kForward) {
    if (call.forward == nullptr) {
      throw Error(ErrorKind::kInternal,
                  "under mode=both a gradient goes by the sample of its forward product");
    }
    return *call.forward;
  }
  if (is_exact(o)) return Dense{};
  const Axis axis = sampled_axis(o.product);
  const auto of_pairs = scores(o, axis);
  const int64_t length = of_pairs.numel(), k = sample_size(length, of_pairs);
  if (k >= length) return Dense{};
  Sampled sample = choose(of_pairs, k, call.rng);
  sample.axis = axis;
  return sample;
}

int64_t SamplingMethod::length_of(Axis axis, const Operands& o) {
  return axis == Axis::kInputChannels    ? o.input_sizes[1]
         : axis == Axis::kOutputChannels ? o.w.size(0)
                                         : o.input_sizes[0];
}

bool SamplingMethod::is_exact(const Operands& o) const { return o.input_sizes[1] < min_channels_; }

int64_t SamplingMethod::sample_size(int64_t length) const {
  const auto k = static_cast<int64_t>(std::floor(static_cast<double>(length) * ratio_));
  return std::min(std::max(k, min_k_), length);
}

int64_t SamplingMethod::sample_size(int64_t length, const at::Tensor& scores) const {
  if (share_ <= 0) return sample_size(length);
  const auto sorted = std::get<0>(scores.sort(0, /*descending=*/true)).cumsum(0);
  const double wanted = share_ * scores.sum().item<double>();
  const int64_t k = (sorted < wanted).sum().item<int64_t>() + 1;
  return std::min(std::max(k, min_k_), length);
}

std::optional<int64_t> SamplingMethod::sample_size(const Operands& o) const {
  const int64_t length = length_of(sampled_axis(o.product), o);
  if (is_exact(o)) return length;
  return share_ > 0 ? std::nullopt : std::optional(sample_size(length));
}

double SamplingMethod::expected_square(const Operands& o, double exact_square) const {
  const auto k = sample_size(o);
  if (!k) return NAN;
  const Axis axis = sampled_axis(o.product);
  return *k == length_of(axis, o) ? 0 : expected_square_of(scores(o, axis), *k, exact_square);
}

double SamplingMethod::expected_square_of(const at::Tensor& /*scores*/, int64_t /*k*/,
                                          double /*exact_square*/) const {
  return NAN;
}

at::Tensor SamplingMethod::scores(const Operands& o, Axis axis) const {
  switch (axis) {
    case Axis::kInputChannels:
      return slice_norms(o.x, 1) * input_channel_norms(o);
    case Axis::kOutputChannels:
      return slice_norms(o.dy, 1) * slice_norms(o.w, 0);
    case Axis::kExamples:
      return slice_norms(o.x, 0) * slice_norms(o.dy, 0);
  }
  return {};
}

at::Tensor input_channel_norms(const Operands& o) {
  const int64_t groups = o.geometry.groups;
  if (groups == 1) return slice_norms(o.w, 1);
  // [groups, Co/groups, Ci/groups, Kh*Kw]
  const auto w = o.w.reshape({groups, o.w.size(0) / groups, o.w.size(1), -1});
  return at::linalg_vector_norm(w, 2, {1, 3}, /*keepdim=*/false, at::kDouble).flatten();
}

}  // namespace approx
