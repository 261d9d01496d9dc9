// Opens libapproxtrain.so. Only for a process that computes: opening it loads
// LibTorch.
#pragma once

#include "core/engine/engine.h"

namespace approx {

// The engine of this process, opened on the first call: APPROXTRAIN_ENGINE (a
// path) if set, else beside the program, in ../lib of it, else where the
// dynamic linker looks. Throws Error(kInternal) that names every place tried
// and why it failed.
Engine& load_engine();

}  // namespace approx
