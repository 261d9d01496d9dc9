// A driver's library for tests (core/train/gpu_monitor.h): one GPU, whose state is in the
// environment.
#include <cstdlib>
#include <cstring>

namespace {

int gpu;  // its address is the handle

unsigned long long number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 0);
}

}  // namespace

// The names are the library's. NOLINTBEGIN(readability-identifier-naming)
extern "C" {

int nvmlInit_v2() { return 0; }

int nvmlDeviceGetCount_v2(unsigned* gpus) {
  *gpus = 1;
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  if (std::strcmp(bus, "0000:3b:00.0") != 0) return 6;  // not found
  *handle = &gpu;
  return 0;
}

int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::strncpy(text, "580.1", size);
  return 0;
}

int nvmlDeviceGetClockInfo(void* handle, unsigned which, unsigned* mhz) {
  if (handle != &gpu || which == 0) return 2;
  *mhz = which == 1 ? 1200 : 2600;
  return 0;
}

int nvmlDeviceGetMaxClockInfo(void* handle, unsigned which, unsigned* mhz) {
  if (handle != &gpu || which != 1) return 2;
  *mhz = 1980;
  return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void* /*handle*/, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* /*handle*/, unsigned long long* bits) {
  *bits = number("FAKE_NVML_REASONS");
  return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void* /*handle*/, unsigned long long* millijoules) {
  *millijoules = number("FAKE_NVML_MILLIJOULES");
  return *millijoules == 0 ? 3 : 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
