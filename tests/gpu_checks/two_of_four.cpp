#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/multiplications.h"
#include "kernels/trials/compress_gpu.h"
#include "kernels/trials/mma_sp_gpu.h"
#include "tests/gpu_checks/checks.h"
#include "tests/gpu_checks/nm_definition.h"
#include "tests/kernel_checks/operands.h"

namespace approx {
namespace {

// The four bits of one of the fours whose first channel is element `first` of dY.
int places_of(const std::vector<uint16_t>& places, size_t first) {
  return places[first / 16] >> (first % 16) & 15;
}

// Writes out what is stored; says where the places of a four do not ascend.
template <typename Number>
std::string written_out(const std::vector<Number>& stored, const std::vector<uint16_t>& places,
                        std::vector<Number>& dy) {
  dy.assign(2 * stored.size(), Number(0));
  for (size_t first = 0; first < dy.size(); first += 4) {
    const int both = places_of(places, first), one = both & 3, other = both >> 2;
    if (one >= other) return fmt::format("the places of four {} are {} and {}", first, one, other);
    dy[first + static_cast<size_t>(one)] = stored[first / 2];
    dy[first + static_cast<size_t>(other)] = stored[first / 2 + 1];
  }
  return {};
}

template <typename Number, int kM>
std::string compressing_agrees(uint64_t seed) {
  Draws draw(seed);
  NmOnGpu<Number> on;
  NmArgs<Number>& args = on.args;
  args.m = kM;
  args.n = kM == 2 ? 1 : 1 + draw.below(2);
  args.channels = 16 * (1 + draw.below(draw.below(3) == 0 ? 40 : 5));
  draw_nm(seed, draw, on);
  args.rng = {.seed = static_cast<uint64_t>(draw.below(1 << 30)), .layer = 3, .step = 5};
  const int64_t blocks = 1 + draw.below(3);  // few enough that threads take several turns
  const int64_t count = args.pixels * args.channels;
  auto floats = draw.numbers(count);
  for (auto& value : floats) {
    if (draw.below(3) == 0) value = draw.below(2) == 0 ? 0.5F : 0;  // ties, and fours of zeros
  }
  if (!on.rescale_plane && !args.rescale_group) {
    floats[static_cast<size_t>(draw.below(count))] = std::numeric_limits<float>::quiet_NaN();
  }
  const auto values = as_numbers<Number>(floats);
  int64_t kept = 0;
  const auto wanted = nm_by_definition(on, values, kept);

  const GpuArray<Number> dy(values);
  std::vector<Number> got;
  std::string wrong = in_all_orders<std::vector<Number>>(
      [&](Order order, std::vector<Number>& results) {
        GpuArray<Number> stored(count / 2);
        GpuArray<uint16_t> places(count / 16);
        CompressArgs<Number> there{args, on.images, on.rescale_plane, stored.data(), places.data()};
        there.args.dy = dy.data();
        std::string failed;
        with_compress_kernel(
            there, [&](const auto& kernel) { failed = emulate(kernel, order); }, blocks);
        if (!stored.intact() || !places.intact()) failed = "it wrote elsewhere";
        return failed.empty() ? written_out(stored.values(), places.values(), results) : failed;
      },
      got);
  if (wrong.empty()) wrong = nm_difference(on, got, wanted, /*signs_of_zeros=*/false);
  return wrong.empty() ? wrong : described(on, wrong);
}

Problem drawn_gradient(Draws& draw) {
  static constexpr int64_t kInputs[] = {8, 24, 64, 72, 136};
  Problem p = drawn_problem(draw);
  p.product = Product::kDataGradient;
  p.kh = 1 + draw.below(3);
  p.kw = draw.below(2) == 0 ? p.kh : 1 + draw.below(3);
  if (draw.below(4) == 0) p.kh = p.kw = 1;
  p.geometry.padding = {draw.below(p.kh), draw.below(p.kw)};
  if (draw.below(6) == 0) p.geometry.stride = {3, 2};
  if (draw.below(2) == 0) p.geometry.dilation = {2, 1 + draw.below(2)};
  p.h = p.geometry.dilation.h * (p.kh - 1) + 1 + draw.below(6);
  p.w = p.geometry.dilation.w * (p.kw - 1) + 1 + draw.below(9);
  p.ci = kInputs[draw.below(5)];
  p.co = 64 * (1 + draw.below(2));
  const auto out = output_size({p.h, p.w}, {p.kh, p.kw}, p.geometry);
  p.ho = out.h, p.wo = out.w;
  return p;
}

template <typename Number>
std::string gradient_agrees(uint64_t seed) {
  Draws draw(seed);
  const Problem problem = drawn_gradient(draw);
  ProductOperands operands(problem, draw, 1);
  std::vector<uint16_t> places(operands.dy.size() / 16);
  for (auto& word : places) {
    static constexpr uint16_t kPlaces[] = {0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110};
    for (int four = 0; four < 4; ++four) {
      word = static_cast<uint16_t>(word | kPlaces[draw.below(6)] << (4 * four));
    }
  }
  const auto stored = as_numbers<Number>(
      std::vector<float>(operands.dy.begin(), operands.dy.begin() + operands.dy.size() / 2));
  const auto w = as_numbers<Number>(operands.w);
  std::vector<Number> dy;
  std::string wrong = written_out(stored, places, dy);
  if (!wrong.empty()) return wrong;

  std::vector<double> truth(static_cast<size_t>(operands.result_size()));
  const auto doubles = [](const std::vector<Number>& numbers) {
    std::vector<double> all;
    for (const Number number : numbers) all.push_back(static_cast<float>(number));
    return all;
  };
  const auto exact_dy = doubles(dy), exact_w = doubles(w);
  multiply_all(
      Arrays<double>{
          .problem = problem, .w = exact_w.data(), .dy = exact_dy.data(), .out = truth.data()},
      0, problem.slices());

  const GpuArray<Number> there_stored(stored), there_w(w);
  const GpuArray<uint16_t> there_places(places);
  wrong = product_agrees<Number>(truth, [&](Order order, Number* out) {
    const SparseGradientArgs<Number> args{problem, there_stored.data(), there_places.data(),
                                          there_w.data(), out};
    return emulate(SparseDataGradient<Number>{args}, order);
  });
  return wrong.empty() ? wrong : fmt::format("{} ({})", wrong, described(problem));
}

std::vector<Agreement> two_of_four_on_gpu() {
  return {{"two of four: stored, groups of 2 of bfloat16", compressing_agrees<BFloat16, 2>},
          {"two of four: stored, groups of 4 of bfloat16", compressing_agrees<BFloat16, 4>},
          {"two of four: stored, groups of 2 of float16", compressing_agrees<Float16, 2>},
          {"two of four: stored, groups of 4 of float16", compressing_agrees<Float16, 4>},
          {"two of four: data gradient of bfloat16", gradient_agrees<BFloat16>},
          {"two of four: data gradient of float16", gradient_agrees<Float16>}};
}

const GpuChecks kChecks{two_of_four_on_gpu};

}  // namespace

}  // namespace approx
