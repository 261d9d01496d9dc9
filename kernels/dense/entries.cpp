// The exact gradients of a dY that holds many zeros by itself, as behind a ReLU or a pooling with
// no norm before it, by its entries alone: the kernels of a pruned dY, where they pay at the share
// that a sample of it shows. So the exact training gains by zeros too, and that gain is not taken
// for what pruning gains.
#include <ATen/ops/scalar_tensor.h>

#include <cmath>

#include "kernels/kernel.h"
#include "kernels/variant.h"

namespace approx {
namespace {

// The first in rank of those that go by entries, whether it pays or not: those with loops of their
// own. Null where none fits.
const Variant<PrunedDY>* by_entries(const Problem& problem) {
  const Variant<PrunedDY>* first = nullptr;
  for (const auto& variant : Registry<Variant<PrunedDY>>::instance().entries()) {
    const auto candidate = variant.candidate(problem);
    if (!candidate.fits() || candidate.is_definition || variant.tensors != nullptr) continue;
    if (first == nullptr || variant.before(*first)) first = &variant;
  }
  return first;
}

bool holds_zeros(const Problem& p) { return p.density < 1 && by_entries(p) != nullptr; }

// A sample is off, and at the bound of a rule nothing is gained: half as many entries again must
// still pay.
constexpr double kMargin = 1.5;

bool entries_pay(const Problem& p) {
  if (!holds_zeros(p)) return false;
  Problem fuller = p;
  fuller.density *= kMargin;
  return by_entries(p)->worth(fuller);
}

// A zero adds nothing to a sum here, be it multiplied by an infinity or a NaN: those are in the
// layer's output and in the loss already.
at::Tensor product_of_entries(const Dense& plan, const Operands& o) {
  const double density = PlanTraits<Dense>::density(plan, o);
  const auto kept = std::llround(density * static_cast<double>(o.dy.numel()));
  return run(PrunedDY{.dy = o.dy, .kept = at::scalar_tensor(kept, at::kLong)}, o,
             by_entries(problem_of(o))->name);
}

REGISTER_KERNEL(Dense, "entries", product_of_entries)
    .computes({Product::kDataGradient, Product::kWeightGradient})
    .on({Hardware::kCpu})
    .reads({ElementType::kFloat, ElementType::kBFloat16})
    .lies({MapLayout::kChannelsLast})
    .where(holds_zeros)
    .pays(entries_pay)
    .rank(0);

}  // namespace
}  // namespace approx
