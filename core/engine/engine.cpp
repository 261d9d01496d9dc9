#include "core/engine/engine.h"

#include <ATen/ATen.h>

#include <chrono>
#include <cmath>
#include <optional>

#include "core/engine/library_catalogue.h"
#include "core/engine/out_of_memory.h"
#include "core/methods/method.h"
#include "core/networks/network.h"
#include "core/nn/phases.h"
#include "core/studies/study.h"
#include "core/train/device.h"
#include "core/train/session.h"
#include "core/train/trainer.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

// Largest absolute difference, and that relative to the largest magnitude of the truth.
std::pair<double, double> errors(const at::Tensor& result, const at::Tensor& truth) {
  const auto a = result.to(at::kCPU, at::kDouble), b = truth.to(at::kCPU, at::kDouble);
  const double worst = (a - b).abs().max().item<double>();
  const double scale = b.abs().max().item<double>();
  return {worst, scale > 0 ? worst / scale : worst};
}

Operands random_operands(const ConvShape& s, Product product, const at::Device& device) {
  const int64_t out = (s.size + 2 * s.padding - s.kernel) / s.stride + 1;
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
  o.norm_follows = true;  // as in most networks: where stochastic pruning has work here
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

class SessionStepper final : public Stepper {
 public:
  SessionStepper(const RunConfig& config, LoadedDataset dataset, bool phases)
      : dataset_(std::move(dataset)), session_(config, dataset_) {
    if (phases) clock_.emplace();
  }

  int64_t parameters() const override { return session_.parameters(); }

  int64_t run(int64_t steps) override {
    if (clock_) clock_->reset();
    const auto before = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < steps; ++i) session_.step();
    session_.synchronize();
    last_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::steady_clock::now() - before)
                   .count();
    return last_ns_;
  }

  double mean_loss() override { return session_.take_mean_loss(); }

  Json phases() const override {
    Json shares = Json::object();
    for (size_t i = 0; clock_ && i < kPhaseNames.size(); ++i) {
      shares[std::string(kPhaseNames[i])] =
          static_cast<double>(clock_->spent()[i]) / static_cast<double>(last_ns_);
    }
    return shares;
  }

 private:
  LoadedDataset dataset_;
  Session session_;
  std::optional<PhaseClock> clock_;
  int64_t last_ns_ = 0;
};

class LibraryEngine final : public Engine {
 public:
  Catalogue catalogue() const override {
    Catalogue catalogue = library_methods();
    for (const auto* entry : Registry<NetworkEntry>::instance().all()) {
      catalogue.networks.push_back(describe(*entry));
    }
    for (const auto* entry : Registry<StudyEntry>::instance().all()) {
      catalogue.studies.push_back(*entry);
    }
    return catalogue;
  }

  Json environment() const override { return library_environment(); }

  void train(const RunConfig& config, const Place& place, const EventSink& sink,
             const std::atomic<bool>& stop) override try {
    configure_threads(config.threads);
    open_device(config.device);  // says what is missing before the data are read
    const auto dataset = open_dataset(config.dataset, place.data_dir, place.verify_data);
    if (config.purpose == Purpose::kTiming) {
      run_timing(config, dataset, sink, stop);
    } else {
      run_accuracy(config, dataset, place.checkpoints, sink, stop);
    }
  } catch (const c10::Error& error) {
    if (is_out_of_memory(error)) throw OutOfMemory(error.what());
    throw;
  }

  std::unique_ptr<Stepper> stepper(const RunConfig& config, const Place& place,
                                   bool phases) override {
    configure_threads(config.threads);
    return std::make_unique<SessionStepper>(
        config, open_dataset(config.dataset, place.data_dir, place.verify_data), phases);
  }

