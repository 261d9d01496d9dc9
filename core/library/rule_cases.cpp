#include "core/library/rule_cases.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "core/library/kernel_cases.h"
#include "core/library/library_errors.h"
#include "core/train/device.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

// At least one of `all`.
int64_t share_of(int64_t all, double share) {
  return std::max<int64_t>(1, std::llround(share * static_cast<double>(all)));
}

// Random plans that keep about that share of each plane of dY, or of the input channels.
Plan positions_at_random(const Operands& o, double density) {
  const int64_t plane = o.dy.size(2) * o.dy.size(3);
  const auto k = share_of(plane, density);
  const auto position = at::rand({o.dy.size(0), o.dy.size(1), plane})
                            .argsort(-1, /*descending=*/false)
                            .narrow(-1, 0, k);
  return SparseDY::from_topk(position, o.dy.flatten(2).gather(-1, position));
}

Plan channels_at_random(const Operands& o, double density) {
  const int64_t channels = o.input_sizes[1];
  const auto index = at::randperm(channels).narrow(0, 0, share_of(channels, density));
  return Sampled{.axis = Axis::kInputChannels, .index = std::get<0>(index.sort()), .scale = {}};
}

Plan plan_of(const RuledVariant& variant, const Operands& o, double density) {
  if (variant.plan == PlanTraits<PrunedDY>::kName) return pruned_at_random(o, density);
  if (variant.plan == PlanTraits<SparseDY>::kName) return positions_at_random(o, density);
  if (variant.plan == PlanTraits<Sampled>::kName) return channels_at_random(o, density);
  throw Error(ErrorKind::kInternal,
              fmt::format("rule of {}: no random plan of the kind {}", variant.name, variant.plan));
}

// A product of random operands under a random plan.
struct RandomProduct {
  Plan plan;
  Operands operands;
};

// In the first precision in which the variant takes it; nothing where it takes it in none.
std::optional<RandomProduct> random_product(const ConvShape& shape, const RuledVariant& variant,
                                            double density, c10::Device device) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    Operands o = bench_operands(shape, variant.product, device);
    for (auto* tensor : {&o.x, &o.w, &o.dy}) {
      if (tensor->defined()) *tensor = tensor->to(type);
    }
    const Plan plan = plan_of(variant, o, density);
    // As a layer keeps it that samples its input.
    if (o.product != Product::kDataGradient) o.x = sampled_input(o.x, plan, o.geometry);
    const auto fitting = variants(plan, o);
    const auto fits = [&](const std::string& name) {
      return std::find(fitting.begin(), fitting.end(), name) != fitting.end();
    };
    if (fits(variant.name) && fits(variant.rival)) return RandomProduct{plan, std::move(o)};
  }
  return std::nullopt;
}

}  // namespace

std::vector<KernelCase> rule_cases_of(const ConvShape& shape, const RuledVariant& variant,
                                      double density, c10::Device device) {
  const auto product = random_product(shape, variant, density, device);
  if (!product) return {};
  std::vector<KernelCase> cases;
  for (const auto& name : {variant.name, variant.rival}) {
    KernelCase& kernel = cases.emplace_back();
    kernel.op = approx::name(variant.product);
    kernel.variant = name;
    kernel.shape = shape;
    kernel.run = [of = *product, name] {
      with_own_errors([&] { run(of.plan, of.operands, name); });
    };
    if (!device.is_cpu()) kernel.wait = [device] { synchronize_device(device); };
  }
  return cases;
}

}  // namespace approx
