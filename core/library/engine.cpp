#include "core/engine/engine.h"

#include <algorithm>
#include <chrono>

#include "base/build_id.h"
#include "core/data/dataset.h"
#include "core/library/kernel_cases.h"
#include "core/library/library_errors.h"
#include "core/library/roofline.h"
#include "core/library/rule_cases.h"
#include "core/library/stepper.h"
#include "core/methods/method.h"
#include "core/networks/network.h"
#include "core/parallel/collectives.h"
#include "core/selections/selection.h"
#include "core/studies/study.h"
#include "core/train/accuracy_run.h"
#include "core/train/device.h"
#include "core/train/precision.h"
#include "core/train/step_recorder.h"
#include "core/train/timing_run.h"
#include "kernels/dense/cudnn.h"
#include "kernels/kernel.h"
#include "kernels/library.h"

namespace approx {
namespace {

// As steps are: a build without graphs launches them.
void capture(std::vector<KernelCase>& cases, const c10::Device& device) {
  std::shared_ptr<StepRecorder> recorder;
  try {
    recorder = open_step_recorder(device);
  } catch (const Error& error) {
    return make_launched(cases, error.what());
  }
  make_captured(cases, recorder);
}

// Under autocast exact layers on a GPU are LibTorch's alone, and the exact products of approximated
// layers are not: with engines of cuDNN's by a file, what these gain would be taken for the
// method's.
void check_engines_of_both(const RunConfig& config) {
  if (config.purpose != Purpose::kTiming || is_dense(config.method)) return;
  if (!is_half(config.precision)) return;
  throw usage_error(
      "APPROXTRAIN_CUDNN_CHOICES: exact layers in {} take none of these engines, and approximated "
      "ones would: unset it to time {}",
      name(config.precision), config.method);
}

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
    catalogue.selections = library_selections();
    open_cuda_kernels();  // whose variants register themselves, whether there is a GPU or not
    catalogue.ruled_variants = ruled_variants();
    return catalogue;
  }

  Json environment() const override {
    Json json = library_environment();
    json["library"] = build_id_at(reinterpret_cast<const void*>(&approxtrain_engine));
    return json;
  }

  void train(const RunConfig& config, const Place& place, const EventSink& sink,
             const std::atomic<bool>& stop) override {
    with_own_errors([&] {
      configure_threads(config.threads);
      use_kernel_rules(config.kernel_rules);
      if (config.ranks > 1 && config.device == DeviceKind::kCuda) {
        require_device_collectives(config.ranks);
        take_gpu_of_rank();
      }
      const auto device = open_device(config.device);  // what is missing, before the data are read
      if (take_cudnn_choices(device)) check_engines_of_both(config);
      const auto ranks = ranks_of(config, place, device);
      const auto dataset = open_dataset(config.dataset, place.data_dir, place.verify_data);
      if (ranks != nullptr) {
        ranks->require_same("data set", dataset.sha256, "give all machines the same files");
      }
      if (config.purpose == Purpose::kTiming) {
        const bool on_cpu = config.device == DeviceKind::kCpu;
        run_timing(config, dataset, sink, stop,
                   on_cpu ? cpu_probe() : gpu_probe(monitor_of(device)), ranks);
      } else {
        run_accuracy(config, dataset, place.checkpoints, sink, stop, place.recording, ranks);
      }
      if (ranks != nullptr) ranks->close();
    });
  }

  std::unique_ptr<Stepper> stepper(const RunConfig& config, const Place& place,
                                   bool phases) override {
    return with_own_errors([&] {
      configure_threads(config.threads);
      use_kernel_rules(config.kernel_rules);
      take_cudnn_choices(open_device(config.device));
      return make_stepper(config, open_dataset(config.dataset, place.data_dir, place.verify_data),
                          phases);
    });
  }

  std::vector<ConvShape> recorded_shapes(const std::string& folder) override {
    return with_own_errors([&] { return recorded_shapes_of(folder); });
  }

  std::vector<KernelCase> kernel_cases(const ConvShape& shape, Product product,
                                       const std::vector<std::string>& methods,
                                       const KernelSetting& setting) override {
    return with_own_errors([&] {
      const auto device = prepared(setting);
      auto cases = kernel_cases_of(shape, product, methods, device, setting.precision);
      if (setting.graphs && !device.is_cpu()) capture(cases, device);
      if (setting.cold) make_cold(cases, device);
      return cases;
    });
  }

  std::vector<KernelChoice> kernel_choices(const ConvShape& shape, Product product,
                                           const std::vector<std::string>& methods,
                                           const KernelSetting& setting) override {
    return with_own_errors([&] {
      return kernel_choices_of(shape, product, methods, prepared(setting), setting.precision);
    });
  }

  std::vector<KernelCase> rule_cases(const ConvShape& shape, const RuledVariant& variant,
                                     double density, int64_t threads) override {
    return with_own_errors([&] {
      configure_threads(threads);
      return rule_cases_of(shape, variant, density, at::kCPU);
    });
  }

  Roofline roofline(const KernelSetting& setting) override {
    return with_own_errors([&] { return roofline_of(prepared(setting), setting.precision); });
  }

  Json study(const std::string& name, const StudyRequest& request, int64_t threads) override {
    return with_own_errors([&] {
      configure_threads(threads);
      return Registry<StudyEntry>::instance().find(name).run(request).json();
    });
  }

 private:
  // The processes that a run is shared by, which must be alike; null: this one alone.
  std::shared_ptr<Collectives> ranks_of(const RunConfig& config, const Place& place,
                                        at::Device device) const {
    if (config.ranks == 1) return nullptr;
    const std::chrono::milliseconds limit(std::max<int64_t>(1, place.rank_timeout_ns / 1'000'000));
    auto ranks = open_collectives(config.ranks, limit);
    ranks->require_same("library", environment().at("library").get<std::string>(),
                        "all machines need the same build");
    ranks->require_same("run", Json(config).dump(), "all were to be given the same task");
    return device.is_cpu() ? ranks : open_device_collectives(std::move(ranks), device, limit);
  }

  // The device, told in what to compute.
  static at::Device prepared(const KernelSetting& setting) {
    const auto kind = parse<DeviceKind>(setting.device, "device", "expected");
    check_precision(setting.precision, kind);
    configure_threads(setting.threads);
    const auto device = open_device(kind);
    set_float_products(device, setting.precision);
    if (device.is_cuda()) use_cudnn_choices(setting.cudnn_choices, /*adds=*/true, device);
    return device;
  }
};

}  // namespace
}  // namespace approx

extern "C" approx::Engine* approxtrain_engine() {
  static approx::LibraryEngine engine;
  return &engine;
}
