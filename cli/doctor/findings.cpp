#include "cli/doctor/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text.h"

namespace approx {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;

bool has(const Machine& machine, const char* set) {
  const auto& sets = machine.instruction_sets;
  return std::find(sets.begin(), sets.end(), set) != sets.end();
}

Finding processor(const Machine& machine) {
  Finding finding{.what = "processor",
                  .found = machine.cpu_model.empty() ? "of no known name" : machine.cpu_model};
  if (has(machine, "avx512f")) {
    finding.found += ", AVX-512";
  } else if (has(machine, "avx2") && has(machine, "fma")) {
    finding.found += ", AVX2";
  } else if (has(machine, "asimd")) {
    finding.found += ", NEON";
  } else {
    finding.severity = Severity::kNote;
    finding.found += ", neither AVX2 nor NEON";
    finding.fix = "kernels by vectors are slow here; take timings on another machine";
  }
  return finding;
}

Finding cores(const Machine& machine) {
  Finding finding{.what = "cores", .found = fmt::format("{}", machine.cores)};
  if (machine.physical_cores > 0 && machine.physical_cores < machine.cores) {
    finding.severity = Severity::kNote;
    finding.found += fmt::format(" threads on {} cores", machine.physical_cores);
    finding.fix =
        fmt::format("give timing runs at most {} threads (--threads)", machine.physical_cores);
  }
  if (machine.cpu_limit && *machine.cpu_limit < static_cast<double>(machine.cores)) {
    finding.severity = Severity::kNote;
    finding.found += fmt::format(", of which this cgroup may use {:.1f}", *machine.cpu_limit);
    finding.fix = "raise the container's CPU limit, or give runs no more threads than that";
  }
  return finding;
}

Finding clock(const Machine& machine) {
  Finding finding{.what = "clock", .found = "governor " + machine.governor};
  if (machine.governor.empty()) finding.found = "not told (a virtual machine)";
  if (machine.governor == "powersave" || machine.governor == "ondemand" ||
      machine.governor == "schedutil" || machine.governor == "conservative") {
    finding.severity = Severity::kNote;
    finding.fix = "for timings: cpupower frequency-set -g performance";
  }
  return finding;
}

Finding load(const Machine& machine) {
  Finding finding{.what = "load", .found = "not told"};
  if (!machine.load) return finding;
  finding.found = fmt::format("{:.2f} in the last minute", *machine.load);
  if (*machine.load > 0.3) {
    finding.severity = Severity::kNote;
    finding.fix = "for timings: end what else is running (top shows it)";
  }
  return finding;
}

Finding memory(const Machine& machine) {
  int64_t most = machine.available_bytes;
  Finding finding{.what = "memory",
                  .found = fmt::format("{} of {} free", format_size(machine.available_bytes),
                                       format_size(machine.ram_bytes))};
  if (machine.memory_limit_bytes) {
    most = std::min(most, *machine.memory_limit_bytes);
    finding.found +=
        fmt::format(", this cgroup may have {}", format_size(*machine.memory_limit_bytes));
  }
  // What a run of the smaller networks takes.
  if (most < 2 * kGib) {
    finding.severity = Severity::kNote;
    finding.fix = "free some: a training takes 1 to 4 GiB, several at a time (--jobs) each as much";
  }
  return finding;
}

}  // namespace

std::vector<Finding> machine_findings(const Machine& machine) {
  return {processor(machine), cores(machine), clock(machine), load(machine), memory(machine)};
}

Finding disk_finding(const std::string& what, const std::string& folder,
                     std::optional<int64_t> free_bytes) {
  Finding finding{.what = what, .found = fmt::format("{}: not told", printable(folder))};
  if (!free_bytes) return finding;
  finding.found = fmt::format("{} free in {}", format_size(*free_bytes), printable(folder));
  if (*free_bytes < kGib / 10) {
    finding.severity = Severity::kFault;
    finding.fix = "free some space: a sweep on a full disk ends";
  } else if (*free_bytes < 2 * kGib) {
    finding.severity = Severity::kNote;
    finding.fix = "free some space: checkpoints and data sets take gigabytes";
  }
  return finding;
}

}  // namespace approx
