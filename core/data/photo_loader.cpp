#include "core/data/photo_loader.h"

#include <algorithm>

#include "base/error.h"

namespace approx {

PhotoLoader::PhotoLoader(ImageSet photos, Planner planner, int64_t workers, int64_t ahead)
    : photos_(std::move(photos)),
      planner_(std::move(planner)),
      slots_(static_cast<size_t>(ahead + 1)) {
  try {
    for (int64_t i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
  } catch (...) {
    end_workers();  // a thread that nobody waits for ends the process
    throw;
  }
}

PhotoLoader::~PhotoLoader() { end_workers(); }

void PhotoLoader::end_workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void PhotoLoader::prepare(Slot& slot, int64_t step) {
  auto plan = planner_(step);
  const auto size = static_cast<size_t>(plan.view.size);
  // Before there is something to do: without memory no worker may write to a short buffer.
  slot.pixels.resize(plan.images.size() * size * size * 3);
  slot.step = step;
  slot.plan = std::move(plan);
  slot.handed_out = slot.finished = 0;
  slot.failure = nullptr;
}

// Empties the slots unless they hold `step` and what follows it, so that they can be filled anew:
// nothing more is handed out of them, and what was is waited for.
void PhotoLoader::drop_unwanted(std::unique_lock<std::mutex>& lock, int64_t step) {
  const auto held = static_cast<int64_t>(slots_.size());
  if (first_ >= 0 && step >= first_ && step < first_ + held) return;
  for (auto& slot : slots_) slot.plan.images.resize(slot.handed_out);
  done_.wait(lock, [this] {
    return std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.complete(); });
  });
  first_ = -1;
}

PhotoLoader::Batch PhotoLoader::at(int64_t step) {
  std::unique_lock lock(mutex_);
  drop_unwanted(lock, step);
  if (first_ < 0) {
    for (size_t i = 0; i < slots_.size(); ++i) prepare(slots_[i], step + static_cast<int64_t>(i));
    first_ = step;
  }
  // Steps before this one are done with; the buffers go to the end of the queue. A batch that was
  // passed over may still be in the making.
  for (int64_t first = first_; first < step; ++first) {
    done_.wait(lock, [this] { return slots_.front().complete(); });
    std::rotate(slots_.begin(), slots_.begin() + 1, slots_.end());
    first_ = -1;  // should the next line throw, all slots are filled anew
    prepare(slots_.back(), first + static_cast<int64_t>(slots_.size()));
    first_ = first + 1;
  }
  work_.notify_all();
  auto& slot = slots_.front();
  done_.wait(lock, [&slot] { return slot.complete(); });
  if (slot.failure) std::rethrow_exception(slot.failure);
  if (slot.plan.images.empty()) {
    throw Error(ErrorKind::kInternal, fmt::format("there is no batch for step {}", step));
  }
  return {static_cast<int64_t>(slot.plan.images.size()), slot.plan.view.size, slot.pixels};
}

void PhotoLoader::work() {
  PhotoViewer viewer;
  std::unique_lock lock(mutex_);
  while (true) {
    const auto has_work = [](const Slot& s) { return s.handed_out < s.plan.images.size(); };
    auto found = slots_.end();
    work_.wait(lock, [&] {
      found = std::find_if(slots_.begin(), slots_.end(), has_work);
      return stop_ || found != slots_.end();
    });
    if (stop_) return;
    const int64_t step = found->step;
    const size_t i = found->handed_out++;
    const int64_t image = found->plan.images[i];
    PhotoView view = found->plan.view;
    view.index += static_cast<uint32_t>(i);
    if (!found->plan.mirrored.empty()) view.mirrored = found->plan.mirrored[i];
    // The buffer stays where it is while slots move in the queue.
    uint8_t* pixels = found->pixels.data() + i * static_cast<size_t>(view.size * view.size * 3);
    lock.unlock();
    std::exception_ptr failure;
    try {
      viewer.render(photos_.photos.file(image), fmt::format("{} {}", photos_.photos.place, image),
                    view, pixels);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    // The slot is still there: one with images in the making is not given another batch.
    auto& slot = *std::find_if(slots_.begin(), slots_.end(),
                               [step](const Slot& s) { return s.step == step; });
    // Of several failures the first in the batch is told, whoever found it first.
    if (failure && (!slot.failure || i < slot.failed_image)) {
      slot.failure = failure;
      slot.failed_image = i;
    }
    if (++slot.finished == slot.plan.images.size()) done_.notify_all();
  }
}

}  // namespace approx
