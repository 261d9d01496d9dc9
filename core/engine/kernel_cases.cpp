#include "core/engine/kernel_cases.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <tuple>

#include "base/error.h"
#include "core/methods/method.h"
#include "core/train/device.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

// As in most networks: where stochastic pruning has work here.
constexpr bool kBeforeNorm = true;

// Largest absolute difference from the definition in double precision, and that relative to the
// largest magnitude of the definition.
std::pair<double, double> errors(const Plan& plan, const Operands& operands,
                                 const std::string& variant) {
  const auto result = run(plan, operands, variant);
  if (!result.defined()) return {0.0, 0.0};
  Operands precise = operands;
  for (auto* tensor : {&precise.x, &precise.w, &precise.dy}) *tensor = tensor->to(at::kDouble);
  const auto truth = run(plan, precise, kReference);
  const double worst = (result.to(at::kDouble) - truth).abs().max().item<double>();
  const double scale = truth.abs().max().item<double>();
  return {worst, scale > 0 ? worst / scale : worst};
}

Operands random_operands(const ConvShape& s, Product product, const at::Device& device) {
  const int64_t out = output_size(s.size, s.kernel, s.stride, s.padding);
  if (out < 1) {
    throw usage_error("shape {}: a {}x{} kernel does not fit a padded {}x{} image", s.label,
                      s.kernel, s.kernel, s.size, s.size);
  }
  if (s.groups < 1 || s.in_channels % s.groups != 0 || s.out_channels % s.groups != 0) {
    throw usage_error("shape {}: {} groups do not divide {} and {} channels", s.label, s.groups,
                      s.in_channels, s.out_channels);
  }
  at::manual_seed(0);
  const auto draw = [&](at::IntArrayRef sizes) {
    return at::randn(sizes).to(device).contiguous(at::MemoryFormat::ChannelsLast);
  };
  Operands o;
  o.x = draw({s.batch, s.in_channels, s.size, s.size});
  o.w = draw({s.out_channels, s.in_channels / s.groups, s.kernel, s.kernel});
  o.dy = draw({s.batch, s.out_channels, out, out});
  o.geometry = {s.stride, s.padding, 1, s.groups};
  o.product = product;
  o.input_sizes = o.x.sizes().vec();
  return o;
}

Operands in_layout(Operands o, at::MemoryFormat format) {
  for (auto* tensor : {&o.x, &o.w, &o.dy}) *tensor = tensor->contiguous(format);
  return o;
}

// A median of five: enough to tell which of two exact paths is the faster one.
double quick_time(const std::function<void()>& run) {
  std::vector<double> seconds;
  run();
  for (int i = 0; i < 5; ++i) {
    const auto before = std::chrono::steady_clock::now();
    run();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[2];
}

KernelCase base_case(const ConvShape& shape, const Operands& o, const std::string& method) {
  KernelCase kernel;
  kernel.op = name(o.product);
  kernel.method = method;
  kernel.shape = shape;
  kernel.dense_flops = 2 * static_cast<double>(dense_macs(o));
  kernel.flops = kernel.dense_flops;
  return kernel;
}

// The fastest of the exact paths at hand: LibTorch with the channels last or first, and ours.
KernelCase dense_case(const ConvShape& shape, const Operands& o, at::Device device) {
  KernelCase best = base_case(shape, o, "dense");
  double best_time = 0;
  std::vector<std::tuple<std::string, std::string, Operands>> ways;
  for (const auto& variant : variants(Dense{}, o)) {
    if (variant == kReference) continue;
    ways.emplace_back(variant + " channels last", variant,
                      in_layout(o, at::MemoryFormat::ChannelsLast));
  }
  ways.emplace_back("libtorch channels first", "libtorch",
                    in_layout(o, at::MemoryFormat::Contiguous));
  for (const auto& [label, variant, operands] : ways) {
    std::function<void()> once = [variant = variant, operands = operands, device] {
      const auto result = run(Dense{}, operands, variant);
      synchronize_device(device);
    };
    const double time = quick_time(once);
    if (!best.run || time < best_time) {
      best.variant = label;
      best.run = std::move(once);
      best_time = time;
      best.check = [variant = variant, operands = operands] {
        return errors(Dense{}, operands, variant);
      };
    }
  }
  return best;
}

std::vector<KernelCase> method_cases(const ConvShape& shape, Operands o, const std::string& text,
                                     at::Device device) {
  const auto& entry = Registry<MethodEntry>::instance().find(parse_spec(text).name);
  if (std::find(entry.products.begin(), entry.products.end(), o.product) == entry.products.end()) {
    throw usage_error("{} does not approximate the {}", text, name(o.product));
  }
  const std::shared_ptr<Method> method = make_method(text);
  const Rng rng{.seed = 0, .layer = 1, .step = 0, .product = o.product};
  // The forward product's plan, by which its gradients go. Kept as long as the call.
  const auto forward = std::make_shared<Plan>(Dense{});
  MethodCall call(rng, kBeforeNorm);
  const auto& all = entry.products_with(Params(entry.params, parse_spec(text)));
  if (o.product != Product::kForward &&
      std::find(all.begin(), all.end(), Product::kForward) != all.end()) {
    Operands before = random_operands(shape, Product::kForward, device);
    *forward = method->plan(before, call);
    call.forward = forward.get();
  }
  const Plan first = method->plan(o, call);
  std::vector<KernelCase> cases;
  for (const auto& variant : variants(first, o)) {
    if (variant == kReference) continue;  // there to be agreed with, not timed
    KernelCase kernel = base_case(shape, o, text);
    kernel.variant = variant;
    kernel.flops = 2 * static_cast<double>(plan_macs(first, o));
    kernel.plan = [method, forward, call, o, device] {
      const auto plan = method->plan(o, call);
      synchronize_device(device);
    };
    kernel.run = [method, forward, call, o, variant, device] {
      const auto result = run(method->plan(o, call), o, variant);
      synchronize_device(device);
    };
    kernel.check = [method, forward, call, o, variant] {
      return errors(method->plan(o, call), o, variant);
    };
    cases.push_back(std::move(kernel));
  }
  return cases;
}

}  // namespace

std::vector<KernelCase> kernel_cases_of(const ConvShape& shape, Product product,
                                        const std::vector<std::string>& methods,
                                        c10::Device device) {
  const auto operands = random_operands(shape, product, device);
  std::vector<KernelCase> cases = {dense_case(shape, operands, device)};
  for (const auto& text : methods) {
    if (text == "dense") continue;
    for (auto& added : method_cases(shape, operands, text, device)) {
      cases.push_back(std::move(added));
    }
  }
  return cases;
}

}  // namespace approx
