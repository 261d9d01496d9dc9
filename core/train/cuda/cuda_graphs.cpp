// Training steps as CUDA graphs, by LibTorch's own: its allocator keeps the memory of a captured
// step for its replays, and the generators that a network draws from go on at each.
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/cuda/CUDAFunctions.h>

#include <exception>
#include <memory>
#include <utility>

#include "core/train/step_recorder.h"

namespace approx {
namespace {

// The memory that captured steps allocate. One pool for all rows: a step leaves nothing there that
// another would look for, so whichever is replayed next may write over it.
struct Pool {
  c10::MempoolId_t id = at::cuda::graph_pool_handle();
};

class CudaGraph final : public RecordedStep {
 public:
  explicit CudaGraph(std::shared_ptr<Pool> memory) : pool(std::move(memory)) {}

  void replay() override { graph.replay(); }

  std::shared_ptr<Pool> pool;
  at::cuda::CUDAGraph graph;
};

class CudaRecorder final : public StepRecorder {
 public:
  explicit CudaRecorder(c10::Device device)
      : streams_(device.type()),
        stream_(streams_.getStreamFromGlobalPool(device, /*isHighPriority=*/false)) {}

  std::unique_ptr<RecordedStep> record(const std::function<void()>& step) override {
    auto pool = pool_.lock();
    if (pool == nullptr) pool_ = pool = std::make_shared<Pool>();
    auto recorded = std::make_unique<CudaGraph>(pool);
    // The stream that steps are otherwise asked in cannot be captured.
    c10::cuda::device_synchronize();
    const c10::StreamGuard captured(stream_);
    recorded->graph.capture_begin(pool->id);
    try {
      step();
    } catch (...) {
      const auto reason = std::current_exception();
      end(recorded->graph);
      std::rethrow_exception(reason);
    }
    recorded->graph.capture_end();
    return recorded;
  }

 private:
  // Ends a capture that went wrong; that there is no graph is known.
  static void end(at::cuda::CUDAGraph& graph) {
    try {
      graph.capture_end();
    } catch (const std::exception&) {
    }
  }

  c10::impl::VirtualGuardImpl streams_;
  c10::Stream stream_;
  std::weak_ptr<Pool> pool_;  // ends with the last graph, and LibTorch takes no id twice
};

std::unique_ptr<StepRecorder> make_recorder(c10::Device device) {
  return std::make_unique<CudaRecorder>(device);
}

[[maybe_unused]] const bool kRegistered = (step_recorder_maker() = make_recorder, true);

}  // namespace
}  // namespace approx
