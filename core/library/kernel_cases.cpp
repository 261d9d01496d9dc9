#include "core/library/kernel_cases.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "core/library/captured_call.h"
#include "core/library/cold.h"
#include "core/library/library_errors.h"
#include "core/methods/method.h"
#include "core/nn/kept_before.h"
#include "core/nn/layers.h"
#include "core/train/device.h"
#include "core/train/gpu_monitor.h"
#include "core/train/operand_file.h"
#include "core/train/precision.h"
#include "kernels/dense/cudnn.h"
#include "kernels/kernel.h"
#include "kernels/probe/clock.h"
#include "kernels/traffic.h"

namespace approx {
namespace {

// What the cases of one shape and product compute on.
struct Subject {
  const ConvShape& shape;
  at::Device device;
  std::shared_ptr<GpuMonitor> monitor;  // null: there is none
  Precision precision;
  Operands operands;
  Rng rng;  // that methods draw from
  // As in most networks: where stochastic pruning has work here.
  bool norm_follows = true;
};

// What is held to be right of a plan in double precision: plain loops on a CPU, and LibTorch's
// operators on a GPU, where loops of a large shape would take the minutes that there are. (Tests
// hold both to each other.)
std::string defining_variant(const Plan& plan, const Operands& precise) {
  if (!precise.x.is_cpu()) {
    for (const auto& variant : variants(plan, precise)) {
      if (variant != kCudnn) return variant;
    }
  }
  return std::string(kReference);
}

// What a plan's variants are held to, computed when it is first asked for.
class Definition {
 public:
  Definition(Plan plan, const Operands& operands) : plan_(std::move(plan)), operands_(operands) {}

  // The largest absolute difference of a result, and that relative to the largest magnitude of the
  // definition.
  std::pair<double, double> errors(const at::Tensor& result) {
    if (!result.defined()) return {0.0, 0.0};
    if (!truth_.defined()) compute();
    const double worst = (result.to(at::kDouble) - truth_).abs().max().item<double>();
    return {worst, scale_ > 0 ? worst / scale_ : worst};
  }

 private:
  void compute() {
    Operands precise = operands_;
    for (auto* tensor : {&precise.x, &precise.w, &precise.dy}) *tensor = tensor->to(at::kDouble);
    truth_ = run(plan_, precise, defining_variant(plan_, precise));
    scale_ = truth_.abs().max().item<double>();
  }

