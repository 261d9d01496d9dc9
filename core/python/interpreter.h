// A Python interpreter as a process beside this one. Tensors pass through memory that both share,
// requests through a socket. So any version of PyTorch serves, and neither process can end the
// other by a fault of its own.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/files.h"
#include "base/params.h"
#include "core/python/python_methods.h"

namespace approx {

class Interpreter {
 public:
  // Starts the interpreter, which executes the file and may use so many threads. Throws
  // Error(kUsage) if it cannot start, has no PyTorch, or if the file raises an exception.
  Interpreter(const PythonFile& file, int64_t threads);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // The declarations of the file (PythonMethods::description).
  const Json& description() const { return description_; }

  // The shared memory, of at least so many bytes. Addresses of earlier calls are invalid.
  void* memory(size_t bytes);

  // Calls a method with the tensor that lies at the beginning of the shared memory, and puts the
  // result there. The request: {"method": text, "sizes": [...], "type": "float32",
  // "channels_last": bool, "seed": number}. Throws Error(kInternal) with one line: what the
  // function returned wrongly, or the exception that it raised.
  void call(const Json& request);

 private:
  Json answer(const Json& request);
  std::string read_line();
  [[noreturn]] void throw_ended();
  void end_child();

  const std::string path_;
  pid_t child_ = -1;
  Descriptor socket_, shared_;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  std::string unread_;
  Json description_;
};

}  // namespace approx
