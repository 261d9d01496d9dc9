#include "core/train/energy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace approx {
namespace {

namespace fs = std::filesystem;

// Files as the kernel shows RAPL's counters.
class Energy : public testing::Test {
 public:
  Energy() {
    std::string pattern = (fs::temp_directory_path() / "approx-energy-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~Energy() override { fs::remove_all(root_); }

 protected:
  void set(const std::string& zone, uint64_t now, uint64_t range = 1'000'000'000) {
    fs::create_directories(root_ / zone);
    std::ofstream(root_ / zone / "max_energy_range_uj") << range << "\n";
    std::ofstream(root_ / zone / "energy_uj") << now << "\n";
  }

  fs::path root_;
};

TEST_F(Energy, WithoutCountersThereIsNone) {
  EnergyMeter meter(nullptr, root_.string());
  EXPECT_EQ(meter.take_cpu_joules(), std::nullopt);
  EXPECT_EQ(meter.take_gpu_joules(), std::nullopt);
  EnergyMeter nowhere(nullptr, (root_ / "none").string());
  EXPECT_EQ(nowhere.take_cpu_joules(), std::nullopt);
}

TEST_F(Energy, AddsThePackagesAndNotTheirParts) {
  set("intel-rapl:0", 1'000'000);
  set("intel-rapl:1", 5'000'000);
  set("intel-rapl:0:0", 3'000'000);  // the cores of package 0
  set("intel-rapl", 1);              // the control type itself
  EnergyMeter meter(nullptr, root_.string());
  set("intel-rapl:0", 3'500'000);
  set("intel-rapl:1", 6'000'000);
  set("intel-rapl:0:0", 900'000'000);
  EXPECT_DOUBLE_EQ(*meter.take_cpu_joules(), 3.5);
  EXPECT_DOUBLE_EQ(*meter.take_cpu_joules(), 0);  // since the last call
}

TEST_F(Energy, ACounterWrapsAround) {
  set("intel-rapl:0", 9'000'000, 10'000'000);
  EnergyMeter meter(nullptr, root_.string());
  set("intel-rapl:0", 2'000'000, 10'000'000);
  EXPECT_DOUBLE_EQ(*meter.take_cpu_joules(), 3);
}

TEST_F(Energy, ACounterThatCannotBeReadAnyMoreGivesNone) {
  set("intel-rapl:0", 1'000'000);
  EnergyMeter meter(nullptr, root_.string());
  fs::remove(root_ / "intel-rapl:0" / "energy_uj");
  EXPECT_EQ(meter.take_cpu_joules(), std::nullopt);
}

}  // namespace
}  // namespace approx
