// Figures of single layers, run by hand: each takes the arguments behind its name and returns the
// exit code.
#pragma once

#include <string>
#include <vector>

namespace approx {

using Arguments = std::vector<std::string>;

int benchmark_batch_norm(const Arguments& arguments);
int benchmark_dense_layer(const Arguments& arguments);
int benchmark_small_maps(const Arguments& arguments);

}  // namespace approx
