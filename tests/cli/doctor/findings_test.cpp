#include "cli/doctor/findings.h"

#include <gtest/gtest.h>

#include <map>

namespace approx {
namespace {

Machine good() {
  return {.cpu_model = "Some CPU",
          .instruction_sets = {"avx2", "avx512f", "fma"},
          .cores = 8,
          .physical_cores = 8,
          .governor = "performance",
          .load = 0.05,
          .ram_bytes = int64_t{32} << 30,
          .available_bytes = int64_t{30} << 30};
}

std::map<std::string, Finding> findings(const Machine& machine) {
  std::map<std::string, Finding> by_name;
  for (const auto& finding : machine_findings(machine)) by_name[finding.what] = finding;
  return by_name;
}

TEST(Doctor, OfAGoodMachineThereIsNothingToSay) {
  for (const auto& [what, finding] : findings(good())) {
    EXPECT_EQ(finding.severity, Severity::kFine) << what;
    EXPECT_FALSE(finding.found.empty()) << what;
    EXPECT_EQ(finding.fix, "") << what;
  }
}

// What is not told is no fault of the machine.
TEST(Doctor, OfAMachineThatSaysNothingLittleIsSaid) {
  Machine silent;
  silent.available_bytes = silent.ram_bytes = int64_t{8} << 30;
  for (const auto& [what, finding] : findings(silent)) {
    EXPECT_EQ(finding.severity, what == "processor" ? Severity::kNote : Severity::kFine) << what;
  }
}

// Each with what to do about it.
TEST(Doctor, WhatIsWrongIsSaid) {
  const auto note_on = [](const char* what, const Machine& machine) {
    const auto finding = findings(machine).at(what);
    return finding.severity == Severity::kNote && !finding.fix.empty();
  };
  Machine machine = good();
  machine.instruction_sets = {"sse4_2"};
  EXPECT_TRUE(note_on("processor", machine));
  machine = good();
  machine.physical_cores = 4;
  EXPECT_TRUE(note_on("cores", machine));
  EXPECT_NE(findings(machine).at("cores").fix.find("at most 4 threads"), std::string::npos);
  machine = good();
  machine.cpu_limit = 1.5;
  EXPECT_TRUE(note_on("cores", machine));
  machine = good();
  machine.governor = "powersave";
  EXPECT_TRUE(note_on("clock", machine));
  machine = good();
  machine.load = 1.7;
  EXPECT_TRUE(note_on("load", machine));
  machine = good();
  machine.memory_limit_bytes = int64_t{1} << 30;
  EXPECT_TRUE(note_on("memory", machine));
}

TEST(Doctor, AFullDiskIsAFault) {
  EXPECT_EQ(disk_finding("disk", "/x", int64_t{10} << 20).severity, Severity::kFault);
  EXPECT_EQ(disk_finding("disk", "/x", int64_t{1} << 30).severity, Severity::kNote);
  EXPECT_EQ(disk_finding("disk", "/x", int64_t{100} << 30).severity, Severity::kFine);
  EXPECT_EQ(disk_finding("disk", "/x", std::nullopt).severity, Severity::kFine);
}

}  // namespace
}  // namespace approx
