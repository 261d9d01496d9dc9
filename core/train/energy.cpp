#include "core/train/energy.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace approx {
namespace {

namespace fs = std::filesystem;

std::optional<uint64_t> read_number(const std::string& path) {
  std::ifstream in(path);
  uint64_t value = 0;
  if (!(in >> value)) return std::nullopt;
  return value;
}

// "intel-rapl:0" is a package, "intel-rapl:0:1" a part of one, which the package includes.
bool is_package(const std::string& name) {
  return name.find("rapl:") != std::string::npos && std::count(name.begin(), name.end(), ':') == 1;
}

}  // namespace

// NVML is the driver's own library and is there or not: opened by name, never linked.
struct EnergyMeter::Nvml {
  using Init = int (*)();
  using Handle = int (*)(unsigned, void**);
  using Energy = int (*)(void*, unsigned long long*);  // millijoules since the driver was loaded

  ~Nvml() {
    if (library != nullptr) dlclose(library);
  }

  bool open(int device) {
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    const auto init = reinterpret_cast<Init>(dlsym(library, "nvmlInit_v2"));
    const auto handle = reinterpret_cast<Handle>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
    read = reinterpret_cast<Energy>(dlsym(library, "nvmlDeviceGetTotalEnergyConsumption"));
    return init != nullptr && handle != nullptr && read != nullptr && init() == 0 &&
           handle(static_cast<unsigned>(device), &gpu) == 0 && read(gpu, &last) == 0;
  }

  void* library = nullptr;
  void* gpu = nullptr;
  Energy read = nullptr;
  unsigned long long last = 0;
};

EnergyMeter::EnergyMeter(std::optional<int> gpu, const std::string& powercap) {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(powercap, error)) {
    if (is_package(entry.path().filename().string())) names.push_back(entry.path().string());
  }
  std::sort(names.begin(), names.end());
  for (const auto& name : names) {
    const auto range = read_number(name + "/max_energy_range_uj");
    const auto now = read_number(name + "/energy_uj");
    if (range && now && *range > 0) zones_.push_back({name + "/energy_uj", *range, *now});
  }
  if (!gpu) return;
  nvml_ = std::make_unique<Nvml>();
  if (!nvml_->open(*gpu)) nvml_.reset();
}

EnergyMeter::~EnergyMeter() = default;

std::optional<double> EnergyMeter::take_cpu_joules() {
  if (zones_.empty()) return std::nullopt;
  double joules = 0;
  for (auto& zone : zones_) {
    const auto now = read_number(zone.file);
    if (!now) return std::nullopt;
    const uint64_t spent = *now >= zone.last ? *now - zone.last : *now + zone.range - zone.last;
    joules += 1e-6 * static_cast<double>(spent);
    zone.last = *now;
  }
  return joules;
}

std::optional<double> EnergyMeter::take_gpu_joules() {
  unsigned long long now = 0;
  if (nvml_ == nullptr || nvml_->read(nvml_->gpu, &now) != 0 || now < nvml_->last) {
    return std::nullopt;
  }
  const double joules = 1e-3 * static_cast<double>(now - nvml_->last);
  nvml_->last = now;
  return joules;
}

}  // namespace approx