  Plan plan_;
  Operands operands_;
  at::Tensor truth_;
  double scale_ = 0;
};

// Recorded operands are planned with the draws of their step, so that a method does here what it
// did there.
Subject recorded_subject(const ConvShape& shape, Product product, const at::Device& device) {
  const auto recorded = load_operands(shape.recorded->path);
  Operands o = recorded.operands;
  for (auto* tensor : {&o.x, &o.w, &o.dy}) *tensor = tensor->to(device);
  o.product = product;
  return {.shape = shape,
          .device = device,
          .monitor = monitor_of(device),
          .precision = Precision::kFp32,  // others are not recorded
          .operands = std::move(o),
          .rng = {.seed = static_cast<uint64_t>(recorded.seed),
                  .layer = draws_number(recorded.layer),
                  .step = static_cast<uint64_t>(recorded.step),
                  .product = product},
          .norm_follows = recorded.layer.norm_follows};
}

Subject subject_of(const ConvShape& shape, Product product, const at::Device& device,
                   Precision precision) {
  if (shape.recorded) return recorded_subject(shape, product, device);
  Operands o = in_precision(bench_operands(shape, product, device), precision);
  return {.shape = shape,
          .device = device,
          .monitor = monitor_of(device),
          .precision = precision,
          .operands = std::move(o),
          .rng = {.seed = 0, .layer = 1, .step = 0, .product = product}};
}

Operands in_layout(Operands o, at::MemoryFormat format) {
  for (auto* tensor : {&o.x, &o.w, &o.dy}) *tensor = tensor->contiguous(format);
  return o;
}

// Errors of LibTorch come out of its functions as ours.
KernelCase base_case(const Subject& subject, const std::string& method) {
  KernelCase kernel;
  kernel.precision = subject.precision;
  if (!subject.device.is_cpu()) {
    kernel.wait = [device = subject.device] {
      with_own_errors([&] { synchronize_device(device); });
    };
  }
  if (subject.monitor != nullptr) {
    kernel.slowed_by = [monitor = subject.monitor] { return monitor->slowed_by(); };
    kernel.clock_mhz = [monitor = subject.monitor] { return monitor->sm_mhz(); };
  } else if (subject.device.is_cpu()) {
    kernel.clock_mhz = [] { return std::optional(1e-6 * core_clock_hz()); };
  }
  kernel.op = name(subject.operands.product);
  kernel.method = method;
  kernel.shape = subject.shape;
  kernel.dense_flops = 2 * static_cast<double>(dense_macs(subject.operands));
  kernel.flops = kernel.dense_flops;
  kernel.bytes = plan_bytes(Dense{}, subject.operands);
  return kernel;
}

std::string chosen_variant(const Plan& plan, const Operands& o) {
  for (const auto& candidate : explain(plan, o)) {
    if (candidate.chosen) return candidate.name;
  }
  return {};
}

// The exact paths at hand. A layer has its operands with the channels last.
std::vector<KernelCase> dense_cases(const Subject& subject) {
  const Operands& o = subject.operands;
  std::vector<KernelCase> cases;
  const auto definition = std::make_shared<Definition>(Dense{}, o);
  const auto add = [&](const std::string& variant, const char* layout, const Operands& operands) {
    auto& kernel = cases.emplace_back(base_case(subject, "dense"));
    kernel.variant = fmt::format("{} {}", variant, layout);
    kernel.run = [variant, operands] { with_own_errors([&] { run(Dense{}, operands, variant); }); };
    kernel.check = [variant, operands, definition] {
      return with_own_errors([&] { return definition->errors(run(Dense{}, operands, variant)); });
    };
    if (variant != kCudnn) return;
    kernel.remark = [operands] {
      return with_own_errors([&] { return text_of(cudnn_choice(operands)); });
    };
  };
  const auto last = in_layout(o, at::MemoryFormat::ChannelsLast);
  const std::string chosen = chosen_variant(Dense{}, last);
  for (const auto& variant : variants(Dense{}, last)) {
    if (variant == kReference) continue;  // there to be agreed with, not timed
    add(variant, "channels last", last);
    cases.back().chosen = variant == chosen;
  }
  add("libtorch", "channels first", in_layout(o, at::MemoryFormat::Contiguous));
  return cases;
}

// A method that has planned a product once.
struct Planned {
  std::shared_ptr<Method> method;  // null where the plan was made by none
  // The forward product's plan, by which its gradients go. Kept as long as the call.
  std::shared_ptr<Plan> forward;
  MethodCall call;
  Operands operands;
  Plan first;

  Plan plan() const { return method ? method->plan(operands, call) : first; }

