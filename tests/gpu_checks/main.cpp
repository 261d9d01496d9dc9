// gpu_checks [CASES [WHAT]]: kernels of a GPU against their definitions, on a CPU; WHAT is the
// beginning of the names of those that are wanted.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "tests/gpu_checks/checks.h"

int main(int argc, char** argv) {
  const uint64_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 30;
  const std::string_view what = argc > 2 ? argv[2] : "";
  int wrong = 0, checked = 0;
  for (const auto agreements : approx::GpuChecks::all()) {
    for (const auto& one : agreements()) {
      if (!one.name.starts_with(what)) continue;
      ++checked;
      wrong += approx::says(one, cases) ? 0 : 1;
    }
  }
  return wrong == 0 && checked > 0 ? 0 : 1;
}
