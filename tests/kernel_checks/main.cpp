// kernel_checks agree [CASES] | sums | list | count NAME | compiler
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/kernel_checks/checks.h"

// What is counted: callgrind switches on where it begins (--toggle-collect).
extern "C" __attribute__((noinline)) void counted_work(const std::function<void()>& work) {
  work();
}

namespace approx {
namespace {

int agree(uint64_t cases) {
  int wrong = 0;
  for (const auto& agreements : {product_agreements(), selection_agreements()}) {
    for (const auto& one : agreements) wrong += says(one, cases) ? 0 : 1;
  }
  return wrong == 0 ? 0 : 1;
}

std::vector<HotKernel> all_hot() {
  auto all = hot_kernels();
  for (auto& one : hot_selections()) all.push_back(std::move(one));
  return all;
}

int count(std::string_view name) {
  for (const auto& one : all_hot()) {
    if (one.name != name) continue;
    const auto work = one.prepared();
    work();  // what is done once in a process is not counted
    counted_work(work);
    return 0;
  }
  fmt::print(stderr, "kernel_checks: no kernel \"{}\"; list names them\n", name);
  return 2;
}

}  // namespace
}  // namespace approx

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "agree") {
    return approx::agree(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 200);
  }
  if (command == "sums") {
    const auto wrong = approx::long_sums_wrong();
    fmt::print("{}\n", wrong.empty() ? "sums of many numbers agree" : wrong);
    return wrong.empty() ? 0 : 1;
  }
  if (command == "count" && argc > 2) return approx::count(argv[2]);
  if (command == "list") {
    for (const auto& one : approx::all_hot()) fmt::print("{}\n", one.name);
    return 0;
  }
  if (command == "compiler") {
    fmt::print("{}\n", __VERSION__);
    return 0;
  }
  fmt::print(stderr, "usage: kernel_checks agree [CASES] | sums | list | count NAME | compiler\n");
  return 2;
}