  std::vector<KernelCase> kernel_cases(const ConvShape& shape, Product product,
                                       const std::vector<std::string>& methods,
                                       const std::string& device_name, int64_t threads) override {
    configure_threads(threads);
    const auto device = open_device(parse<DeviceKind>(device_name, "device", "expected"));
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

  Json study(const std::string& name, const StudyRequest& request, int64_t threads) override {
    configure_threads(threads);
    return Registry<StudyEntry>::instance().find(name).run(request).json();
  }

 private:
  static KernelCase base_case(const ConvShape& shape, const Operands& o,
                              const std::string& method) {
    KernelCase kernel;
    kernel.op = name(o.product);
    kernel.method = method;
    kernel.shape = shape;
    kernel.dense_flops = 2 * static_cast<double>(dense_macs(o));
    kernel.flops = kernel.dense_flops;
    return kernel;
  }

  // The fastest of the exact paths at hand: LibTorch with the channels last or first, and ours.
  static KernelCase dense_case(const ConvShape& shape, const Operands& o, at::Device device) {
    KernelCase best = base_case(shape, o, "dense");
    double best_time = 0;
    std::vector<std::tuple<std::string, std::string, Operands>> ways;
    for (const auto& variant : variants(Dense{}, o)) {
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
          Operands exact = operands;
          for (auto* tensor : {&exact.x, &exact.w, &exact.dy}) {
            *tensor = tensor->to(at::kCPU, at::kDouble);
          }
          return errors(run(Dense{}, operands, variant), run(Dense{}, exact, "libtorch"));
        };
      }
    }
    return best;
  }

  static std::vector<KernelCase> method_cases(const ConvShape& shape, Operands o,
                                              const std::string& text, at::Device device) {
    const auto& entry = Registry<MethodEntry>::instance().find(parse_spec(text).name);
    if (std::find(entry.products.begin(), entry.products.end(), o.product) ==
        entry.products.end()) {
      throw usage_error("{} does not approximate the {}", text, name(o.product));
    }
    const std::shared_ptr<Method> method = make_method(text);
    const Rng rng{.seed = 0, .layer = 1, .step = 0, .product = o.product};
    // The forward product's plan, by which its gradients go. Kept as long as the operands.
    const auto forward = std::make_shared<Plan>(Dense{});
    const auto& all = entry.products_with(library_methods().method_params(text));
    if (o.product != Product::kForward &&
        std::find(all.begin(), all.end(), Product::kForward) != all.end()) {
      Operands before = random_operands(shape, Product::kForward, device);
      *forward = method->plan(before, rng);
      o.forward = forward.get();
    }
    const Plan first = method->plan(o, rng);
    std::vector<KernelCase> cases;
    for (const auto& variant : variants(first, o)) {
      if (variant == "reference") continue;  // the definition: there to be agreed with, not timed
      KernelCase kernel = base_case(shape, o, text);
      kernel.variant = variant;
      kernel.flops = 2 * static_cast<double>(plan_macs(first, o));
      kernel.plan = [method, forward, o, rng, device] {
        const auto plan = method->plan(o, rng);
        synchronize_device(device);
      };
      kernel.run = [method, forward, o, rng, variant, device] {
        const auto result = approx::run(method->plan(o, rng), o, variant);
        synchronize_device(device);
      };
      kernel.check = [method, forward, o, rng, variant]() -> std::pair<double, double> {
        const auto plan = method->plan(o, rng);
        const auto result = approx::run(plan, o, variant);
        const auto known = variants(plan, o);
        const bool defined = std::find(known.begin(), known.end(), "reference") != known.end();
        if (!result.defined()) return {0.0, 0.0};
        return errors(result, approx::run(plan, o, defined ? "reference" : std::string_view{}));
      };
      cases.push_back(std::move(kernel));
    }
    return cases;
  }
};

}  // namespace

Catalogue library_methods() {
  Catalogue catalogue;
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    catalogue.methods.push_back(*entry);
  }
  return catalogue;
}

}  // namespace approx

extern "C" approx::Engine* approxtrain_engine() {
  static approx::LibraryEngine engine;
  return &engine;
}
