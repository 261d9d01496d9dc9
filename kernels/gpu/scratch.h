// Temporary memory for launches that see no tensors.
#pragma once

#include <cstdint>

namespace approx {

// Memory of the current GPU. It stays as long as work started in its stream may use it. It is not
// initialised.
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
