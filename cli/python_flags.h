// --python: methods of a user's own, in a Python file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/config/run_config.h"
#include "core/python/python_methods.h"

namespace approx {

struct PythonFlags {
  std::string file, executable;  // "": not given
};

// Adds --python and --python-executable, in a group of the help.
void add_python_flags(CLI::App& app, PythonFlags& flags, const char* group);

// Adds the methods of the file to Catalogue::embedded(). Does nothing without --python. Without
// --python-executable the interpreter is .venv/bin/python3 beside the program (a checkout), else
// python3 on PATH. Throws Error(kUsage).
void use_python(const PythonFlags& flags);

// The methods that use_python() added, if the run uses one of them; else null.
const PythonMethods* python_of(const RunConfig& config);

// As python_of() of a run, for full texts of methods.
const PythonMethods* python_of(const std::vector<std::string>& methods);

// Throws Error(kUsage) if a run cannot use a method in Python.
void check_python(const RunConfig& config);

}  // namespace approx
