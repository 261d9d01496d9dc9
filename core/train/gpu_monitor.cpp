#include "core/train/gpu_monitor.h"

#include <dlfcn.h>

#include <utility>

#include "kernels/gpu/facts.h"

namespace approx {
namespace {

// Constants of NVML's C interface, whose functions return 0 on success.
constexpr unsigned kSmClock = 1, kMemoryClock = 2;
constexpr unsigned long long kSlowedByHeat = 0x20 | 0x40,  // told by the driver, or by the chip
    kSlowedBySupply = 0x80,                                // the "power brake" of the machine
    kSlowedByChip = 0x08;                                  // either of both, not told which

}  // namespace

struct GpuMonitor::Library {
  using Init = int (*)();
  using Handle = int (*)(const char* bus, void** gpu);
  using Count = int (*)(unsigned* gpus);
  using Text = int (*)(char* text, unsigned size);
  using Clock = int (*)(void* gpu, unsigned which, unsigned* mhz);
  using Milliwatts = int (*)(void* gpu, unsigned* milliwatts);
  using Reasons = int (*)(void* gpu, unsigned long long* bits);
  using Energy = int (*)(void* gpu, unsigned long long* millijoules);

  ~Library() {
    if (handle != nullptr) dlclose(handle);
  }

  template <typename Function>
  Function find(const char* name) const {
    return reinterpret_cast<Function>(dlsym(handle, name));
  }

  bool open(const std::string& bus, const std::string& file) {
    handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    const auto init = find<Init>("nvmlInit_v2");
    const auto by_bus = find<Handle>("nvmlDeviceGetHandleByPciBusId_v2");
    driver = find<Text>("nvmlSystemGetDriverVersion");
    clock = find<Clock>("nvmlDeviceGetClockInfo");
    most_clock = find<Clock>("nvmlDeviceGetMaxClockInfo");
    power_limit = find<Milliwatts>("nvmlDeviceGetEnforcedPowerLimit");
    reasons = find<Reasons>("nvmlDeviceGetCurrentClocksThrottleReasons");
    energy = find<Energy>("nvmlDeviceGetTotalEnergyConsumption");
    return init != nullptr && by_bus != nullptr && init() == 0 && by_bus(bus.c_str(), &gpu) == 0;
  }

  // Counts all GPUs, and opens none.
  std::optional<int64_t> count(const std::string& file) {
    handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return std::nullopt;
    const auto init = find<Init>("nvmlInit_v2");
    const auto count = find<Count>("nvmlDeviceGetCount_v2");
    unsigned gpus = 0;
    if (init == nullptr || count == nullptr || init() != 0 || count(&gpus) != 0) {
      return std::nullopt;
    }
    return gpus;
  }

  Json clocks_by(Clock read) const {
    Json clocks = Json::object();
    for (const auto& [key, which] :
         {std::pair("sm_mhz", kSmClock), std::pair("memory_mhz", kMemoryClock)}) {
      unsigned mhz = 0;
      if (read != nullptr && read(gpu, which, &mhz) == 0) clocks[key] = mhz;
    }
    return clocks;
  }

  void* handle = nullptr;
  void* gpu = nullptr;
  // Null where this driver has no such function.
  Text driver = nullptr;
  Clock clock = nullptr, most_clock = nullptr;
  Milliwatts power_limit = nullptr;
  Reasons reasons = nullptr;
  Energy energy = nullptr;
};

GpuMonitor::GpuMonitor(std::unique_ptr<Library> library) : library_(std::move(library)) {}
GpuMonitor::~GpuMonitor() = default;

std::unique_ptr<GpuMonitor> GpuMonitor::open(const std::string& bus, const std::string& library) {
  auto opened = std::make_unique<Library>();
  if (!opened->open(bus, library)) return nullptr;
  return std::unique_ptr<GpuMonitor>(new GpuMonitor(std::move(opened)));
}

std::optional<int64_t> GpuMonitor::count(const std::string& library) {
  return Library().count(library);
}

std::string GpuMonitor::driver() const {
  char text[96] = {};
  if (library_->driver == nullptr || library_->driver(text, sizeof text) != 0) return "";
  return text;
}

Json GpuMonitor::limits() const {
  Json limits = library_->clocks_by(library_->most_clock);
  unsigned milliwatts = 0;
  if (library_->power_limit != nullptr && library_->power_limit(library_->gpu, &milliwatts) == 0) {
    limits["power_w"] = milliwatts / 1000;
  }
  return limits;
}

Json GpuMonitor::clocks() const { return library_->clocks_by(library_->clock); }

std::optional<double> GpuMonitor::sm_mhz() const {
  const Json now = clocks();
  const auto mhz = now.find("sm_mhz");
  return mhz == now.end() ? std::nullopt : std::optional(mhz->get<double>());
}

std::vector<std::string> GpuMonitor::slowed_by() const {
  unsigned long long bits = 0;
  if (library_->reasons == nullptr || library_->reasons(library_->gpu, &bits) != 0) return {};
  std::vector<std::string> reasons;
  if ((bits & kSlowedByHeat) != 0) reasons.emplace_back("heat");
  if ((bits & kSlowedBySupply) != 0) reasons.emplace_back("the power supply");
  if (reasons.empty() && (bits & kSlowedByChip) != 0) reasons.emplace_back("heat or power");
  return reasons;
}

std::optional<double> GpuMonitor::joules() const {
  unsigned long long millijoules = 0;
  if (library_->energy == nullptr || library_->energy(library_->gpu, &millijoules) != 0) {
    return std::nullopt;
  }
  return 1e-3 * static_cast<double>(millijoules);
}

std::unique_ptr<GpuMonitor> monitor_of(const c10::Device& device) {
  if (!device.is_cuda() || gpu_facts_reader() == nullptr) return nullptr;
  return GpuMonitor::open(gpu_facts_reader()(device.index()).bus);
}

Json gpu_description(const c10::Device& device) {
  if (!device.is_cuda() || gpu_facts_reader() == nullptr) return nullptr;
  const GpuFacts facts = gpu_facts_reader()(device.index());
  Json json = {{"model", facts.model},
               {"uuid", facts.uuid},
               {"capability", facts.capability},
               {"multiprocessors", facts.multiprocessors},
               {"memory_bytes", facts.memory_bytes},
               {"l2_bytes", facts.l2_bytes},
               {"ecc", facts.ecc}};
  if (const auto monitor = GpuMonitor::open(facts.bus)) {
    json["driver"] = monitor->driver();
    json["limits"] = monitor->limits();
  }
  return json;
}

}  // namespace approx
