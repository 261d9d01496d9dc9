// cuSPARSELt, NVIDIA's library of products with a matrix in which two of every four neighbours are
// zero. It comes with LibTorch's CUDA half. It is opened by name and never linked, so that machines
// without it need nothing.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

namespace approx {

class CusparseLt {
 public:
  // The file that LibTorch opens.
  static constexpr const char* kFile = "libcusparseLt.so.0";

  // Throws Error(kDevice), in one line with the loader's reason, where it cannot be opened or lacks
  // a needed function.
  explicit CusparseLt(const std::string& file = kFile);
  ~CusparseLt();
  CusparseLt(const CusparseLt&) = delete;

  // Whether the library has a plan for such a product (see compress) on the device; not every GPU
  // has one.
  bool has_plan(at::Device device, int64_t rows, int64_t inner, int64_t columns,
                at::ScalarType type);

  // A matrix in the library's own format, which only the library reads.
  struct Compressed {
    at::Tensor bytes;
    int64_t rows = 0, inner = 0;
    at::ScalarType type = at::kBFloat16;
  };

  // Compresses `a` [rows,inner], bfloat16 or float16, with contiguous rows. At most two of every
  // four neighbours in a row are not zero. Rows, inner and columns are multiples of sixteen, and
  // `a` is multiplied by matrices of `columns` columns.
  Compressed compress(const at::Tensor& a, int64_t columns);

  // Multiplies `a` by b [inner,columns], of equal type and on the same device: [rows,columns],
  // summed in float. Handles are kept by device, descriptors and plans by shape. All work is in the
  // current stream, and nothing waits.
  // Both functions throw Error(kDevice) with the function that failed, its reason and the shape.
  at::Tensor multiply(const Compressed& a, const at::Tensor& b);

 private:
  struct Library;
  struct Product;
  using Key = std::tuple<int, int64_t, int64_t, int64_t, at::ScalarType>;

  Product& product_of(at::Device device, int64_t rows, int64_t inner, int64_t columns,
                      at::ScalarType type);

  std::unique_ptr<Library> library_;
  std::mutex mutex_;  // of the kept objects: backward passes have threads of their own
  std::map<Key, std::unique_ptr<Product>> products_;
};

}  // namespace approx