  // As in a layer: the channels that the weight gradient will want are taken before the forward
  // product.
  at::Tensor result(const Plan& plan, const std::string& variant) const {
    const bool takes =
        operands.product == Product::kForward && method && method->keep() == Method::Keep::kSample;
    if (!takes) return run(plan, operands, variant);
    Operands part = operands;
    part.x = sampled_input(part.x, plan, part.geometry);
    return run(plan, part, variant);
  }
};

// The share of entries that stay, where the text is that of dY pruned at random.
std::optional<double> random_density(const std::string& text) {
  const Spec spec = parse_spec(text);
  if (spec.name != kPrunedAtRandom) return std::nullopt;
  if (spec.arguments.size() == 1 && spec.arguments[0].first == "density") {
    if (const auto density = parse_real(spec.arguments[0].second, 0, 1)) return density;
  }
  throw usage_error("{}: expected {}:density=, from 0 to 1", text, kPrunedAtRandom);
}

Planned planned(const Subject& subject, const std::string& text) {
  const Operands& o = subject.operands;
  const MethodCall call{.rng = subject.rng, .norm_follows = subject.norm_follows};
  if (const auto density = random_density(text)) {
    return {.method = nullptr,
            .forward = nullptr,
            .call = call,
            .operands = o,
            .first = pruned_at_random(o, *density)};
  }
  const auto& entry = Registry<MethodEntry>::instance().find(parse_spec(text).name);
  if (std::find(entry.products.begin(), entry.products.end(), o.product) == entry.products.end()) {
    throw usage_error("{} does not approximate the {}", text, name(o.product));
  }
  Planned planned{.method = make_method(text),
                  .forward = std::make_shared<Plan>(Dense{}),
                  .call = call,
                  .operands = o,
                  .first = Dense{}};
  const auto& all = entry.products_with(Params(entry.params, parse_spec(text)));
  if (o.product != Product::kForward &&
      std::find(all.begin(), all.end(), Product::kForward) != all.end()) {
    Operands before = o;
    before.product = Product::kForward;
    MethodCall call_before = call;
    call_before.rng.product = Product::kForward;
    *planned.forward = planned.method->plan(before, call_before);
    planned.call.forward = planned.forward.get();
    // As a layer keeps it that samples its input.
    if (o.product == Product::kWeightGradient && planned.method->keep() == Method::Keep::kSample &&
        o.x.size(1) == o.input_sizes[1]) {
      planned.operands.x = sampled_input(o.x, *planned.forward, o.geometry);
    }
  }
  planned.first = planned.plan();
  return planned;
}

std::vector<KernelCase> method_cases(const Subject& subject, const std::string& text) {
  const Planned product = planned(subject, text);
  const Operands& o = product.operands;
  const std::string chosen = chosen_variant(product.first, o);
  const auto definition = std::make_shared<Definition>(product.first, o);
  std::vector<KernelCase> cases;
  for (const auto& variant : variants(product.first, o)) {
    if (variant == kReference) continue;
    KernelCase kernel = base_case(subject, text);
    kernel.variant = variant;
    kernel.chosen = variant == chosen;
    kernel.flops = 2 * static_cast<double>(plan_macs(product.first, o));
    kernel.bytes = plan_bytes(product.first, o);
    if (product.method) {
      kernel.plan = [product] { with_own_errors([&] { product.plan(); }); };
      kernel.waits_for = waits_for(*product.method);
    }
    kernel.run = [product, variant] {
      with_own_errors([&] { product.result(product.plan(), variant); });
    };
    kernel.check = [product, variant, definition] {
      return with_own_errors(
          [&] { return definition->errors(product.result(product.first, variant)); });
    };
    cases.push_back(std::move(kernel));
  }
  return cases;
}

KernelChoice choice_of(const Subject& subject, const std::string& method, const Plan& plan,
                       const Operands& o) {
  return {.op = std::string(name(o.product)),
          .method = method,
          .shape = subject.shape,
          .plan = std::string(plan_name(plan)),
          .density = static_cast<double>(plan_macs(plan, o)) / static_cast<double>(dense_macs(o)),
          .candidates = explain(plan, o)};
}

// Adds to the remark of a case why a device is told each of its calls anew; "" where it is not.
void say_launched(KernelCase& kernel, const std::function<std::string()>& why) {
  kernel.remark = [before = kernel.remark, why] {
    std::string text = before ? before() : "";
    if (const std::string reason = why(); !reason.empty()) {
      text += fmt::format("{}launched at each call: {}", text.empty() ? "" : "; ", reason);
    }
    return text;
  };
}

// "resnet20 conv 3", as schedules count layers.
std::string layer_label(const RecordedOperands& recorded) {
  return fmt::format("{} {} {}", recorded.network, recorded.layer.is_conv() ? "conv" : "linear",
                     recorded.layer.index);
}

}  // namespace

Operands bench_operands(const ConvShape& s, Product product, c10::Device device) {
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

void make_captured(std::vector<KernelCase>& cases, const std::shared_ptr<StepRecorder>& recorder) {
  for (auto& kernel : cases) {
    if (!kernel.waits_for.empty()) {
      say_launched(kernel, [what = kernel.waits_for] { return "it waits for " + what; });
      continue;
    }
    const CapturedCall run(recorder, kernel.run);
    kernel.run = [run] { with_own_errors([&] { run(); }); };
    if (kernel.plan) {
      const CapturedCall plan(recorder, kernel.plan);
      kernel.plan = [plan] { with_own_errors([&] { plan(); }); };
    }
    say_launched(kernel, [run] { return run.failure(); });
  }
}

void make_launched(std::vector<KernelCase>& cases, const std::string& why) {
  for (auto& kernel : cases) say_launched(kernel, [why] { return why; });
}

void make_cold(std::vector<KernelCase>& cases, c10::Device device) {
  const auto flush = std::make_shared<CacheFlush>(device);  // one for all
  for (auto& kernel : cases) {
    kernel.cold_ns = [flush, device, run = kernel.run] {
      return with_own_errors([&] { return cold_nanoseconds(device, *flush, run); });
    };
  }
}

Plan pruned_at_random(const Operands& o, double density) {
  if (o.product == Product::kForward) throw usage_error("the forward product has no dY to prune");
  at::manual_seed(1);
  const auto dy = o.dy * at::rand_like(o.dy).lt(density);
  PrunedDY plan{dy, dy.count_nonzero()};
  // (To prepare a case is not timed.)
  const auto entries = static_cast<double>(std::max<int64_t>(1, dy.numel()));
  plan.expected_density = static_cast<double>(plan.kept.item<int64_t>()) / entries;
  return plan;
}

std::vector<ConvShape> recorded_shapes_of(const std::string& folder) {
  std::vector<ConvShape> shapes;
  for (const auto& path : operand_files(folder)) {
    const auto recorded = load_operands(path);
    const LayerInfo& layer = recorded.layer;
    shapes.push_back({.label = layer_label(recorded),
                      .batch = recorded.operands.x.size(0),
                      .in_channels = layer.in_channels,
                      .out_channels = layer.out_channels,
                      .size = layer.in_size,
                      .kernel = layer.kernel,
                      .stride = layer.stride,
                      .padding = layer.padding,
                      .groups = layer.groups,
                      .recorded = OperandOrigin{.path = path,
                                                .run_key = recorded.run_key,
                                                .network = recorded.network,
                                                .method = recorded.method,
                                                .layer = layer.name,
                                                .step = recorded.step,
                                                .epoch = recorded.epoch,
                                                .reads_images = layer.reads_images}});
  }
  return shapes;
}

std::vector<KernelCase> kernel_cases_of(const ConvShape& shape, Product product,
                                        const std::vector<std::string>& methods, c10::Device device,
                                        Precision precision) {
  const Subject subject = subject_of(shape, product, device, precision);
  std::vector<KernelCase> cases = dense_cases(subject);
  for (const auto& text : methods) {
    if (text == "dense") continue;
    for (auto& added : method_cases(subject, text)) {
      cases.push_back(std::move(added));
    }
  }
  return cases;
}

std::vector<KernelChoice> kernel_choices_of(const ConvShape& shape, Product product,
                                            const std::vector<std::string>& methods,
                                            c10::Device device, Precision precision) {
  const Subject subject = subject_of(shape, product, device, precision);
  std::vector<KernelChoice> choices = {choice_of(subject, "dense", Dense{}, subject.operands)};
  for (const auto& text : methods) {
    if (text == "dense") continue;
    const Planned product = planned(subject, text);
    choices.push_back(choice_of(subject, text, product.first, product.operands));
  }
  return choices;
}

}  // namespace approx
