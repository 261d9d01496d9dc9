#include "kernels/trials/cusparselt.h"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <array>

#include "base/error.h"

namespace approx {
namespace {

// Of the C interface of cuSPARSELt 0.8 (cusparseLt.h, cusparse.h, library_types.h).
constexpr int kRowMajor = 2, kAsItIs = 0, kHalfTheNumbers = 0, kSumsInFloat = 2, kDefault = 0;
constexpr int kNumbersFloat16 = 2, kNumbersBFloat16 = 14;
constexpr uint32_t kAlignment = 16;

int number_type_of(at::ScalarType type) {
  return type == at::kHalf ? kNumbersFloat16 : kNumbersBFloat16;
}

// Null on a CPU, where tests have a library of their own.
void* stream_in_use(at::Device device) {
  if (device.is_cpu()) return nullptr;
  const c10::impl::VirtualGuardImpl guard(device.type());
  return guard.getStreamNativeHandle(guard.getStream(device));
}

}  // namespace

struct CusparseLt::Library {
  struct alignas(16) Opaque {
    std::array<unsigned char, 512> bytes;
  };
  using OfHandle = int (*)(const Opaque* handle);
  using DenseInit = int (*)(const Opaque* handle, Opaque* matrix, int64_t rows, int64_t columns,
                            int64_t row, uint32_t alignment, int type, int order);
  using SparseInit = int (*)(const Opaque* handle, Opaque* matrix, int64_t rows, int64_t columns,
                             int64_t row, uint32_t alignment, int type, int order, int sparsity);
  using ProductInit = int (*)(const Opaque* handle, Opaque* product, int of_a, int of_b,
                              const Opaque* a, const Opaque* b, const Opaque* c, const Opaque* d,
                              int sums);
  using ChoiceInit = int (*)(const Opaque* handle, Opaque* choice, const Opaque* product,
                             int which);
  using PlanInit = int (*)(const Opaque* handle, Opaque* plan, const Opaque* product,
                           const Opaque* choice);
  using Workspace = int (*)(const Opaque* handle, const Opaque* plan, size_t* bytes);
  using CompressedSize = int (*)(const Opaque* handle, const Opaque* matrix, size_t* bytes,
                                 size_t* scratch);
  using Compress = int (*)(const Opaque* handle, const Opaque* matrix, int is_a, int as_it_is,
                           const void* dense, void* compressed, void* scratch, void* stream);
  using Multiply = int (*)(const Opaque* handle, const Opaque* plan, const void* alpha,
                           const void* a, const void* b, const void* beta, const void* c, void* d,
                           void* workspace, void** streams, int32_t stream_count);
  using Destroy = int (*)(const Opaque* object);
  using Reason = const char* (*)(int status);

  explicit Library(const std::string& file) : file_(file) {
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      throw Error(ErrorKind::kDevice, fmt::format("cuSPARSELt cannot be opened: {}", dlerror()));
    }
    init = find<int (*)(Opaque*)>("cusparseLtInit");
    destroy = find<OfHandle>("cusparseLtDestroy");
    dense_init = find<DenseInit>("cusparseLtDenseDescriptorInit");
    sparse_init = find<SparseInit>("cusparseLtStructuredDescriptorInit");
    matrix_destroy = find<Destroy>("cusparseLtMatDescriptorDestroy");
    product_init = find<ProductInit>("cusparseLtMatmulDescriptorInit");
    choice_init = find<ChoiceInit>("cusparseLtMatmulAlgSelectionInit");
    choice_destroy = find<Destroy>("cusparseLtMatmulAlgSelectionDestroy");
    plan_init = find<PlanInit>("cusparseLtMatmulPlanInit");
    plan_destroy = find<Destroy>("cusparseLtMatmulPlanDestroy");
    workspace = find<Workspace>("cusparseLtMatmulGetWorkspace");
    compressed_size = find<CompressedSize>("cusparseLtSpMMACompressedSize2");
    compress = find<Compress>("cusparseLtSpMMACompress2");
    multiply = find<Multiply>("cusparseLtMatmul");
    reason = find<Reason>("cusparseLtGetErrorString");
  }
  ~Library() {
    for (const auto& [device, handle] : handles_) destroy(handle.get());
    dlclose(handle_);
  }
  Library(const Library&) = delete;

  void check(int status, const char* function, const std::string& of) const {
    if (status == 0) return;
    const char* why = reason(status);
    throw Error(ErrorKind::kDevice,
                fmt::format("cuSPARSELt: {} of {}: {} (status {})", function, of,
                            why == nullptr ? "no reason given" : why, status));
  }

  // Of the device, which is the current one.
  const Opaque* handle_of(int device) {
    auto& handle = handles_[device];
    if (handle == nullptr) {
      auto made = std::make_unique<Opaque>();
      check(init(made.get()), "cusparseLtInit", fmt::format("device {}", device));
      handle = std::move(made);
    }
    return handle.get();
  }

  int (*init)(Opaque*) = nullptr;
  OfHandle destroy = nullptr;
  DenseInit dense_init = nullptr;
  SparseInit sparse_init = nullptr;
  ProductInit product_init = nullptr;
  ChoiceInit choice_init = nullptr;
  PlanInit plan_init = nullptr;
  Destroy matrix_destroy = nullptr, choice_destroy = nullptr, plan_destroy = nullptr;
  Workspace workspace = nullptr;
  CompressedSize compressed_size = nullptr;
  Compress compress = nullptr;
  Multiply multiply = nullptr;
  Reason reason = nullptr;

