#include <fmt/format.h>

#include "kernels/probe/copy_rounds_gpu.h"
#include "tests/gpu_checks/checks.h"

namespace approx {
namespace {

// Fewer numbers than a round has threads, and more; blocks that have nothing to do.
std::string copies_agree(uint64_t seed) {
  Draws draw(seed);
  const int64_t count = 4 * draw.below(draw.below(2) == 0 ? 20 : 3000);
  const int64_t rounds = 1 + draw.below(5), blocks = 1 + draw.below(4);
  const auto numbers = draw.numbers(count);
  const GpuArray<float> from(numbers);
  std::vector<float> got;
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        GpuArray<float> to(count);
        std::string failed =
            emulate(CopyRounds{{count, rounds, blocks, from.data(), to.data()}}, order);
        if (!to.intact()) failed = "it wrote elsewhere";
        results = to.values();
        return failed;
      },
      got);
  if (wrong.empty() && !same_bits(got, numbers)) wrong = "it is no copy";
  return wrong.empty()
             ? wrong
             : fmt::format("{} ({} numbers, {} rounds, {} blocks)", wrong, count, rounds, blocks);
}

std::vector<Agreement> copy_rounds_on_gpu() { return {{"copies by rounds", copies_agree}}; }

const GpuChecks kChecks{copy_rounds_on_gpu};

}  // namespace

}  // namespace approx
