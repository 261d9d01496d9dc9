#include "core/train/energy.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

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

EnergyMeter::EnergyMeter(std::unique_ptr<GpuMonitor> gpu, const std::string& powercap)
    : gpu_(std::move(gpu)) {
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
  if (gpu_ != nullptr) gpu_last_ = gpu_->joules();
}

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
  if (gpu_ == nullptr) return std::nullopt;
  const auto now = gpu_->joules(), last = std::exchange(gpu_last_, now);
  if (!now || !last || *now < *last) return std::nullopt;
  return *now - *last;
}

}  // namespace approx