 private:
  template <typename Function>
  Function find(const char* name) const {
    const auto function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function != nullptr) return function;
    dlclose(handle_);
    throw Error(ErrorKind::kDevice,
                fmt::format("{}: has no {}; cuSPARSELt 0.8 is needed", file_, name));
  }

  std::string file_;
  void* handle_ = nullptr;
  std::map<int, std::unique_ptr<Opaque>> handles_;
};

// What is kept of a shape.
struct CusparseLt::Product {
  using Opaque = Library::Opaque;

  Product(Library& opened, at::Device device, int64_t rows, int64_t inner, int64_t columns,
          at::ScalarType type)
      : library(opened),
        text(fmt::format("[{},{}] x [{},{}]", rows, inner, inner, columns)),
        handle(opened.handle_of(device.index())) {
    const int number = number_type_of(type);
    check(library.sparse_init(handle, &a.object, rows, inner, inner, kAlignment, number, kRowMajor,
                              kHalfTheNumbers),
          "cusparseLtStructuredDescriptorInit");
    a.destroy = library.matrix_destroy;
    check(library.dense_init(handle, &b.object, inner, columns, columns, kAlignment, number,
                             kRowMajor),
          "cusparseLtDenseDescriptorInit");
    b.destroy = library.matrix_destroy;
    check(library.dense_init(handle, &d.object, rows, columns, columns, kAlignment, number,
                             kRowMajor),
          "cusparseLtDenseDescriptorInit");
    d.destroy = library.matrix_destroy;
    check(library.product_init(handle, &product, kAsItIs, kAsItIs, &a.object, &b.object, &d.object,
                               &d.object, kSumsInFloat),
          "cusparseLtMatmulDescriptorInit");
    check(library.choice_init(handle, &choice.object, &product, kDefault),
          "cusparseLtMatmulAlgSelectionInit");
    choice.destroy = library.choice_destroy;
    check(library.plan_init(handle, &plan.object, &product, &choice.object),
          "cusparseLtMatmulPlanInit");
    plan.destroy = library.plan_destroy;
    check(library.workspace(handle, &plan.object, &workspace), "cusparseLtMatmulGetWorkspace");
    check(library.compressed_size(handle, &a.object, &compressed, &scratch),
          "cusparseLtSpMMACompressedSize2");
  }

  void check(int status, const char* function) const { library.check(status, function, text); }

  // An object of the library, given back to it where it was made.
  struct Owned {
    ~Owned() {
      if (destroy != nullptr) destroy(&object);
    }
    Opaque object{};
    Library::Destroy destroy = nullptr;
  };

  Library& library;
  const std::string text;
  const Opaque* handle;
  Owned a, b, d;  // (the result is its own addend)
  Opaque product{};
  Owned choice, plan;
  size_t workspace = 0, compressed = 0, scratch = 0;  // bytes
};

CusparseLt::CusparseLt(const std::string& file) : library_(std::make_unique<Library>(file)) {}
CusparseLt::~CusparseLt() = default;

bool CusparseLt::has_plan(at::Device device, int64_t rows, int64_t inner, int64_t columns,
                          at::ScalarType type) {
  const c10::DeviceGuard current(device);
  try {
    product_of(device, rows, inner, columns, type);
    return true;
  } catch (const Error&) {
    return false;
  }
}

CusparseLt::Product& CusparseLt::product_of(at::Device device, int64_t rows, int64_t inner,
                                            int64_t columns, at::ScalarType type) {
  const std::lock_guard lock(mutex_);
  auto& product = products_[{device.index(), rows, inner, columns, type}];
  if (product == nullptr) {
    product = std::make_unique<Product>(*library_, device, rows, inner, columns, type);
  }
  return *product;
}

namespace {

at::Tensor bytes_on(at::Device device, size_t count) {
  return at::empty({static_cast<int64_t>(count)},
                   at::TensorOptions().dtype(at::kByte).device(device));
}

}  // namespace

CusparseLt::Compressed CusparseLt::compress(const at::Tensor& a, int64_t columns) {
  const c10::DeviceGuard current(a.device());
  const Product& of = product_of(a.device(), a.size(0), a.size(1), columns, a.scalar_type());
  Compressed result{bytes_on(a.device(), of.compressed), a.size(0), a.size(1), a.scalar_type()};
  const auto scratch = bytes_on(a.device(), of.scratch);
  of.check(library_->compress(of.handle, &of.a.object, /*is_a=*/1, kAsItIs, a.const_data_ptr(),
                              result.bytes.mutable_data_ptr(), scratch.mutable_data_ptr(),
                              stream_in_use(a.device())),
           "cusparseLtSpMMACompress2");
  return result;
}

at::Tensor CusparseLt::multiply(const Compressed& a, const at::Tensor& b) {
  const c10::DeviceGuard current(b.device());
  const Product& of = product_of(b.device(), a.rows, a.inner, b.size(1), a.type);
  auto d = at::empty({a.rows, b.size(1)}, b.options());
  const auto workspace = bytes_on(b.device(), of.workspace);
  const float one = 1, zero = 0;
  void* stream = stream_in_use(b.device());
  of.check(library_->multiply(of.handle, &of.plan.object, &one, a.bytes.const_data_ptr(),
                              b.const_data_ptr(), &zero, d.const_data_ptr(), d.mutable_data_ptr(),
                              workspace.mutable_data_ptr(), &stream, 1),
           "cusparseLtMatmul");
  return d;
}

}  // namespace approx
