#include "cli/process/machine_cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/numbers.h"
#include "base/range.h"
#include "cli/machine.h"
#include "cli/process/machine_name.h"

namespace approx {
namespace {

constexpr int kMostCpus = 1 << 16;

std::string line_of_file(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// The CPUs of one core, "0,64"; the CPU alone where that is not told.
std::vector<int> siblings(const std::string& topology, int cpu) {
  try {
    std::vector<int> found;
    for (const int64_t other : parse_range(line_of_file(topology + "/thread_siblings_list"))) {
      found.push_back(static_cast<int>(other));
    }
    return found;
  } catch (const Error&) {
    return {cpu};
  }
}

// A mask of the system's size, which it does not tell.
struct CpuMask {
  explicit CpuMask(int cpus)
      : bytes(CPU_ALLOC_SIZE(static_cast<size_t>(cpus))), words(bytes / sizeof(cpu_set_t) + 1) {}

  cpu_set_t* get() { return words.data(); }

  size_t bytes;
  std::vector<cpu_set_t> words;
};

}  // namespace

std::vector<Core> read_cores(const std::vector<int>& allowed, const std::string& root) {
  std::vector<Core> cores;
  std::map<std::vector<int>, size_t> known;  // by their siblings
  for (const int cpu : allowed) {
    const std::string topology = fmt::format("{}/sys/devices/system/cpu/cpu{}/topology", root, cpu);
    const auto [at, is_new] = known.try_emplace(siblings(topology, cpu), cores.size());
    if (is_new) {
      const auto package = parse_integer(line_of_file(topology + "/physical_package_id"), 0);
      cores.push_back({static_cast<int>(package.value_or(0)), {}});
    }
    cores[at->second].cpus.push_back(cpu);
  }
  return cores;
}

std::vector<int> allowed_cpus() {
  for (int cpus = 1024; cpus <= kMostCpus; cpus *= 2) {
    CpuMask mask(cpus);
    if (sched_getaffinity(0, mask.bytes, mask.get()) != 0) {
      if (errno == EINVAL) continue;  // it has more
      break;
    }
    std::vector<int> allowed;
    for (int cpu = 0; cpu < cpus; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), mask.bytes, mask.get())) allowed.push_back(cpu);
    }
    return allowed;
  }
  return {};
}

bool use_cpus(const std::vector<int>& cpus) {
  if (cpus.empty()) return false;
  CpuMask mask(cpus.back() + 1);
  for (const int cpu : cpus) CPU_SET_S(static_cast<size_t>(cpu), mask.bytes, mask.get());
  return sched_setaffinity(0, mask.bytes, mask.get()) == 0;
}

CorePool cores_of_machine(int64_t jobs) {
  // Two sweeps that both began at the first core would share it while others are idle.
  const auto claim = [](const Core& core) -> CorePool::Hold {
    try {
      auto held = std::make_shared<Descriptor>(
          MachineName(fmt::format("core-{}", core.cpus.front())).hold());
      return *held ? held : nullptr;
    } catch (const Error&) {
      return nullptr;  // without descriptors a run goes on without cores of its own
    }
  };
  return CorePool(read_cores(allowed_cpus()), jobs, read_machine().cpu_limit, claim);
}

}  // namespace approx
