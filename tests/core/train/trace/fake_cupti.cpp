// In the place of CUPTI: a GPU that replays graph 5 three times with a kernel beside it, as soon as
// records are asked for. FAKE_CUPTI=refuse: records cannot be had.
#include <cupti.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
bool kernels = false, copies = false, sets = false, done = false;

CUpti_ActivityKernel10 kernel(const char* name, uint64_t start, uint64_t length, uint32_t graph,
                              uint64_t node, uint32_t launch) {
  CUpti_ActivityKernel10 record;
  std::memset(&record, 0, sizeof record);
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = name;
  record.start = start;
  record.end = start + length;
  record.graphId = graph;
  record.graphNodeId = node;
  record.correlationId = launch;
  record.registersPerThread = 32;
  record.gridX = record.gridY = record.gridZ = record.blockX = record.blockY = record.blockZ = 1;
  return record;
}

struct Buffer {
  uint8_t* data = nullptr;
  size_t size = 0, used = 0;
  template <typename Record>
  void add(const Record& record) {
    std::memcpy(data + used, &record, sizeof record);
    used += sizeof record;
  }
};

size_t size_of(const CUpti_Activity* record) {
  if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) return sizeof(CUpti_ActivityMemcpy6);
  if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) return sizeof(CUpti_ActivityMemset4);
  return sizeof(CUpti_ActivityKernel10);
}

}  // namespace

extern "C" {

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc ask,
                                           CUpti_BuffersCallbackCompleteFunc give) {
  request = ask;
  complete = give;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const char* how = std::getenv("FAKE_CUPTI");
  if (how != nullptr && std::string_view(how) == "refuse") return CUPTI_ERROR_NOT_SUPPORTED;
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) kernels = true;
  if (kind == CUPTI_ACTIVITY_KIND_MEMCPY) copies = true;
  if (kind == CUPTI_ACTIVITY_KIND_MEMSET) sets = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t) {
  if (done || !kernels || !copies || !sets) return CUPTI_SUCCESS;
  done = true;
  Buffer buffer;
  size_t most = 0;
  request(&buffer.data, &buffer.size, &most);
  for (uint32_t step = 0; step < 3; ++step) {
    const uint64_t begin = 1'000'000 + 10'000 * step;
    buffer.add(kernel("augment", begin, 1000, 0, 0, 100 + step));
    buffer.add(kernel("_ZN6approx5emptyEi", begin + 2000, 3000, 5, 1, step + 1));
    CUpti_ActivityMemset4 set;
    std::memset(&set, 0, sizeof set);
    set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    set.bytes = 64;
    set.start = begin + 6000;
    set.end = begin + 7000;
    set.graphId = 5;
    set.graphNodeId = 2;
    set.correlationId = step + 1;
    buffer.add(set);
  }
  CUpti_ActivityMemcpy6 copy;
  std::memset(&copy, 0, sizeof copy);
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy.bytes = 4;
  copy.start = 2'000'000;
  copy.end = 2'000'100;
  buffer.add(copy);
  complete(nullptr, 0, buffer.data, buffer.size, buffer.used);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  auto* next = *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + size_of(*record);
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = 4;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "not supported here";
  return CUPTI_SUCCESS;
}

}  // extern "C"
