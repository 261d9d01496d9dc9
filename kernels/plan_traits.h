// Properties of each kind of plan besides its computation. A new kind (kernels/plan.h) adds its own
// here; no other code asks for the kind of a plan.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {

// The dY that a gradient is computed with, if it is not the operand's own.
struct PrunedGradient {
  bool replaces = false;  // whether it replaces the operand's dY
  // Contains all of its nonzero entries; undefined where they are not written out.
  at::Tensor values;
  // Number of kept entries, including those that happen to be zero. Where `on_device` is defined,
  // the number is there, [] int64 on the device; reading it waits for the device.
  int64_t kept = 0;
  at::Tensor on_device;
};

// Multiply-accumulates per entry of dY, or of the result of the forward product.
inline int64_t macs_per_output(const Operands& o) {
  return o.w.size(1) * o.w.size(2) * o.w.size(3);
}

// Multiply-accumulates of the exact product. All three products have equally many.
int64_t dense_macs(const Operands& operands);

template <typename Kind>
struct PlanTraits;
// Members of a specialisation:
//   static constexpr std::string_view kName
//   static int64_t macs(const Kind&, const Operands&): multiply-accumulates that the plan needs
//   static PrunedGradient pruned(const Kind&, const Operands&)
//   static at::Tensor gradient(const Kind&, const at::Tensor& dy): the full dY that it uses;
//     undefined where there is none
//   static double density(const Kind&, const Problem&), or (const Kind&, const Operands&): see
//     Problem; left out where unknown
//   static int64_t group(const Kind&): see Problem; left out where the plan does not choose among
//     neighbours

// Traits of a plan that uses dY unchanged.
struct LeavesGradient {
  template <typename Kind>
  static PrunedGradient pruned(const Kind& /*plan*/, const Operands& /*operands*/) {
    return {};
  }
};

template <>
struct PlanTraits<Dense> : LeavesGradient {
  static constexpr std::string_view kName = "Dense";
  static int64_t macs(const Dense& /*plan*/, const Operands& o) { return dense_macs(o); }
  static at::Tensor gradient(const Dense& /*plan*/, const at::Tensor& dy) { return dy; }
  static double density(const Dense& /*plan*/, const Operands& o) {
    return o.product == Product::kForward ? 1 : density_by_sample(o.dy);
  }
};

// Traits of plans that multiply nothing and read no dY.
struct ComputesNothing : LeavesGradient {
  template <typename Kind>
  static int64_t macs(const Kind& /*plan*/, const Operands& /*operands*/) {
    return 0;
  }
  template <typename Kind>
  static at::Tensor gradient(const Kind& /*plan*/, const at::Tensor& /*dy*/) {
    return {};
  }
};

template <>
struct PlanTraits<Skip> : ComputesNothing {
  static constexpr std::string_view kName = "Skip";
};

template <>
struct PlanTraits<Gaussian> : ComputesNothing {
  static constexpr std::string_view kName = "Gaussian";
};

template <>
struct PlanTraits<SparseDY> {
  static constexpr std::string_view kName = "SparseDY";
  static int64_t macs(const SparseDY& plan, const Operands& o) {
    return plan.value.numel() * macs_per_output(o);
  }
  static double density(const SparseDY& plan, const Problem& p) {
    const int64_t all = p.n * p.co * p.ho * p.wo;
    return all == 0 ? 1 : static_cast<double>(plan.value.numel()) / static_cast<double>(all);
  }
  static PrunedGradient pruned(const SparseDY& plan, const Operands& /*operands*/) {
    return {.replaces = true, .values = plan.value, .kept = plan.value.numel(), .on_device = {}};
  }
  static at::Tensor gradient(const SparseDY& plan, const at::Tensor& dy) {
    return plan.densified(dy);
  }
};

template <>
struct PlanTraits<PrunedDY> {
  static constexpr std::string_view kName = "PrunedDY";
  static int64_t macs(const PrunedDY& plan, const Operands& o) {
    return plan.kept.item<int64_t>() * macs_per_output(o);
  }
  static PrunedGradient pruned(const PrunedDY& plan, const Operands& /*operands*/) {
    return {.replaces = true, .values = plan.dy, .kept = 0, .on_device = plan.kept};
  }
  static at::Tensor gradient(const PrunedDY& plan, const at::Tensor& /*dy*/) { return plan.dy; }
  static double density(const PrunedDY& plan, const Problem& /*problem*/) {
    if (plan.dy.numel() == 0) return 1;
    if (!plan.kept.is_cpu()) return plan.expected_density;
    const auto kept = static_cast<double>(*plan.kept.const_data_ptr<int64_t>());
    return kept / static_cast<double>(plan.dy.numel());
  }
};

template <>
struct PlanTraits<StructuredDY> {
  static constexpr std::string_view kName = "StructuredDY";
  static int64_t macs(const StructuredDY& plan, const Operands& o) {
    return pruned(plan, o).kept * macs_per_output(o);
  }
  static PrunedGradient pruned(const StructuredDY& plan, const Operands& o);
  static double density(const StructuredDY& plan, const Problem& p) {
    return p.co == 0 ? 1 : static_cast<double>(plan.choice.kept(p.co)) / static_cast<double>(p.co);
  }
  static int64_t group(const StructuredDY& plan) { return plan.choice.m; }
  static at::Tensor gradient(const StructuredDY& plan, const at::Tensor& dy);
};

template <>
struct PlanTraits<Sampled> {
  static constexpr std::string_view kName = "Sampled";
  static int64_t macs(const Sampled& plan, const Operands& o);
  static double density(const Sampled& plan, const Problem& p);
  // Only a sample of the output channels changes dY.
  static PrunedGradient pruned(const Sampled& plan, const Operands& o);
  static at::Tensor gradient(const Sampled& plan, const at::Tensor& dy);
};

template <>
struct PlanTraits<Pooled> {
  static constexpr std::string_view kName = "Pooled";
  // The sums that make the smaller operands have no multiplications.
  static int64_t macs(const Pooled& plan, const Operands& o);
  // One entry stays for each patch and channel.
  static PrunedGradient pruned(const Pooled& plan, const Operands& o);
  static at::Tensor gradient(const Pooled& plan, const at::Tensor& dy);
};

template <>
struct PlanTraits<Quantized> : LeavesGradient {
  static constexpr std::string_view kName = "Quantized";
  // All multiplications of the exact product stay, with shorter numbers.
  static int64_t macs(const Quantized& /*plan*/, const Operands& o) { return dense_macs(o); }
  static at::Tensor gradient(const Quantized& plan, const at::Tensor& dy);
};

}  // namespace approx
