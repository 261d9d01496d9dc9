// A kernel benchmark's result: as `bench-kernel` has just measured it, and as a store has it.
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

// The cache that the multiprocessors of a GPU share, as it was measured.
struct L2 {
  double bytes = 0;  // that it holds
  double gbs = 0;    // of a copy that stays in it, read and written
};

// {"l2": {"bytes", "gbs"}} of a row of a benchmark, or of the environment that the store keeps of
// one; nothing where that says nothing of it.
std::optional<L2> l2_of(const Json& json);

enum class MemoryLevel { kMemory, kL2 };

constexpr auto enum_texts(MemoryLevel) {
  return std::to_array<EnumText<MemoryLevel>>(
      {{MemoryLevel::kMemory, "memory"}, {MemoryLevel::kL2, "L2"}});
}

// Which memory of a device a kernel's bytes are held against, and how fast that is.
struct MemoryLimit {
  MemoryLevel level = MemoryLevel::kMemory;
  double gbs = 0;
};

// The limit of a product that has to move `bytes`. Called again and again it finds in the L2 what
// fits there; cold, or of more bytes, or where no L2 was measured, it is held against the device's
// memory (`memory_gbs`, of a copy). Nothing where one of the numbers is missing.
std::optional<MemoryLimit> memory_limit(std::optional<double> bytes, bool cold,
                                        std::optional<double> memory_gbs,
                                        const std::optional<L2>& l2);

// What share of a limit a product reaches that moves `bytes` in `ns`.
double share_of(const MemoryLimit& limit, double bytes, double ns);

struct KernelLine {
  int64_t run_id = 0, case_id = 0, host_id = 0;  // in the store
  std::string experiment;                        // that asked for it, "" for none
  std::string op, label, method, variant, device, precision, verdict, reason, host;
  std::string baseline_variant;  // the exact path that it is held against; "": not known
  int64_t threads = 1, n = 0;
  // Numbers, or nothing. One that is not finite is here what it was.
  std::optional<double> ns, baseline_ns, gflops, ratio, ratio_lo, ratio_hi, plan_ns, max_abs_error,
      max_rel_error, dense_flops, density, ceiling_gflops, bytes, memory_gbs;
  std::optional<bool> chosen;  // whether a layer takes this variant
  // The shape, an object, and what the store has as its text. It also says where the operands are
  // from: of those that were recorded in a training its run, how it was trained, and when.
  Json shape;
  std::string shape_text;
  std::optional<std::string> run_key, trained_by;
  std::optional<int64_t> step;
  std::optional<double> epoch;
  bool recorded = false;
  bool cold = false;      // nothing of it was in the caches
  bool launched = false;  // on a GPU: each call by itself, not as a captured step has it
  std::optional<L2> l2;   // of its device, where that was measured

  // What a table calls the shape: its label, or the numbers of it.
  std::string shape_name() const;

  // By which memory its bytes are limited.
  std::optional<MemoryLimit> memory_limit() const;

  // Whether it approximates, and is not one of the exact paths.
  bool approximates() const;

  // Whether its operands were random, were left in the caches, and on a GPU it was captured.
  bool is_usual() const { return !recorded && !cold && !launched; }

  // Whether it is the exact path that the others are held against.
  bool is_baseline() const;

  // Whether a layer takes this variant and loses by it: more than 2 % against the baseline.
  bool loses() const;

  // How many times as fast as the exact path it is; none where that is no finite number, and of the
  // exact paths. Throws Error(kDatabase) for numbers that nothing measures.
  std::optional<Ratio> speedup() const;
};

// Of a row as docs/internals/events.md says ("kernel").
KernelLine kernel_line(const Json& row);

// All results of a store, by their cases, of each case the earliest first. Snapshot::kernels reads
// them once.
std::vector<KernelLine> read_kernels(SQLite::Database& db);

}  // namespace approx
