#include "core/operators/checks.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include <ostream>

#include "kernels/library.h"

namespace approx {
namespace {

// "approxtrain::conv2d: " in front of a message; nothing for a null name.
struct Prefix {
  const char* op;
};

std::ostream& operator<<(std::ostream& out, const Prefix& prefix) {
  return prefix.op == nullptr ? out : out << prefix.op << ": ";
}

}  // namespace

void check_operand(const at::Tensor& tensor, const char* op, const char* what, bool may_be_meta) {
  const Prefix prefix{op};
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, prefix, what, " must be strided, not ",
                    tensor.layout());
  if (!(may_be_meta && tensor.is_meta())) {
    TORCH_CHECK_VALUE(tensor.is_cpu() || tensor.is_cuda(), prefix, what,
                      " must be on the CPU or a CUDA device, not ", tensor.device());
  }
  const auto type = tensor.scalar_type();
  const bool is_known =
      type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
  TORCH_CHECK_TYPE(is_known, prefix, what,
                   " must be of float32, float64, float16 or bfloat16, not ", type);
  // A program of ours opens them with its device.
  if (tensor.is_cuda()) {
    [[maybe_unused]] static const bool opened = open_cuda_kernels();
  }
}

void check_same(const at::Tensor& x, const at::Tensor& tensor, const char* op, const char* what) {
  const Prefix prefix{op};
  TORCH_CHECK_VALUE(tensor.device() == x.device(), prefix, what, " is on ", tensor.device(),
                    ", the input on ", x.device());
  TORCH_CHECK_TYPE(tensor.scalar_type() == x.scalar_type() ||
                       at::autocast::is_autocast_enabled(x.device().type()),
                   prefix, what, " is ", tensor.scalar_type(), ", the input ", x.scalar_type());
}

}  // namespace approx
