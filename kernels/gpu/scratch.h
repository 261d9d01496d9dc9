// Memory in between, for launches that see no tensors.
#pragma once

#include <cstdint>

namespace approx {

// Memory of the GPU that is current, which stays as long as what is started in its stream may use
// it. Nothing is written there.
class GpuScratch {
 public:
  virtual ~GpuScratch() = default;

  template <typename T>
  T* room_for(int64_t count) {
    return static_cast<T*>(bytes(count * static_cast<int64_t>(sizeof(T))));
  }

 private:
  virtual void* bytes(int64_t count) = 0;
};

}  // namespace approx
