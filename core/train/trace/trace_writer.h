// Writes the work of a GPU, kernel by kernel, as lines of text. This code knows nothing of CUDA.
// scripts/gpu-trace reads the file. Its first line is "approxtrain-trace 1 LABEL". Each further
// line is one record: a letter, then numbers separated by blanks. Times are nanoseconds since the
// first record of the file, so that a start may be negative. All records except names end in
// stream, graph, node, launch.
//
//   n ID NAME                           the demangled name that kernels call by ID
//   k ID START LENGTH REGISTERS SHARED GRID(3) BLOCK(3) STREAM GRAPH NODE LAUNCH
//   c KIND BYTES START LENGTH STREAM GRAPH NODE LAUNCH    a copy, KIND as CUPTI numbers it
//   s BYTES START LENGTH STREAM GRAPH NODE LAUNCH         a memset
//   e RECORDS LOST                      the process ended normally; LOST records have no times
//
// A file without the line "e" is of a process that was killed. Its last line may be incomplete.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace approx {

// The time and the launch of work on the GPU.
struct TraceSpan {
  uint64_t start = 0, end = 0;  // nanoseconds; both 0 if the GPU gave no times
  uint32_t stream = 0;
  uint32_t graph = 0;   // of a replayed CUDA graph, else 0
  uint64_t node = 0;    // of that graph
  uint32_t launch = 0;  // equal for all kernels of one replay
};

struct TracedKernel {
  TraceSpan span;
  std::string name;  // mangled or not
  uint32_t registers = 0, shared_bytes = 0;
  int32_t grid[3] = {}, block[3] = {};
};

// The C++ name of a symbol, or the symbol itself if it is not mangled.
std::string demangled(const std::string& name);

// For one thread at a time.
class TraceWriter {
 public:
  // Takes ownership of `out`, and closes it at the end. A line break in the label becomes a blank.
  TraceWriter(std::FILE* out, const std::string& label);
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  ~TraceWriter();

  void kernel(const TracedKernel& kernel);
  void copy(const TraceSpan& span, int kind, uint64_t bytes);
  void set(const TraceSpan& span, uint64_t bytes);
  // Passes all lines to the system, so that they are kept if the process is killed.
  void flush();
  // Writes the last line. `dropped` is the number of records that were never delivered.
  void end(uint64_t dropped);

 private:
  // Whether the record has times. Counts it, and starts the clock at the first one.
  bool has_times(const TraceSpan& span);
  void put_times(const TraceSpan& span);
  void put_launch(const TraceSpan& span);

  std::FILE* out_;
  std::map<std::string, int> names_;
  bool began_ = false;
  uint64_t first_ = 0;
  uint64_t records_ = 0, lost_ = 0;
};

}  // namespace approx
