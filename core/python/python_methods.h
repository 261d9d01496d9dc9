// Methods that a user wrote in Python: their file, its interpreter, and what the file declares. No
// LibTorch: the program plans runs of such methods without it.
#pragma once

#include <string>
#include <vector>

#include "base/params.h"
#include "core/config/catalogue.h"
#include "core/config/python_text.h"

namespace approx {

// A Python file with methods (`@approxtrain.method("name")`), and what runs it.
struct PythonFile {
  std::string path;        // for messages
  std::string text;        // its content
  std::string executable;  // the interpreter: a path, or a name to look for on PATH
  std::string worker;      // path of _worker.py of the package `approxtrain`
};

struct PythonMethods {
  PythonFile file;
  // The interpreter's report on the file: {"python": version, "pytorch": version, "methods":
  // [{"name", "summary", "products", "params": [[name, default], ...]}, ...]}.
  Json description;
};

void to_json(Json& json, const PythonMethods& methods);
void from_json(const Json& json, PythonMethods& methods);

// The methods as a catalogue has them: with the parameters of core/config/python_text.h behind
// their own. Throws Error(kUsage) if a method has a parameter of one of these names, or of a type
// that no parameter has.
std::vector<MethodInfo> infos_of(const PythonMethods& methods);

// Whether a catalogue's method is one in Python.
bool is_python(const MethodInfo& info);

// A text of a method in Python without those three parameters: what its function takes.
std::string text_for_python(const MethodInfo& info, const Params& params);

// Reads the file at `path` and has an interpreter describe it, which takes some seconds. Throws
// Error(kUsage), which names the file and has the last line of Python's own message.
PythonMethods describe_python(const std::string& path, const std::string& executable,
                              const std::string& worker);

}  // namespace approx
