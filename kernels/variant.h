// The variants of each kind of plan. A variant is one file in kernels/<plan>/ that ends in
// REGISTER_KERNEL, and the build finds it. `run` chooses it where it fits and pays; bench-kernel
// and the tests find it too:
//
//   void multiply(const Arguments<SparseDY, float>& args, int64_t begin, int64_t end) { ... }
//
//   REGISTER_KERNEL(SparseDY, "simd", multiply)
//       .computes({Product::kWeightGradient})
//       .on({Hardware::kCpu})
//       .where([](const Problem& p) { return p.one_group(); })
//       .rank(1);
//
// Loops over plain memory include no header of LibTorch. They get operands as Arguments, in the
// precision that they read, channels last. If slices of the result are no good unit of work, the
// function takes a team instead of a range, and distributes its work itself. GPU kernels are
// registered by a line of this kind in a .cu file; their function takes a stream instead of a range
// (kernels/library.h). Tensor expressions are registered likewise, in a file that includes
// LibTorch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/registry.h"
#include "kernels/bfloat16.h"
#include "kernels/float16.h"
#include "kernels/team.h"
#include "products/candidate.h"
#include "products/problem.h"
#include "products/rules.h"

namespace at {
class Tensor;
}

namespace approx {

// The kinds of plans (kernels/plan.h), and the operands as tensors (kernels/operands.h).
struct Dense;
struct Skip;
struct Gaussian;
struct SparseDY;
struct PrunedDY;
struct StructuredDY;
struct Sampled;
struct Pooled;
struct Quantized;
struct Operands;

// The operands in memory. Null where the product has no such operand.
template <typename Real>
struct Arrays {
  Problem problem;
  const Real* x = nullptr;   // [N,H,W,Ci]
  const Real* w = nullptr;   // [Co,Kh,Kw,Ci/groups]
  const Real* dy = nullptr;  // [N,Ho,Wo,Co]
  Real* out = nullptr;       // [N,Ho,Wo,Co], [N,H,W,Ci] or [Co,Kh,Kw,Ci/groups], by product

  // The slice of the result at `index`.
  constexpr Real* slice(int64_t index) const { return out + index * problem.slice_size(); }
};

// A plan and its operands in the form for a loop: specialised in kernels/<plan>/<plan>.h, with
//   static at::Tensor run(const Work<Plan, Real>&, const Plan&, const Operands&)
// It converts the tensors to memory on the device of the work and executes the work. It returns the
// result on the device and in the precision of the operands (kernels/loop_memory.h).
template <typename Plan, typename Real>
struct Arguments;

// Writes slices [begin, end) of the result.
template <typename Plan, typename Real>
using Loop = void (*)(const Arguments<Plan, Real>& args, int64_t begin, int64_t end);

// Writes the whole result, and distributes its work over the team.
template <typename Plan, typename Real>
using Whole = void (*)(const Arguments<Plan, Real>& args, const Team& team);

// Starts kernels that write the whole result, on the current GPU and in `stream` (a cudaStream_t),
// and waits for nothing. The arguments' pointers are to memory of that GPU.
template <typename Plan, typename Real>
using Launch = void (*)(const Arguments<Plan, Real>& args, void* stream);

// One of the three functions.
template <typename Plan, typename Real>
struct Work {
  Loop<Plan, Real> loop = nullptr;
  Whole<Plan, Real> whole = nullptr;
  Launch<Plan, Real> launch = nullptr;

  explicit operator bool() const {
    return loop != nullptr || whole != nullptr || launch != nullptr;
  }
};

template <typename Plan>
using TensorFunction = at::Tensor (*)(const Plan& plan, const Operands& operands);

// The multiplication of a product whose operands are prepared; it may be called many times.
using PreparedProduct = std::function<at::Tensor()>;
template <typename Plan>
using Preparation = PreparedProduct (*)(const Plan& plan, const Operands& operands);

template <typename Plan>
struct Variant {
  static constexpr const char* kWhat = "kernel";
  using Rule = bool (*)(const Problem&);

  std::string name;

