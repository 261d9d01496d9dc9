// Writes what a GPU did, kernel by kernel, as lines of text. Knows nothing of CUDA. The file is
// read by scripts/gpu-trace. Its first line is "approxtrain-trace 1 LABEL". Each further line is
// one record: a letter, then numbers separated by blanks. Times are nanoseconds since the first
// record of the file, so a start may be negative. All records but names end in stream, graph, node,
// launch.
//
//   n ID NAME                           the demangled name that kernels call by ID
//   k ID START LENGTH REGISTERS SHARED GRID(3) BLOCK(3) STREAM GRAPH NODE LAUNCH
//   c KIND BYTES START LENGTH STREAM GRAPH NODE LAUNCH    a copy, KIND as CUPTI numbers it
//   s BYTES START LENGTH STREAM GRAPH NODE LAUNCH         a memory that was set
//   e RECORDS LOST                      the process ended in order; LOST records have no times
//
// A file without the line "e" is of a process that was killed. Its last line may be incomplete.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace approx {

// When and for which launch something ran on the GPU.
struct TraceSpan {
  uint64_t start = 0, end = 0;  // nanoseconds; both 0 where the GPU gave no times
  uint32_t stream = 0;
  uint32_t graph = 0;   // of a replayed CUDA graph, 0 of everything else
  uint64_t node = 0;    // of that graph
  uint32_t launch = 0;  // the same for all kernels of one replay
};

struct TracedKernel {
  TraceSpan span;
  std::string name;  // mangled or not
  uint32_t registers = 0, shared_bytes = 0;
  int32_t grid[3] = {}, block[3] = {};
};

// The C++ name of a symbol, or the symbol itself where it is not mangled.
std::string demangled(const std::string& name);

// Not for several threads at once.
class TraceWriter {
 public:
  // Takes over `out`, which is closed at the end. A line break in the label becomes a blank.
  TraceWriter(std::FILE* out, const std::string& label);
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  ~TraceWriter();

  void kernel(const TracedKernel& kernel);
  void copy(const TraceSpan& span, int kind, uint64_t bytes);
  void set(const TraceSpan& span, uint64_t bytes);
  // Hands all lines to the system, so that they stay if the process is killed.
  void flush();
  // The last line. `dropped` is the number of records that were never delivered.
  void end(uint64_t dropped);

 private:
  // Whether the record has times. Counts it, and begins the clock at the first one.
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
