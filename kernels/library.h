// Libraries of kernels that are opened while the program runs. What a GPU runs
// (kernels/<plan>/*.cu) is in one of its own, so that one build serves machines with a GPU and
// without.
#pragma once

#include <string>

namespace approx {

// Opens a library whose variants (REGISTER_KERNEL) are then among those that `run` chooses from; a
// name without a folder is one beside the library that this function is in. Its references to this
// library are resolved by this one, whoever opened it and how. A second call for the same file does
// nothing. Throws Error(kDevice) with the loader's reason.
void open_kernels(const std::string& file);

// Opens the library `file` if it lies beside the one that this function is in; returns false where
// it does not. Otherwise as open_kernels.
bool open_beside(const std::string& file);

// Whether it lies there.
bool is_beside(const std::string& file);

// Opens libapproxtrain_cuda.so, which lies beside the library that this function is in. Returns
// false where there is none (built without a CUDA compiler): plans are then computed by LibTorch's
// functions of tensors.
bool open_cuda_kernels();

}  // namespace approx
