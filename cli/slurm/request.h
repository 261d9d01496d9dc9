// A user's request to a cluster: --slurm and its flags, and the table [slurm] of an experiment.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/text.h"
#include "core/experiment/slurm_table.h"

namespace approx {

struct SlurmRequest {
  bool on = false;      // --slurm
  int64_t tasks = 0;    // of each array, as for split_runs
  int64_t at_once = 0;  // tasks of an array at work at a time; 0: no limit of ours
  // For each task:
  Nanoseconds time{0};       // 0: the partition's default
  int64_t memory_bytes = 0;  // 0: the partition's default
  int64_t cpus = 0;          // 0: as many as its runs at work at a time have threads
  // Nothing: one where a run is computed on cuda, or one for each rank.
  std::optional<int64_t> gpus;
  std::string partition;             // "": the default partition
  std::vector<std::string> options;  // of sbatch, one word each, such as "--account=vision"
  std::set<std::string> given;       // keys that flags have set

  // Sets the value of `key`, a key of [slurm] or its flag. Throws Error(kUsage) that begins with
  // `what` for a text that is no valid value.
  void set(const std::string& key, const std::string& text, std::string_view what);
};

// Adds --slurm and a flag for each of slurm_keys().
void add_slurm_flags(CLI::App& app, SlurmRequest& request);

// Takes the values of an experiment's table that no flag has set.
void take_table(SlurmRequest& request, const std::vector<PlacedSetting>& table);

}  // namespace approx
