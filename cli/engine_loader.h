// Opens libapproxtrain.so. Only for processes that compute: opening it loads LibTorch.
#pragma once

#include <string>

#include "base/error.h"
#include "core/engine/engine.h"

namespace approx {

// The library is missing, incomplete, or of another build than the program, so nothing can be
// computed.
class LibraryError : public Error {
 public:
  explicit LibraryError(const std::string& message) : Error(ErrorKind::kInternal, message) {}
};

// The file that load_engine() would open now. It is "" if only the dynamic linker may find one.
std::string engine_file();

// The engine of this process, opened on the first call. The path is APPROXTRAIN_ENGINE if set, else
// beside the program, in its ../lib, else where the dynamic linker searches. Throws LibraryError,
// which names every place tried and why it failed.
Engine& load_engine();

}  // namespace approx
