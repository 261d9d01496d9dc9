// What tuning reads of a store.
#pragma once

#include <string>

#include "core/experiment/tuning.h"

namespace approx {

// By run key, the accuracy on held-out images at the end of every accuracy run that has one, and 0
// of one that diverged, as they are in the store now. Nothing for any key where there is no store.
HeldOutAccuracy stored_accuracy(const std::string& path);

}  // namespace approx
