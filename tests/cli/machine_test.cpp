#include "cli/machine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/results/filled_store.h"

namespace approx {
namespace {

// A machine made of files.
class MachineTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  Machine read() const { return read_machine(folder_ / ""); }

  const TemporaryFolder folder_;
};

TEST_F(MachineTest, IsReadFromItsFiles) {
  write("proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Some CPU @ 2\nflags\t\t: fpu fma avx2 sse4_2\n");
  write("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\nMemAvailable:   1024 kB\n");
  write("proc/loadavg", "0.75 0.50 0.25 1/200 4711\n");
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  write("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n");
  write("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3\n");
  write("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "0,2\n");
  write("sys/fs/cgroup/memory.max", "1048576\n");
  write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  write("proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n");
  write("etc/machine-id", "0123abcd\n");
  write("proc/sys/kernel/random/boot_id", "boot-4711\n");
  const Machine machine = read();
  EXPECT_EQ(machine.id, "0123abcd");
  EXPECT_EQ(machine.boot_id, "boot-4711");
  EXPECT_EQ(machine.cpu_model, "Some CPU @ 2");
  EXPECT_EQ(machine.instruction_sets, (std::vector<std::string>{"avx2", "fma", "sse4_2"}));
  EXPECT_EQ(machine.ram_bytes, 2048 * 1024);
  EXPECT_EQ(machine.available_bytes, 1024 * 1024);
  EXPECT_EQ(machine.load, 0.75);
  EXPECT_EQ(machine.governor, "powersave");
  EXPECT_EQ(machine.physical_cores, 2);
  EXPECT_EQ(machine.memory_limit_bytes, 1048576);
  EXPECT_EQ(machine.cpu_limit, 1.5);
  EXPECT_EQ(machine.nvidia_driver, "580.65.06");
}

TEST_F(MachineTest, WhatIsNotToldStaysOpen) {
  write("sys/fs/cgroup/memory.max", "max\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  const Machine machine = read();
  EXPECT_EQ(machine.cpu_model, "");
  EXPECT_EQ(machine.physical_cores, 0);
  EXPECT_EQ(machine.load, std::nullopt);
  EXPECT_EQ(machine.memory_limit_bytes, std::nullopt);
  EXPECT_EQ(machine.cpu_limit, std::nullopt);
  EXPECT_EQ(machine.nvidia_driver, "");
}

TEST(ThisMachine, HasAProcessorAndMemory) {
  const Machine machine = read_machine();
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.ram_bytes, 0);
  EXPECT_GT(machine.available_bytes, 0);
}

}  // namespace
}  // namespace approx
