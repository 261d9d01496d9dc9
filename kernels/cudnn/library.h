// cuDNN as it is found at run time: opened by name, as LibTorch's CUDA half is, and never linked. A
// machine without it has none.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cudnn/interface.h"

namespace approx::cudnn {

inline constexpr const char* kLibraryFile = "libcudnn.so.9";

class Library {
 public:
  // Null where there is no such library, or one without these functions; `why` is told the reason.
  // It stays open until the process ends: so do threads and memory of its own.
  static std::shared_ptr<const Library> open(const std::string& file = kLibraryFile,
                                             std::string* why = nullptr);

  // 91900: 9.19.0.
  int64_t version() const { return static_cast<int64_t>(call.version()); }

  // Throws Error(kInternal) where `status` is none of success: what did not work, what cuDNN calls
  // that and what it says of it, in one line.
  void check(int status, std::string_view what) const;

  Functions call;
};

// A descriptor of cuDNN's, which goes when the object does.
class Owned {
 public:
  // Throws Error(kInternal), as all that follows but where it says otherwise.
  Owned(std::shared_ptr<const Library> library, Kind kind);
  ~Owned();
  Owned(Owned&& other) noexcept;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  Descriptor get() const { return descriptor_; }

  template <typename Value>
  void set(Attribute attribute, Type type, const std::vector<Value>& values) {
    set_raw(attribute, type, static_cast<int64_t>(values.size()), values.data());
  }
  template <typename Value>
  void set_one(Attribute attribute, Type type, const Value& value) {
    set_raw(attribute, type, 1, &value);
  }
  void set_descriptor(Attribute attribute, const Owned& other) {
    set_one(attribute, Type::kDescriptor, other.get());
  }

  void finalize(std::string_view what);
  // False where it is not one that can be: not this shape, not this device.
  bool can_finalize();

  // At most `most` values; empty where it has none.
  template <typename Value>
  std::vector<Value> values(Attribute attribute, Type type, int64_t most) const {
    std::vector<Value> values(static_cast<size_t>(most));
    values.resize(static_cast<size_t>(get_raw(attribute, type, most, values.data())));
    return values;
  }
  // Of a kind; as many as it has.
  std::vector<Owned> descriptors(Attribute attribute, Kind kind) const;

 private:
  void set_raw(Attribute attribute, Type type, int64_t count, const void* values);
  // How many were written.
  int64_t get_raw(Attribute attribute, Type type, int64_t room, void* values) const;

  std::shared_ptr<const Library> library_;
  Descriptor descriptor_ = nullptr;
};

}  // namespace approx::cudnn
