// cuSPARSELt for tests (kernels/trials/cusparselt.h), on a CPU's memory. Its compressed
// format is the whole matrix behind a header; FAKE_CUSPARSELT_FAILS names a function that fails.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "kernels/bfloat16.h"
#include "kernels/float16.h"

namespace {

constexpr int kInvalid = 3, kNotSupported = 10;
constexpr int kFloat16 = 2, kBFloat16 = 14, kRowMajor = 2;

std::map<std::string, int>& calls() {
  static std::map<std::string, int> counted;
  return counted;
}

int called(const char* function) {
  ++calls()[function];
  const char* failing = std::getenv("FAKE_CUSPARSELT_FAILS");
  return failing != nullptr && std::strcmp(failing, function) == 0 ? kNotSupported : 0;
}

// What lies in the library's objects.
struct Matrix {
  int64_t rows, columns;
  int type;
  bool sparse;
};
struct Product {
  Matrix a, b, d;
};
constexpr uint64_t kOpen = 0x5EED;

int described(const char* function, const uint64_t* handle, Matrix* matrix, const Matrix& as,
              int64_t row, uint32_t alignment, int order) {
  const int64_t unit = as.sparse ? 16 : 8;
  if (*handle != kOpen || as.rows % unit != 0 || as.columns % unit != 0 || row != as.columns ||
      alignment % 16 != 0 || order != kRowMajor || (as.type != kFloat16 && as.type != kBFloat16)) {
    return kInvalid;
  }
  *matrix = as;
  return called(function);
}

float number(const void* numbers, int64_t at, int type) {
  if (type == kFloat16) return static_cast<float>(static_cast<const approx::Float16*>(numbers)[at]);
  return static_cast<float>(static_cast<const approx::BFloat16*>(numbers)[at]);
}

void write(void* numbers, int64_t at, int type, float value) {
  if (type == kFloat16) {
    static_cast<approx::Float16*>(numbers)[at] = approx::Float16(value);
  } else {
    static_cast<approx::BFloat16*>(numbers)[at] = approx::BFloat16(value);
  }
}

constexpr char kHeader[] = "two of four    ";

}  // namespace

// The names are the library's. NOLINTBEGIN(readability-identifier-naming)
extern "C" {

int fake_cusparselt_calls(const char* function) { return calls()[function]; }

const char* cusparseLtGetErrorString(int status) {
  return status == kNotSupported ? "operation not supported" : "invalid value";
}

int cusparseLtInit(uint64_t* handle) {
  *handle = kOpen;
  return called("cusparseLtInit");
}

int cusparseLtDestroy(const uint64_t* handle) {
  return *handle == kOpen ? called("cusparseLtDestroy") : kInvalid;
}

int cusparseLtDenseDescriptorInit(const uint64_t* handle, Matrix* matrix, int64_t rows,
                                  int64_t columns, int64_t row, uint32_t alignment, int type,
                                  int order) {
  return described("cusparseLtDenseDescriptorInit", handle, matrix, {rows, columns, type, false},
                   row, alignment, order);
}

int cusparseLtStructuredDescriptorInit(const uint64_t* handle, Matrix* matrix, int64_t rows,
                                       int64_t columns, int64_t row, uint32_t alignment, int type,
                                       int order, int sparsity) {
  if (sparsity != 0) return kInvalid;
  return described("cusparseLtStructuredDescriptorInit", handle, matrix,
                   {rows, columns, type, true}, row, alignment, order);
}

int cusparseLtMatDescriptorDestroy(const Matrix* /*matrix*/) {
  return called("cusparseLtMatDescriptorDestroy");
}

int cusparseLtMatmulDescriptorInit(const uint64_t* /*handle*/, Product* product, int of_a, int of_b,
                                   const Matrix* a, const Matrix* b, const Matrix* c,
                                   const Matrix* d, int sums) {
  if (of_a != 0 || of_b != 0 || sums != 2 || !a->sparse || a->columns != b->rows ||
      a->rows != d->rows || b->columns != d->columns || c->rows != d->rows) {
    return kInvalid;
  }
  *product = {*a, *b, *d};
  return called("cusparseLtMatmulDescriptorInit");
}

int cusparseLtMatmulAlgSelectionInit(const uint64_t* /*handle*/, int* choice,
                                     const Product* /*product*/, int which) {
  *choice = which;
  return called("cusparseLtMatmulAlgSelectionInit");
}

int cusparseLtMatmulAlgSelectionDestroy(const int* /*choice*/) {
  return called("cusparseLtMatmulAlgSelectionDestroy");
}

int cusparseLtMatmulPlanInit(const uint64_t* /*handle*/, Product* plan, const Product* product,
                             const int* choice) {
  if (*choice != 0) return kInvalid;
  *plan = *product;
  return called("cusparseLtMatmulPlanInit");
}

int cusparseLtMatmulPlanDestroy(const Product* /*plan*/) {
  return called("cusparseLtMatmulPlanDestroy");
}

int cusparseLtMatmulGetWorkspace(const uint64_t* /*handle*/, const Product* /*plan*/,
                                 size_t* bytes) {
  *bytes = 64;
  return called("cusparseLtMatmulGetWorkspace");
}

int cusparseLtSpMMACompressedSize2(const uint64_t* /*handle*/, const Matrix* matrix, size_t* bytes,
                                   size_t* scratch) {
  *bytes = sizeof kHeader + static_cast<size_t>(matrix->rows * matrix->columns) * 2;
  *scratch = 32;
  return called("cusparseLtSpMMACompressedSize2");
}

int cusparseLtSpMMACompress2(const uint64_t* /*handle*/, const Matrix* matrix, int is_a,
                             int as_it_is, const void* dense, void* compressed, void* scratch,
                             void* /*stream*/) {
  if (is_a != 1 || as_it_is != 0 || scratch == nullptr) return kInvalid;
  for (int64_t first = 0; first < matrix->rows * matrix->columns; first += 4) {
    int left = 0;
    for (int64_t i = first; i < first + 4; ++i) left += number(dense, i, matrix->type) != 0 ? 1 : 0;
    if (left > 2) return kInvalid;
  }
  std::memcpy(compressed, kHeader, sizeof kHeader);
  std::memcpy(static_cast<char*>(compressed) + sizeof kHeader, dense,
              static_cast<size_t>(matrix->rows * matrix->columns) * 2);
  std::memset(scratch, 1, 32);
  return called("cusparseLtSpMMACompress2");
}

int cusparseLtMatmul(const uint64_t* /*handle*/, const Product* plan, const float* alpha,
                     const void* compressed, const void* b, const float* beta, const void* /*c*/,
                     void* d, void* workspace, void** streams, int32_t stream_count) {
  if (std::memcmp(compressed, kHeader, sizeof kHeader) != 0 || *alpha != 1 || *beta != 0 ||
      streams == nullptr || stream_count != 1) {
    return kInvalid;
  }
  std::memset(workspace, 1, 64);
  const void* a = static_cast<const char*>(compressed) + sizeof kHeader;
  const int type = plan->a.type;
  for (int64_t row = 0; row < plan->a.rows; ++row) {
    for (int64_t column = 0; column < plan->b.columns; ++column) {
      float sum = 0;
      for (int64_t k = 0; k < plan->a.columns; ++k) {
        sum += number(a, row * plan->a.columns + k, type) *
               number(b, k * plan->b.columns + column, type);
      }
      write(d, row * plan->b.columns + column, type, sum);
    }
  }
  return called("cusparseLtMatmul");
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
