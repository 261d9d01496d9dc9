#include "core/train/trace/trace_writer.h"

#include <cxxabi.h>

#include <algorithm>
#include <cinttypes>
#include <cstdlib>

namespace approx {

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return name;
  std::string result = text;
  std::free(text);
  return result;
}

TraceWriter::TraceWriter(std::FILE* out, const std::string& label) : out_(out) {
  std::string line = label;
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fprintf(out_, "approxtrain-trace 1 %s\n", line.c_str());
}

TraceWriter::~TraceWriter() { std::fclose(out_); }

bool TraceWriter::has_times(const TraceSpan& span) {
  if (span.start == 0 || span.end < span.start) {
    ++lost_;
    return false;
  }
  ++records_;
  if (!began_) {
    first_ = span.start;
    began_ = true;
  }
  return true;
}

void TraceWriter::put_times(const TraceSpan& span) {
  std::fprintf(out_, " %" PRId64 " %" PRIu64, static_cast<int64_t>(span.start - first_),
               span.end - span.start);
}

void TraceWriter::put_launch(const TraceSpan& span) {
  std::fprintf(out_, " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu32 "\n", span.stream, span.graph,
               span.node, span.launch);
}

void TraceWriter::kernel(const TracedKernel& kernel) {
  if (!has_times(kernel.span)) return;
  const auto [name, is_new] = names_.try_emplace(kernel.name, static_cast<int>(names_.size()));
  if (is_new) std::fprintf(out_, "n %d %s\n", name->second, demangled(kernel.name).c_str());
  std::fprintf(out_, "k %d", name->second);
  put_times(kernel.span);
  std::fprintf(out_, " %" PRIu32 " %" PRIu32, kernel.registers, kernel.shared_bytes);
  for (const auto& sizes : {kernel.grid, kernel.block}) {
    std::fprintf(out_, " %d %d %d", sizes[0], sizes[1], sizes[2]);
  }
  put_launch(kernel.span);
}

void TraceWriter::copy(const TraceSpan& span, int kind, uint64_t bytes) {
  if (!has_times(span)) return;
  std::fprintf(out_, "c %d %" PRIu64, kind, bytes);
  put_times(span);
  put_launch(span);
}

void TraceWriter::set(const TraceSpan& span, uint64_t bytes) {
  if (!has_times(span)) return;
  std::fprintf(out_, "s %" PRIu64, bytes);
  put_times(span);
  put_launch(span);
}

void TraceWriter::flush() { std::fflush(out_); }

void TraceWriter::end(uint64_t dropped) {
  std::fprintf(out_, "e %" PRIu64 " %" PRIu64 "\n", records_, lost_ + dropped);
  flush();
}

}  // namespace approx
