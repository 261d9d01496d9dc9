// Opens libraries of kernels at run time. GPU kernels (kernels/<plan>/*.cu) are in a library of
// their own, so that one build serves machines with and without a GPU.
#pragma once

#include <string>

namespace approx {

// Opens a library and adds its variants (REGISTER_KERNEL) to those that `run` chooses from. A name
// without a folder is a file beside the library of this function. References of the opened library
// to this one are resolved by this one, however it was opened. A second call for the same file does
// nothing. Throws Error(kDevice) with the loader's reason.
void open_kernels(const std::string& file);

// Opens the library `file` if it lies beside the library of this function. Returns whether it lies
// there. Otherwise as open_kernels.
bool open_beside(const std::string& file);

// Whether `file` lies beside the library of this function.
bool is_beside(const std::string& file);

// Opens libapproxtrain_cuda.so beside the library of this function. Returns false if it does not
// exist (built without a CUDA compiler). Plans are then computed by LibTorch's tensor functions.
bool open_cuda_kernels();

}  // namespace approx
