#include "core/train/gpu_monitor.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "core/train/energy.h"

namespace approx {
namespace {

using ::testing::ElementsAre;

// It lies beside the program.
std::string fake_nvml() {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename("fake_nvml.so").string();
}

std::unique_ptr<GpuMonitor> monitor() { return GpuMonitor::open("0000:3b:00.0", fake_nvml()); }

void set(const char* variable, const std::string& value) { setenv(variable, value.c_str(), 1); }

TEST(GpuMonitor, SaysWhatTheDriverSays) {
  const auto gpu = monitor();
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->driver(), "580.1");
  EXPECT_EQ(gpu->clocks(), Json({{"sm_mhz", 1200}, {"memory_mhz", 2600}}));
  // What the driver does not tell is left out.
  EXPECT_EQ(gpu->limits(), Json({{"sm_mhz", 1980}, {"power_w", 700}}));
}

TEST(GpuMonitor, SaysWhatHoldsTheGpuBack) {
  const auto gpu = monitor();
  const auto reasons = [&](const char* bits) {
    set("FAKE_NVML_REASONS", bits);
    return gpu->slowed_by();
  };
  EXPECT_THAT(reasons("0x0"), ElementsAre());
  // Idle, held to set clocks, held to the power limit: as it always is.
  EXPECT_THAT(reasons("0x7"), ElementsAre());
  EXPECT_THAT(reasons("0x20"), ElementsAre("heat"));
  EXPECT_THAT(reasons("0x48"), ElementsAre("heat"));
  EXPECT_THAT(reasons("0xe8"), ElementsAre("heat", "the power supply"));
  EXPECT_THAT(reasons("0x8"), ElementsAre("heat or power"));
}

TEST(GpuMonitor, CountsTheGpusOfTheDriver) {
  EXPECT_EQ(GpuMonitor::count(fake_nvml()), 1);
  EXPECT_EQ(GpuMonitor::count("libno-such-driver.so.1"), std::nullopt);
  EXPECT_EQ(GpuMonitor::count("libm.so.6"), std::nullopt);
}

TEST(GpuMonitor, WithoutADriverOrGpuThereIsNone) {
  EXPECT_EQ(GpuMonitor::open("0000:3b:00.0", "libno-such-driver.so.1"), nullptr);
  EXPECT_EQ(GpuMonitor::open("0000:00:00.0", fake_nvml()), nullptr);
  // A library that is no driver's.
  EXPECT_EQ(GpuMonitor::open("0000:3b:00.0", "libm.so.6"), nullptr);
  EXPECT_EQ(monitor_of(c10::Device(c10::kCPU)), nullptr);
  EXPECT_TRUE(gpu_description(c10::Device(c10::kCPU)).is_null());
}

TEST(GpuMonitor, EnergyIsCountedFromTheLastCall) {
  set("FAKE_NVML_MILLIJOULES", "5000");
  EnergyMeter meter(monitor(), "/nowhere");
  set("FAKE_NVML_MILLIJOULES", "7500");
  EXPECT_EQ(meter.take_gpu_joules(), 2.5);
  // A driver that was loaded anew.
  set("FAKE_NVML_MILLIJOULES", "1000");
  EXPECT_EQ(meter.take_gpu_joules(), std::nullopt);
  set("FAKE_NVML_MILLIJOULES", "2000");
  EXPECT_EQ(meter.take_gpu_joules(), 1.0);
  set("FAKE_NVML_MILLIJOULES", "0");
  EXPECT_EQ(meter.take_gpu_joules(), std::nullopt);
}

}  // namespace
}  // namespace approx
