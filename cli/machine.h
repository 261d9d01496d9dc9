// Facts about a machine, from the files of its kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace approx {

struct Machine {
  std::string id, boot_id;                    // ids of the installation and of its last start
  std::string cpu_model;                      // "": unknown
  std::vector<std::string> instruction_sets;  // those that kernels and LibTorch choose between
  int64_t cores = 1;                          // as the system counts them
  int64_t physical_cores = 0;                 // 0: unknown
  std::string governor;                       // CPU frequency governor; "": unknown
  std::optional<double> load;                 // mean of the last minute
  int64_t ram_bytes = 0, available_bytes = 0;
  std::optional<int64_t> memory_limit_bytes;  // of our cgroup, where it has one
  std::optional<double> cpu_limit;            // limit of our cgroup in cores, if it has one
  std::string nvidia_driver;                  // its version; "": no driver
};

// Reads the machine whose files are under `root`; tests use a folder of files. A value that cannot
// be read keeps the default above.
Machine read_machine(const std::string& root = "/");

}  // namespace approx
