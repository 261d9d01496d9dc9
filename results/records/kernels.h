// The result of a kernel benchmark: measured just now by `bench-kernel`, or read from a store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_text.h"
#include "base/params.h"
#include "results/records/snapshot.h"
#include "results/stats/stats.h"

namespace approx {

// The L2 cache of a GPU, as it was measured.
struct L2 {
  double bytes = 0;  // its size
  double gbs = 0;    // of a copy inside it, bytes read and written
};

// Reads {"l2": {"bytes", "gbs"}} from a row of a benchmark or from a stored environment. Nothing
// where `json` has no L2.
std::optional<L2> l2_of(const Json& json);

enum class MemoryLevel { kMemory, kL2 };

constexpr auto enum_texts(MemoryLevel) {
  return std::to_array<EnumText<MemoryLevel>>(
      {{MemoryLevel::kMemory, "memory"}, {MemoryLevel::kL2, "L2"}});
}

// The memory that limits a kernel, and its speed.
struct MemoryLimit {
  MemoryLevel level = MemoryLevel::kMemory;
  double gbs = 0;
};

// The memory that limits a product which moves `bytes`. The L2 is the limit if it was measured, if
// the bytes fit in it and if the calls are warm. Else the device's memory is the limit;
// `memory_gbs` is the rate of a copy in it. Nothing where one of the numbers is missing.
std::optional<MemoryLimit> memory_limit(std::optional<double> bytes, bool cold,
                                        std::optional<double> memory_gbs,
                                        const std::optional<L2>& l2);

// The share of a limit that a product reaches which moves `bytes` in `ns`.
double share_of(const MemoryLimit& limit, double bytes, double ns);

struct KernelLine {
  int64_t run_id = 0, case_id = 0, host_id = 0;  // in the store
  std::string experiment;                        // the one that asked for it; "" for none
  std::string op, label, method, variant, device, precision, verdict, reason, host;
  std::string baseline_variant;  // the exact path that it is compared with; "": not known
  int64_t threads = 1, n = 0;
  // Nothing where no number was measured. Values that are not finite are kept as they are.
  std::optional<double> ns, baseline_ns, gflops, ratio, ratio_lo, ratio_hi, plan_ns, max_abs_error,
      max_rel_error, dense_flops, density, ceiling_gflops, bytes, memory_gbs;
  // The median clock of its repetitions and of those of the exact path: of the core on a CPU, of
  // the multiprocessors on a GPU.
  std::optional<double> clock_mhz, baseline_clock_mhz;
  // Repetitions that were left out because something held the device back, by what.
  Json held_back = Json::object();
  std::optional<bool> chosen;  // whether a layer takes this variant
  // The shape as an object and as the text in the store. For recorded operands it also names the
  // run that they come from, how it was trained, and when they were recorded.
  Json shape;
  std::string shape_text;
  std::optional<std::string> run_key, trained_by;
  std::optional<int64_t> step;
  std::optional<double> epoch;
  bool recorded = false;
  bool cold = false;  // the caches held none of the operands
  // On a GPU: each call was launched separately, not replayed in a captured step.
  bool launched = false;
  std::optional<L2> l2;  // of its device, where it was measured

  // The shape in a table: its label, or its numbers.
  std::string shape_name() const;

  // The memory that limits it.
  std::optional<MemoryLimit> memory_limit() const;

  // Whether it approximates; false for exact paths.
  bool approximates() const;

  // Whether it is a usual case: random operands, warm caches, and on a GPU captured.
  bool is_usual() const { return !recorded && !cold && !launched; }

  // Whether it is the exact path that the others are compared with.
  bool is_baseline() const;

  // Whether a layer takes this variant although its speedup over the baseline is below 0.98.
  bool loses() const;

  // Its speedup over the exact path. None for exact paths, and where the quotient is not finite.
  // Throws Error(kDatabase) for numbers that no measurement can give.
  std::optional<Ratio> speedup() const;
};

// Makes a line from a row of the format in docs/internals/events.md ("kernel").
KernelLine kernel_line(const Json& row);

// All results of a store, ordered by case; results of a case are ordered by time, the earliest
// first. Snapshot::kernels reads them once.
std::vector<KernelLine> read_kernels(SQLite::Database& db);

}  // namespace approx