  // These functions are chained onto REGISTER_KERNEL. A missing one means no limit.
  Variant& computes(std::initializer_list<Product> list) { return products_ = list, *this; }
  Variant& on(std::initializer_list<Hardware> list) { return devices_ = list, *this; }
  Variant& reads(std::initializer_list<ElementType> list) { return elements_ = list, *this; }
  Variant& lies(std::initializer_list<MapLayout> list) { return layouts_ = list, *this; }
  Variant& where(Rule rule) { return fits_ = rule, *this; }
  // A rule that depends only on the problem, so that equal runs take equal paths. A rule between
  // exact variants may also depend on the width of the machine's vectors (kernels/probe/lanes.h).
  // Rules are measured, not guessed.
  Variant& pays(Rule rule) { return pays_ = rule, *this; }
  // The rule of an approximated variant: rows of the table in use (products/rules.h) say where it
  // pays. Elsewhere `rival` is used; tune-kernels measures against it.
  Variant& ruled_against(std::string rival, Pays pays = Pays::kBelow) {
    rival_ = std::move(rival);
    rule_pays_ = pays;
    return *this;
  }
  // For a rule that needs a density from a GPU: the host waits for that of the previous step.
  Variant& waits_for_density() { return waits_for_density_ = true, *this; }
  // The two parts of a tensor function that first makes another operand from dY.
  Variant& in_two_parts(Preparation<Plan> prepare) { return preparation = prepare, *this; }
  // The variant of least rank is chosen among those that fit and pay: the fastest first.
  Variant& rank(int rank) { return rank_ = rank, *this; }
  // For variants that were slower everywhere we measured: used only when asked for by name.
  Variant& trial() { return is_trial_ = true, *this; }
  // The definition in plain loops, with which the others must agree. It is used only when asked for
  // by name.
  Variant& definition() { return is_definition_ = true, *this; }

  Limit limit(const Problem& p) const {
    if (!allows(products_, p.product)) return Limit::kProduct;
    if (!allows(devices_, p.device)) return Limit::kDevice;
    if (!allows(elements_, p.element)) return Limit::kPrecision;
    if (!allows(layouts_, p.layout)) return Limit::kLayout;
    return fits_ == nullptr || fits_(p) ? Limit::kNone : Limit::kShape;
  }
  bool fits(const Problem& p) const { return limit(p) == Limit::kNone; }
  bool worth(const Problem& p) const {
    return !is_definition_ && !is_trial_ && fits(p) && does_pay(p);
  }
  // The variant as a candidate for the problem.
  VariantCandidate candidate(const Problem& p) const {
    return {.name = name,
            .limit = limit(p),
            .has_rule = pays_ != nullptr || is_ruled() || is_trial_,
            .pays = !is_trial_ && does_pay(p),
            .is_definition = is_definition_};
  }
  // Whether the table in use decides where it pays.
  bool is_ruled() const { return !rival_.empty(); }
  bool does_wait_for_density() const { return waits_for_density_; }
  // The catalogue's entry for a variant with a rule, at one product.
  RuledVariant ruled(std::string_view plan, Product product) const {
    return {.name = name,
            .plan = std::string(plan),
            .rival = rival_,
            .product = product,
            .pays = rule_pays_,
            .on_cpu = allows(devices_, Hardware::kCpu)};
  }
  bool does_compute(Product product) const { return allows(products_, product); }
  bool before(const Variant& other) const {
    if (is_definition_ != other.is_definition_) return other.is_definition_;
    return rank_ != other.rank_ ? rank_ < other.rank_ : name < other.name;
  }

  // The implementation: a tensor function, or work on plain memory with the function that executes
  // it.
  TensorFunction<Plan> tensors = nullptr;
  Preparation<Plan> preparation = nullptr;
  template <typename Real>
  struct WorkOnTensors {
    Work<Plan, Real> work;
    at::Tensor (*run)(const Work<Plan, Real>& work, const Plan& plan,
                      const Operands& operands) = nullptr;
  };
  // One of both is set; operands of other precisions are converted to float and double. Variants
  // that compute in 16 bits take only operands of 16 bits.
  WorkOnTensors<float> floats;
  WorkOnTensors<double> doubles;
  WorkOnTensors<BFloat16> bfloats;
  WorkOnTensors<Float16> halves;

