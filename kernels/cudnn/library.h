// cuDNN, found at run time. It is opened by name, like LibTorch's CUDA half, and never linked. On a
// machine without it there is no Library.
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
  // Null where there is no such library, or where it lacks one of these functions; `why` is set to
  // the reason. The library stays open until the process ends, since it has threads and memory of
  // its own.
  static std::shared_ptr<const Library> open(const std::string& file = kLibraryFile,
                                             std::string* why = nullptr);

  // The version, such as 91900 for 9.19.0.
  int64_t version() const { return static_cast<int64_t>(call.version()); }

  // Throws Error(kInternal) unless `status` is success. The message has, in one line, `what`
  // failed, cuDNN's name for the status, and cuDNN's explanation.
  void check(int status, std::string_view what) const;

  Functions call;
};

// A descriptor of cuDNN, destroyed with the object.
class Owned {
 public:
  // Throws Error(kInternal), as the functions below do unless they say otherwise.
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
  // Finalizes the descriptor. False where this is impossible for this shape or device.
  bool can_finalize();

  // The values of an attribute, at most `most`; empty where it has none.
  template <typename Value>
  std::vector<Value> values(Attribute attribute, Type type, int64_t most) const {
    std::vector<Value> values(static_cast<size_t>(most));
    values.resize(static_cast<size_t>(get_raw(attribute, type, most, values.data())));
    return values;
  }
  // All descriptors of one kind in an attribute.
  std::vector<Owned> descriptors(Attribute attribute, Kind kind) const;

 private:
  void set_raw(Attribute attribute, Type type, int64_t count, const void* values);
  // Returns how many were written.
  int64_t get_raw(Attribute attribute, Type type, int64_t room, void* values) const;

  std::shared_ptr<const Library> library_;
  Descriptor descriptor_ = nullptr;
};

}  // namespace approx::cudnn
