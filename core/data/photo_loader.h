// Loads photographs as batches of pixels, on threads of its own, some batches ahead of use.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/photo_view.h"

namespace approx {

// One batch: its photographs, and how each is cut (`view.index` is that of the first).
struct PhotoBatchPlan {
  std::vector<int64_t> images;  // indices into the set; empty: there is no such batch
  PhotoView view;
  std::vector<bool> mirrored;  // for each image; empty: as `view` says
};

// Loads batches. A batch depends on its plan alone. It depends neither on the number of threads nor
// on the batches that were asked for before.
class PhotoLoader {
 public:
  // The plan of a step. Called from the thread that calls at(), also for steps ahead.
  using Planner = std::function<PhotoBatchPlan(int64_t step)>;

  // `photos` keeps its owner alive. `workers` >= 1 threads prepare up to `ahead` >= 1 batches
  // beyond the one in use. Each batch takes batch x size x size x 3 bytes.
  PhotoLoader(ImageSet photos, Planner planner, int64_t workers, int64_t ahead);
  ~PhotoLoader();
  PhotoLoader(const PhotoLoader&) = delete;
  PhotoLoader& operator=(const PhotoLoader&) = delete;

  struct Batch {
    int64_t count = 0, size = 0;
    std::span<const uint8_t> pixels;  // [count,size,size,3]
  };

  // The batch of a step, valid until the next call. It is fast for steps in order, from any first
  // one on. Any other step is prepared when it is asked for. Throws Error(kData) if one of its
  // photographs cannot be decoded, and Error(kInternal) for a step without a batch.
  Batch at(int64_t step);

 private:
  struct Slot {
    int64_t step = 0;
    PhotoBatchPlan plan;
    std::vector<uint8_t> pixels;  // reused by later batches
    size_t handed_out = 0, finished = 0;
    std::exception_ptr failure;
    size_t failed_image = 0;

    bool complete() const { return finished == plan.images.size(); }
  };

  void work();
  void end_workers();
  void prepare(Slot& slot, int64_t step);
  void drop_unwanted(std::unique_lock<std::mutex>& lock, int64_t step);

  ImageSet photos_;
  Planner planner_;
  std::mutex mutex_;  // guards the slots and stop_
  std::condition_variable work_, done_;
  // slots_[i] has the batch of step first_ + i; slots_[0] is in use.
  std::vector<Slot> slots_;
  int64_t first_ = -1;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace approx