  template <typename Real>
  WorkOnTensors<Real>& on_memory() {
    if constexpr (std::is_same_v<Real, float>) {
      return floats;
    } else if constexpr (std::is_same_v<Real, double>) {
      return doubles;
    } else if constexpr (std::is_same_v<Real, BFloat16>) {
      return bfloats;
    } else {
      static_assert(std::is_same_v<Real, Float16>);
      return halves;
    }
  }

 private:
  template <typename Kind>
  static bool allows(const std::vector<Kind>& list, Kind kind) {
    return list.empty() || std::find(list.begin(), list.end(), kind) != list.end();
  }
  bool does_pay(const Problem& p) const {
    return (pays_ == nullptr || pays_(p)) && (!is_ruled() || rule_pays(name, p));
  }

  std::vector<Product> products_;
  std::vector<Hardware> devices_;
  std::vector<ElementType> elements_;
  std::vector<MapLayout> layouts_;
  Rule fits_ = nullptr, pays_ = nullptr;
  std::string rival_;  // "": no rule from the table
  Pays rule_pays_ = Pays::kBelow;
  bool waits_for_density_ = false;
  int rank_ = 0;
  bool is_definition_ = false, is_trial_ = false;
};

// The variant for a problem; null where none fits.
template <typename Plan>
const Variant<Plan>* choose(const Problem& problem) {
  const Variant<Plan>* best = nullptr;
  for (const auto& candidate : Registry<Variant<Plan>>::instance().entries()) {
    if (best != nullptr && !candidate.before(*best)) continue;
    if (candidate.worth(problem)) best = &candidate;
  }
  return best;
}

template <typename Plan>
Variant<Plan>& register_kernel(std::string name, TensorFunction<Plan> function) {
  auto& variant = Registry<Variant<Plan>>::instance().add(std::move(name));
  variant.tensors = function;
  return variant;
}

template <typename Plan, typename Real>
Variant<Plan>& register_work(std::string name, const Work<Plan, Real>& work) {
  auto& variant = Registry<Variant<Plan>>::instance().add(std::move(name));
  auto& held = variant.template on_memory<Real>();
  held.work = work;
  held.run = &Arguments<Plan, Real>::run;
  if constexpr (std::is_same_v<Real, BFloat16>) variant.reads({ElementType::kBFloat16});
  if constexpr (std::is_same_v<Real, Float16>) variant.reads({ElementType::kHalf});
  // GPU kernels compute only on a GPU.
  return work.launch != nullptr ? variant.on({Hardware::kCuda}) : variant;
}

template <typename Plan>
Variant<Plan>& register_kernel(std::string name, Loop<Plan, float> loop) {
  return register_work<Plan, float>(std::move(name), {loop, nullptr, nullptr});
}
template <typename Plan>
Variant<Plan>& register_kernel(std::string name, Loop<Plan, double> loop) {
  return register_work<Plan, double>(std::move(name), {loop, nullptr, nullptr});
}
template <typename Plan>
Variant<Plan>& register_kernel(std::string name, Whole<Plan, float> whole) {
  return register_work<Plan, float>(std::move(name), {nullptr, whole, nullptr});
}
template <typename Plan>
Variant<Plan>& register_kernel(std::string name, Whole<Plan, BFloat16> whole) {
  return register_work<Plan, BFloat16>(std::move(name), {nullptr, whole, nullptr});
}
template <typename Plan, typename Real>
Variant<Plan>& register_kernel(std::string name, Launch<Plan, Real> launch) {
  return register_work<Plan, Real>(std::move(name), {nullptr, nullptr, launch});
}

}  // namespace approx

#define REGISTER_KERNEL(PLAN, NAME, FUNCTION)                                       \
  [[maybe_unused]] static ::approx::Variant<PLAN>& APPROX_UNIQUE(kernel_variant_) = \
      ::approx::register_kernel<PLAN>(NAME, FUNCTION)
