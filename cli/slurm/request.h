// What a user asks a cluster for: --slurm and its flags, and the table [slurm] of an experiment.
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
  int64_t tasks = 0;    // of each array, as split_runs takes it
  int64_t at_once = 0;  // tasks of an array at work at the same time, 0: no limit of ours
  // For each task:
  Nanoseconds time{0};               // 0: what the partition gives
  int64_t memory_bytes = 0;          // 0: likewise
  int64_t cpus = 0;                  // 0: the threads of its runs at work at the same time
  std::optional<int64_t> gpus;       // nothing: one where a run is computed on cuda, or each rank's
  std::string partition;             // "": the default one
  std::vector<std::string> options;  // of sbatch, one word each, such as "--account=vision"
  std::set<std::string> given;       // the keys that flags have set

  // Sets what `key` of [slurm] or its flag says. Throws Error(kUsage) that begins with `what` for a
  // text that is no such value.
  void set(const std::string& key, const std::string& text, std::string_view what);
};

// --slurm and a flag for each of slurm_keys().
void add_slurm_flags(CLI::App& app, SlurmRequest& request);

// Takes from an experiment's table what no flag has said.
void take_table(SlurmRequest& request, const std::vector<PlacedSetting>& table);

}  // namespace approx
