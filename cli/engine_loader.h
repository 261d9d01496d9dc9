// Opens libapproxtrain.so. Only for a process that computes: opening it loads
// LibTorch.
#pragma once

#include <string>

#include "base/error.h"
#include "core/engine/engine.h"

namespace approx {

// The library is missing, not whole, or of another build than the program: nothing can be
// computed.
class LibraryError : public Error {
 public:
  explicit LibraryError(const std::string& message) : Error(ErrorKind::kInternal, message) {}
};

// The file that load_engine() would open now; "" where there is none but perhaps what the dynamic
// linker finds.
std::string engine_file();

// The engine of this process, opened on the first call: APPROXTRAIN_ENGINE (a
// path) if set, else beside the program, in ../lib of it, else where the
// dynamic linker looks. Throws LibraryError that names every place tried
// and why it failed.
Engine& load_engine();

}  // namespace approx
