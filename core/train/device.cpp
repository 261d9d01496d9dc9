#include "core/train/device.h"

#include <ATen/Config.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <malloc.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "base/digest.h"
#include "base/error.h"
#include "core/parallel/gpu_of_rank.h"
#include "core/train/gpu_monitor.h"
#include "kernels/dense/cudnn.h"
#include "kernels/library.h"

namespace approx {
namespace {

// The GPU that was opened last: a process computes on one.
std::optional<c10::Device>& opened_gpu() {
  static std::optional<c10::Device> gpu;
  return gpu;
}

std::string file_of_choices() {
  const char* file = std::getenv("APPROXTRAIN_CUDNN_CHOICES");
  return file == nullptr ? "" : file;
}

}  // namespace

c10::Device open_device(DeviceKind kind, int64_t index) {
  if (kind == DeviceKind::kCpu) return c10::Device(c10::kCPU);
  // RTLD_GLOBAL: its registrations must be seen by the libraries that are already loaded.
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    throw Error(ErrorKind::kDevice,
                fmt::format("device cuda: this LibTorch has no CUDA part ({})", dlerror()));
  }
  // LibTorch keeps what it finds when it is first asked for its CUDA part: asked too early, by
  // hasCUDA() for one, it has none for good.
  if (!at::detail::getCUDAHooks().compiledWithCuDNN()) {
    throw Error(ErrorKind::kInternal,
                "device cuda: LibTorch was asked for its CUDA part before that was opened");
  }
  if (!torch::cuda::is_available()) {
    throw Error(ErrorKind::kDevice, "device cuda: no usable GPU or driver on this machine");
  }
  const int64_t devices = static_cast<uint8_t>(torch::cuda::device_count());
  if (index < 0 || index >= devices) {
    throw Error(ErrorKind::kDevice,
                fmt::format("device cuda: there is none of index {}; {} are here", index, devices));
  }
  open_cuda_kernels();
  opened_gpu() = c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
  return *opened_gpu();
}

void take_gpu_of_rank() {
  const auto variable = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  const auto local = local_rank(variable);
  if (!local) return;
  constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
  const auto gpu = gpu_of_rank(*local, variable(kVisible), GpuMonitor::count());
  setenv(kVisible, gpu.c_str(), /*overwrite=*/1);
}

bool take_cudnn_choices(const c10::Device& device) {
  const auto file = file_of_choices();
  if (!device.is_cuda() || file.empty()) return false;
  use_cudnn_choices(file, /*adds=*/false, device);
  return true;
}

void synchronize_device(const c10::Device& device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

void configure_threads(int64_t threads) {
  at::set_num_threads(static_cast<int>(threads));
  // Blocks of any size come from the heap and stay there: a step allocates the same activations as
  // the one before, and mapping them afresh costs page faults. `mallopt` returns 1 on success; a
  // refusal costs speed, not correctness.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
}

Json library_environment() {
  Json json{{"torch", TORCH_VERSION},
            {"cpu_capability", at::get_cpu_capability()},
            {"threads", at::get_num_threads()},
            {"mkl", at::hasMKL()},
            {"onednn", at::hasMKLDNN()}};
  // (Where none is open, LibTorch is not asked for it: see open_device.)
  if (const auto& gpu = opened_gpu()) {
    const auto& hooks = at::detail::getCUDAHooks();
    json["cuda"] = fmt::format("{}", hooks.versionCUDART());
    json["cudnn"] = fmt::format("{}", hooks.versionCuDNN());
    std::error_code unreadable;
    if (const auto file = file_of_choices(); std::filesystem::is_regular_file(file, unreadable)) {
      json["cudnn_choices"] = file_digest_hex("sha256", file);
    }
    const Json description = gpu_description(*gpu);
    if (description.is_object()) {
      json["gpu_model"] = description["model"];
      json["gpu"] = description;
      if (const auto monitor = monitor_of(*gpu)) json["gpu_clocks"] = monitor->clocks();
    }
  }
  return json;
}

}  // namespace approx
