#include "kernels/traffic.h"

#include <algorithm>

#include "kernels/kernel.h"

namespace approx {
namespace {

// Of the operands and the result, in full.
struct Sizes {
  explicit Sizes(const Operands& o) {
    const Problem p = problem_of(o);
    const auto number = static_cast<double>(o.w.element_size());
    x = number * static_cast<double>(p.n * p.ci * p.h * p.w);
    w = number * static_cast<double>(p.co * p.group_inputs() * p.kh * p.kw);
    dy = number * static_cast<double>(p.n * p.co * p.ho * p.wo);
    patch = number * static_cast<double>(p.group_inputs() * p.kh * p.kw);
  }

  double x, w, dy;
  double patch;  // what one entry of dY meets of x or of w
};

double result_bytes(const Sizes& all, Product product) {
  if (product == Product::kForward) return all.dy;
  return product == Product::kDataGradient ? all.x : all.w;
}

double exact_bytes(const Sizes& all) { return all.x + all.w + all.dy; }

// With `entries` of dY, each of which meets a patch of the other operand.
double entries_bytes(const Operands& o, double entries) {
  const Sizes all(o);
  const double other = o.product == Product::kDataGradient ? all.w : all.x;
  return all.dy + std::min(other, entries * all.patch) + result_bytes(all, o.product);
}

double bytes_of(const Dense& /*plan*/, const Operands& o) { return exact_bytes(Sizes(o)); }

double bytes_of(const Skip& plan, const Operands& o) {
  return plan.freeze ? 0 : result_bytes(Sizes(o), o.product);
}

double bytes_of(const Gaussian& /*plan*/, const Operands& o) {
  return result_bytes(Sizes(o), o.product);
}

// All of both operands is read, if only to be summed.
double bytes_of(const Pooled& /*plan*/, const Operands& o) { return exact_bytes(Sizes(o)); }

// Operands are read in their own precision.
double bytes_of(const Quantized& /*plan*/, const Operands& o) { return exact_bytes(Sizes(o)); }

template <typename OfEntries>
double bytes_of(const OfEntries& plan, const Operands& o) {
  const auto macs = static_cast<double>(plan_macs(plan, o));
  return entries_bytes(o, macs / static_cast<double>(std::max<int64_t>(macs_per_output(o), 1)));
}

double bytes_of(const Sampled& plan, const Operands& o) {
  const Sizes all(o);
  const double share = PlanTraits<Sampled>::density(plan, problem_of(o));
  const bool of_x = plan.axis != Axis::kOutputChannels, of_w = plan.axis != Axis::kExamples,
             of_dy = plan.axis != Axis::kInputChannels;
  // The result is whole, with zeros where nothing is.
  const auto read = [&](double bytes, bool is_part, bool is_result) {
    return is_part && !is_result ? share * bytes : bytes;
  };
  return read(all.x, of_x, o.product == Product::kDataGradient) +
         read(all.w, of_w, o.product == Product::kWeightGradient) +
         read(all.dy, of_dy, o.product == Product::kForward);
}

}  // namespace

double plan_bytes(const Plan& plan, const Operands& operands) {
  return std::visit([&](const auto& kind) { return bytes_of(kind, operands); }, plan);
}

}  // namespace approx
