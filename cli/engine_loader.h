// Opens libapproxtrain.so. Only for processes that compute: opening it loads LibTorch.
#pragma once

#include <string>

#include "base/error.h"
#include "core/engine/engine.h"
#include "core/python/python_methods.h"

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

// Gives methods in Python to the engine of this process, once. `network` is the text of the network
// in training, by which errors name layers; "" if there is none. Throws LibraryError if the library
// has no methods in Python.
void use_in_engine(const PythonMethods& methods, const std::string& network);

}  // namespace approx
