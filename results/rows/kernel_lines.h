// A kernel benchmark's result as a line of a table: what `bench-kernel` prints of what it has just
// measured and `report kernels` of what is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/params.h"
#include "results/render/column.h"
#include "results/render/table.h"
#include "results/rows/memory_limit.h"

namespace approx {

struct KernelLine {
  std::string op, shape, method, variant, device, precision, verdict, reason, host;
  std::string baseline_variant;  // the exact path that it is held against; "": not known
  int64_t threads = 0, n = 0;
  // Numbers, or nothing.
  Field ns, baseline_ns, gflops, ratio, ratio_lo, ratio_hi, plan_ns, max_abs_error, max_rel_error,
      dense_flops, density, ceiling_gflops, bytes, memory_gbs;
  Field chosen;  // 1 where a layer takes this variant, 0 where another
  // Of operands that were recorded in a training: its run, how it was trained, and when; nothing
  // of random ones.
  Field run_key, trained_by, step, epoch;

  bool cold = false;      // nothing of it was in the caches
  bool launched = false;  // on a GPU: each call by itself, not as a captured step has it
  std::optional<L2> l2;   // of its device, where that was measured

  // By which memory its bytes are limited.
  std::optional<MemoryLimit> memory_limit() const;

  // Whether it is the exact path that the others are held against.
  bool is_baseline() const;
  // Reads where its operands are from off the shape of a row or of the store.
  void take_origin(const Json& shape);

  // Whether a layer takes this variant and loses by it: more than 2 % against the baseline.
  bool loses() const;
};

// Of a row as docs/events.md says ("kernel").
KernelLine kernel_line(const Json& row);

// What is known of no line is not shown to people.
Table kernel_table(const std::vector<KernelLine>& lines);

// What the columns of such a table are, for people: of those that it has.
std::vector<std::string> kernel_notes(const std::vector<KernelLine>& lines);

// Of a row of v_kernel, in SQL: whether its operands were random and not those of a training, and
// were left in the caches, and it was captured on a GPU. (A search in the text: SQLite's JSON
// functions are for trusted databases.)
inline constexpr const char* kRandomOperands =
    "instr(shape, '\"recorded\":') = 0 AND instr(shape, '\"cold\":') = 0 "
    "AND instr(shape, '\"launched\":') = 0";

// What a table calls a shape: its label, or the numbers of it.
std::string kernel_shape_text(const std::string& label, const Json& shape);

}  // namespace approx
