#include "kernels/cudnn/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace approx::cudnn {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The name of the first that is missing, "" where all are there.
std::string missing_function(void* library, Functions& call) {
  std::string missing;
  const auto need = [&](const char* name, auto& function) {
    if (!find(library, name, function) && missing.empty()) missing = name;
  };
  find(library, "cudnnGetLastErrorString", call.last_error);
  need("cudnnGetVersion", call.version);
  need("cudnnGetErrorString", call.error_name);
  need("cudnnCreate", call.create);
  need("cudnnDestroy", call.destroy);
  need("cudnnSetStream", call.set_stream);
  need("cudnnBackendCreateDescriptor", call.create_descriptor);
  need("cudnnBackendDestroyDescriptor", call.destroy_descriptor);
  need("cudnnBackendFinalize", call.finalize);
  need("cudnnBackendSetAttribute", call.set);
  need("cudnnBackendGetAttribute", call.get);
  need("cudnnBackendExecute", call.execute);
  return missing;
}

// The first line of what the library says of the last error in this thread.
std::string last_error(const Functions& call) {
  if (call.last_error == nullptr) return {};
  char text[512] = {};
  call.last_error(text, sizeof text);
  return std::string(first_line(text));
}

}  // namespace

std::shared_ptr<const Library> Library::open(const std::string& file, std::string* why) {
  const auto none = [&](const std::string& reason) {
    if (why != nullptr) *why = reason;
    return nullptr;
  };
  void* opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return none(dlerror());
  auto library = std::make_shared<Library>();
  if (const auto missing = missing_function(opened, library->call); !missing.empty()) {
    dlclose(opened);
    return none(fmt::format("{}: no {} in it", file, missing));
  }
  return library;
}

void Library::check(int status, std::string_view what) const {
  if (status == 0) return;
  const std::string said = last_error(call);
  throw Error(ErrorKind::kInternal,
              fmt::format("cuDNN {}: {}: {}{}", version(), what, call.error_name(status),
                          said.empty() ? "" : fmt::format(" ({})", said)));
}

Owned::Owned(std::shared_ptr<const Library> library, Kind kind) : library_(std::move(library)) {
  library_->check(library_->call.create_descriptor(static_cast<int>(kind), &descriptor_),
                  fmt::format("a descriptor of kind {}", static_cast<int>(kind)));
}

Owned::~Owned() {
  if (descriptor_ != nullptr) library_->call.destroy_descriptor(descriptor_);
}

Owned::Owned(Owned&& other) noexcept
    : library_(std::move(other.library_)), descriptor_(std::exchange(other.descriptor_, nullptr)) {}

void Owned::finalize(std::string_view what) {
  library_->check(library_->call.finalize(descriptor_), what);
}

bool Owned::can_finalize() { return library_->call.finalize(descriptor_) == 0; }

std::vector<Owned> Owned::descriptors(Attribute attribute, Kind kind) const {
  // Of some attributes cuDNN counts what there is, of others only what it writes.
  constexpr int64_t kRoom = 64;
  int64_t count = get_raw(attribute, Type::kDescriptor, 0, nullptr);
  if (count == 0) count = kRoom;
  std::vector<Owned> found;
  std::vector<Descriptor> pointers;
  for (int64_t i = 0; i < count; ++i) {
    found.emplace_back(library_, kind);
    pointers.push_back(found.back().get());
  }
  count = get_raw(attribute, Type::kDescriptor, count, pointers.data());
  while (static_cast<int64_t>(found.size()) > count) found.pop_back();
  return found;
}

void Owned::set_raw(Attribute attribute, Type type, int64_t count, const void* values) {
  library_->check(library_->call.set(descriptor_, static_cast<int>(attribute),
                                     static_cast<int>(type), count, values),
                  fmt::format("attribute {}", static_cast<int>(attribute)));
}

int64_t Owned::get_raw(Attribute attribute, Type type, int64_t room, void* values) const {
  int64_t count = 0;
  library_->check(library_->call.get(descriptor_, static_cast<int>(attribute),
                                     static_cast<int>(type), room, &count, values),
                  fmt::format("attribute {}", static_cast<int>(attribute)));
  return room == 0 ? count : std::min(count, room);
}

}  // namespace approx::cudnn
