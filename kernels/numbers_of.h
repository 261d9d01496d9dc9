// The numbers of a tensor for loops without LibTorch, in the supported precisions.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

#include "kernels/bfloat16.h"
#include "kernels/float16.h"

namespace approx {

static_assert(sizeof(BFloat16) == sizeof(at::BFloat16));
static_assert(sizeof(Float16) == sizeof(at::Half));

// LibTorch's element type for `Number`.
template <typename Number>
constexpr at::ScalarType kElements = c10::CppTypeToScalarType<Number>::value;
template <>
inline constexpr at::ScalarType kElements<BFloat16> = at::kBFloat16;
template <>
inline constexpr at::ScalarType kElements<Float16> = at::kHalf;

// The numbers of a tensor whose elements have that type.
template <typename Number>
const Number* numbers_of(const at::Tensor& tensor) {
  return static_cast<const Number*>(tensor.const_data_ptr());
}
template <typename Number>
Number* mutable_numbers_of(const at::Tensor& tensor) {
  return static_cast<Number*>(tensor.mutable_data_ptr());
}

// Calls body with a number of the C++ type for elements of `type`. Returns false where that is
// neither float nor bfloat16.
template <typename Body>
bool of_two_types(at::ScalarType type, Body&& body) {
  if (type == at::kFloat) return std::forward<Body>(body)(float()), true;
  if (type == at::kBFloat16) return std::forward<Body>(body)(BFloat16()), true;
  return false;
}

// As of_two_types, for float, bfloat16 and float16.
template <typename Body>
bool of_three_types(at::ScalarType type, Body&& body) {
  if (type == at::kHalf) return std::forward<Body>(body)(Float16()), true;
  return of_two_types(type, std::forward<Body>(body));
}

}  // namespace approx
