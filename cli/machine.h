// What a machine says of itself in the files of its kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace approx {

struct Machine {
  std::string id, boot_id;                    // of the installation, and of its last start
  std::string cpu_model;                      // "" where it is not told
  std::vector<std::string> instruction_sets;  // of those that kernels and LibTorch choose between
  int64_t cores = 1;                          // as the system counts them
  int64_t physical_cores = 0;                 // 0: not told
  std::string governor;                       // of the clock; "": not told
  std::optional<double> load;                 // mean of the last minute
  int64_t ram_bytes = 0, available_bytes = 0;
  std::optional<int64_t> memory_limit_bytes;  // of our cgroup, where it has one
  std::optional<double> cpu_limit;            // in cores, likewise
  std::string nvidia_driver;                  // its version; "": there is none
};

// Reads the machine whose files are under `root`; tests have one of their own. What cannot be read
// keeps the values above.
Machine read_machine(const std::string& root = "/");

}  // namespace approx
