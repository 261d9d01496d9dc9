// libapproxtrain_trace.so: writes down every kernel, copy and memory set of a process that uses a
// GPU, those of replayed CUDA graphs one by one. Nothing links it. The CUDA driver opens it where
// CUDA_INJECTION64_PATH names it (docs/internals/gpu.md, "Traces"):
//
//   APPROXTRAIN_TRACE=PREFIX    writes PREFIX.PID.trace; default: approxtrain
//   APPROXTRAIN_TRACE_LABEL     what the first line of the file says of the run
//
// A worker of the program ends by _exit, which passes by all that atexit has. With LD_PRELOAD of
// the same file, the _exit below is called and the last records are written; without, up to a
// buffer of them is lost.
#include <cupti.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/train/trace/trace_writer.h"

namespace approx {
namespace {

// Small, because a buffer that is not full and has an unfinished record stays with CUPTI.
constexpr size_t kBufferBytes = size_t{1} << 20;
// The first time later: CUDA is still starting when the driver opens this library.
constexpr auto kFlushEvery = std::chrono::milliseconds(250), kFirstFlush = 8 * kFlushEvery;

// The functions of CUPTI that are used, from the library that LibTorch has opened.
struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityFlushAll) flush_all;
  decltype(&cuptiActivityGetNextRecord) next_record;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records;
  decltype(&cuptiGetResultString) result_string;
};

void complain(const std::string& what) {
  std::fprintf(stderr, "approxtrain_trace: %s; nothing is traced\n", what.c_str());
}

bool find_cupti(Cupti& cupti) {
  const std::string name = "libcupti.so." + std::to_string(CUPTI_API_VERSION / 10000);
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    complain(std::string(reason) + ". Add its folder (nvidia/cu13/lib beside torch) to " +
             "LD_LIBRARY_PATH");
    return false;
  }
  const auto find = [library](auto& function, const char* symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    if (function == nullptr) complain("CUPTI has no " + std::string(symbol));
    return function != nullptr;
  };
  return find(cupti.register_callbacks, "cuptiActivityRegisterCallbacks") &&
         find(cupti.enable, "cuptiActivityEnable") &&
         find(cupti.flush_all, "cuptiActivityFlushAll") &&
         find(cupti.next_record, "cuptiActivityGetNextRecord") &&
         find(cupti.dropped_records, "cuptiActivityGetNumDroppedRecords") &&
         find(cupti.result_string, "cuptiGetResultString");
}

struct Trace {
  Cupti cupti{};
  std::mutex writing, flushing;
  std::unique_ptr<TraceWriter> writer;
  pid_t process = 0;  // that is traced; a child of it writes nothing
  std::atomic<bool> ended = false;
};

// Never destroyed: threads of CUPTI use it until the process is gone.
std::atomic<Trace*> current = nullptr;

template <typename Record>
TraceSpan span_of(const Record& record) {
  return {record.start,   record.end,         record.streamId,
          record.graphId, record.graphNodeId, record.correlationId};
}

void write_record(const CUpti_Activity* record, TraceWriter& writer) {
  if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
      record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
    const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    writer.kernel({.span = span_of(kernel),
                   .name = kernel.name == nullptr ? "?" : kernel.name,
                   .registers = kernel.registersPerThread,
                   .shared_bytes = static_cast<uint32_t>(kernel.staticSharedMemory) +
                                   static_cast<uint32_t>(kernel.dynamicSharedMemory),
                   .grid = {kernel.gridX, kernel.gridY, kernel.gridZ},
                   .block = {kernel.blockX, kernel.blockY, kernel.blockZ}});
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
    writer.copy(span_of(copy), copy.copyKind, copy.bytes);
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    const auto& set = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
    writer.set(span_of(set), set.bytes);
  }
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  Trace& trace = *current;
  {
    const std::lock_guard lock(trace.writing);
    CUpti_Activity* record = nullptr;
    while (valid_bytes > 0 &&
           trace.cupti.next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
      write_record(record, *trace.writer);
    }
    trace.writer->flush();
  }
  std::free(buffer);
}

void flush(Trace& trace, uint32_t how) {
  const std::lock_guard lock(trace.flushing);
  trace.cupti.flush_all(how);
}

// Once, and not in a process that was forked from the traced one.
void end_trace() {
  Trace* trace = current;
  if (trace == nullptr || trace->process != getpid() || trace->ended.exchange(true)) return;
  flush(*trace, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  size_t dropped = 0;
  trace->cupti.dropped_records(nullptr, 0, &dropped);
  const std::lock_guard lock(trace->writing);
  trace->writer->end(dropped);
}

bool begin_trace() {
  auto trace = std::make_unique<Trace>();
  if (!find_cupti(trace->cupti)) return false;
  const char* prefix = std::getenv("APPROXTRAIN_TRACE");
  const char* label = std::getenv("APPROXTRAIN_TRACE_LABEL");
  trace->process = getpid();
  const std::string file = std::string(prefix != nullptr && *prefix ? prefix : "approxtrain") +
                           "." + std::to_string(trace->process) + ".trace";
  std::FILE* out = std::fopen(file.c_str(), "w");
  if (out == nullptr) {
    complain("cannot write " + file);
    return false;
  }
  trace->writer = std::make_unique<TraceWriter>(out, label == nullptr ? "" : label);
  // From here on CUPTI may call back, so what it needs stays.
  Trace& kept = *trace.release();
  current = &kept;
  auto result = kept.cupti.register_callbacks(give_buffer, take_buffer);
  // Without CUPTI_ACTIVITY_KIND_GRAPH_TRACE, which would give one record for a whole replay.
  for (const auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                          CUPTI_ACTIVITY_KIND_MEMSET}) {
    if (result == CUPTI_SUCCESS) result = kept.cupti.enable(kind);
  }
  if (result != CUPTI_SUCCESS) {
    const char* reason = "?";
    kept.cupti.result_string(result, &reason);
    complain(std::string("CUPTI gives no records: ") + reason);
    kept.ended = true;
    std::remove(file.c_str());
    return false;
  }
  std::atexit(end_trace);
  std::thread([&kept] {
    std::this_thread::sleep_for(kFirstFlush);
    while (!kept.ended) {
      flush(kept, 0);
      std::this_thread::sleep_for(kFlushEvery);
    }
  }).detach();
  return true;
}

}  // namespace
}  // namespace approx

// By the CUDA driver, once, before it does anything else. 1 where all is well.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static const bool began = approx::begin_trace();
  return began ? 1 : 0;
}

extern "C" __attribute__((visibility("default"))) void _exit(int status) {
  approx::end_trace();
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}
