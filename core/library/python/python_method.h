// Methods in Python, as the engine has them: each call goes to an interpreter beside this process.
#pragma once

#include <string>

#include "core/python/python_methods.h"

namespace approx {

// Registers the methods. Their interpreter starts at the first method that is made. `network` is
// the text of the network in training, by which errors name layers; "" if there is none. Call it
// at most once in a process.
void register_python_methods(const PythonMethods& methods, const std::string& network);

}  // namespace approx

// As register_python_methods, looked up in the library by the program.
extern "C" void approxtrain_use_python(const approx::PythonMethods* methods, const char* network);
