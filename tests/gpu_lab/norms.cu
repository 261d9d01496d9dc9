// Batch norms: today's passes and the candidates of wide_norm.h, on the norms of ResNet-18 and
// WRN-28-10 (batches of 256) and of ResNet-50 (128 photographs).
#include <cmath>

#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/norm/norm_gpu.h"
#include "tests/gpu_lab/lab.h"
#include "tests/gpu_lab/wide_norm.h"

namespace approx::lab {
namespace {

using Statistics = NormStatisticsOnGpu<BFloat16>;
using Apply = NormApplyOnGpu<BFloat16>;
using Sums = NormSumsOnGpu<BFloat16>;
using Gradient = NormGradientOnGpu<BFloat16>;

constexpr size_t kMostBlocks = 1024;
constexpr double kEpsilon = 1e-5;

const std::vector<Matrix>& sizes() {
  static const std::vector<Matrix> all = {
      {"resnet18/64x32", 256 * 32 * 32, 64},     {"resnet18/128x16", 256 * 16 * 16, 128},
      {"resnet18/256x8", 256 * 8 * 8, 256},      {"resnet18/512x4", 256 * 4 * 4, 512},
      {"wrn/160x32", 256 * 32 * 32, 160},        {"wrn/320x16", 256 * 16 * 16, 320},
      {"wrn/640x8", 256 * 8 * 8, 640},           {"resnet50/64x112", 128 * 112 * 112, 64},
      {"resnet50/256x56", 128 * 56 * 56, 256},   {"resnet50/512x28", 128 * 28 * 28, 512},
      {"resnet50/1024x14", 128 * 14 * 14, 1024}, {"resnet50/2048x7", 128 * 7 * 7, 2048}};
  return all;
}

const Matrix& checked_size() {
  static const Matrix small{"checked", 777, 72};
  return small;
}

size_t bytes_of(const Matrix& m) { return static_cast<size_t>(m.rows * m.channels) * 2; }
size_t floats_of(const Matrix& m) { return static_cast<size_t>(m.channels) * 4; }

// Sums of blocks [blocks,2,channels] made one, in double.
std::vector<double> joined(const std::vector<float>& partial, int64_t blocks, int64_t channels) {
  std::vector<double> sums(static_cast<size_t>(2 * channels));
  for (int64_t block = 0; block < blocks; ++block) {
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += double{partial[static_cast<size_t>(block * 2 * channels) + i]};
    }
  }
  return sums;
}

// --- moments -------------------------------------------------------------------------------------

// `end`: the second launch, too, and what it makes is compared; else the sums of blocks.
using RunStatistics = std::function<int64_t(const Statistics&, cudaStream_t)>;

Instance statistics_on(const Matrix& m, bool checked, uint32_t seed, bool end,
                       const RunStatistics& run) {
  Instance one;
  auto& x = one.add(bytes_of(m), Fill::kNumbers, seed);
  auto& partial = one.add(kMostBlocks * 2 * floats_of(m), Fill::kPoison);
  auto& mean = one.add(floats_of(m), Fill::kPoison);
  auto& variance = one.add(floats_of(m), Fill::kPoison);
  auto& inverse = one.add(floats_of(m), Fill::kPoison);
  const Statistics args{
      m.rows,           m.channels,           x.as<BFloat16>(),   kEpsilon, partial.as<float>(),
      mean.as<float>(), variance.as<float>(), inverse.as<float>()};
  auto blocks = std::make_shared<int64_t>(0);
  one.run = [=](cudaStream_t stream) { *blocks = run(args, stream); };
  if (checked) {
    one.compare = [=, &x, &partial, &mean, &variance] {
      const auto numbers = as_doubles(x.download<BFloat16>());
      std::vector<double> expected(static_cast<size_t>(2 * m.channels));
      for (int64_t row = 0; row < m.rows; ++row) {
        for (int64_t c = 0; c < m.channels; ++c) {
          const double value =
              numbers[static_cast<size_t>(row * m.channels + c)] - numbers[static_cast<size_t>(c)];
          expected[static_cast<size_t>(c)] += value;
          expected[static_cast<size_t>(m.channels + c)] += value * value;
        }
      }
      if (!end) {
        return largest_difference(joined(partial.download<float>(), *blocks, m.channels), expected);
      }
      std::vector<double> found = as_doubles(mean.download<float>());
      for (const double v : as_doubles(variance.download<float>())) found.push_back(v);
      const auto count = static_cast<double>(m.rows);
      for (int64_t c = 0; c < m.channels; ++c) {
        double& sum = expected[static_cast<size_t>(c)];
        double& square = expected[static_cast<size_t>(m.channels + c)];
        square = square / count - sum / count * (sum / count);
        sum = numbers[static_cast<size_t>(c)] + sum / count;
      }
      return largest_difference(found, expected);
    };
  }
  return one;
}

template <int kTurns>
RunStatistics wide_moments(int64_t most_blocks) {
  return [most_blocks](const Statistics& args, cudaStream_t stream) {
    const WideMoments<kTurns> kernel{args, most_blocks};
    launch(kernel, stream);
    return kernel.blocks().images;
  };
}

// --- forward -------------------------------------------------------------------------------------

using RunApply = std::function<void(const Apply&, cudaStream_t)>;

Instance apply_on(const Matrix& m, bool checked, uint32_t seed, NormTail tail,
                  const RunApply& run) {
  Instance one;
  auto& x = one.add(bytes_of(m), Fill::kNumbers, seed);
  auto& scale = one.add(floats_of(m), Fill::kPositive, seed);
  auto& offset = one.add(floats_of(m), Fill::kPositive, seed + 7);
  const bool adds = tail == NormTail::kAddRelu;
  auto& residual = one.add(adds ? bytes_of(m) : 16, Fill::kNumbers, seed + 3);
  auto& y = one.add(bytes_of(m), Fill::kPoison);
  const Apply args{m.rows,
                   {.channels = m.channels,
                    .tail = tail,
                    .x = x.as<BFloat16>(),
                    .scale = scale.as<float>(),
                    .offset = offset.as<float>(),
                    .residual = adds ? residual.as<BFloat16>() : nullptr,
                    .y = y.as<BFloat16>()}};
  one.run = [=](cudaStream_t stream) { run(args, stream); };
  if (checked) {
    one.compare = [=, &x, &scale, &offset, &residual, &y] {
      const auto in = as_doubles(x.download<BFloat16>());
      const auto by = as_doubles(scale.download<float>()),
                 to = as_doubles(offset.download<float>());
      const auto added = as_doubles(residual.download<BFloat16>());
      std::vector<double> expected(in.size());
      for (size_t i = 0; i < in.size(); ++i) {
        const size_t c = i % static_cast<size_t>(m.channels);
        const double value = by[c] * in[i] + to[c] + (adds ? added[i] : 0);
        expected[i] = tail == NormTail::kNone ? value : std::max(value, 0.0);
      }
      return largest_difference(as_doubles(y.download<BFloat16>()), expected);
    };
  }
  return one;
}

template <int kTurns>
RunApply wide_apply(int64_t most_blocks) {
  return [most_blocks](const Apply& args, cudaStream_t stream) {
    launch(WideApply<kTurns>{args, most_blocks}, stream);
  };
}

// --- backward ------------------------------------------------------------------------------------

using RunSums = std::function<int64_t(const Sums&, cudaStream_t)>;

Instance sums_on(const Matrix& m, bool checked, uint32_t seed, NormTail tail, const RunSums& run) {
  Instance one;
  const bool adds = tail == NormTail::kAddRelu;
  auto& dy = one.add(bytes_of(m), Fill::kNumbers, seed);
  auto& x = one.add(bytes_of(m), Fill::kNumbers, seed + 1);
  auto& y = one.add(adds ? bytes_of(m) : 16, Fill::kNumbers, seed + 2);
  auto& dresidual = one.add(adds ? bytes_of(m) : 16, Fill::kPoison);
  auto& partial = one.add(kMostBlocks * 2 * floats_of(m), Fill::kPoison);
  std::vector<float*> channels;  // scale, offset, mean, weight, inverse; five results
  for (uint32_t i = 0; i < 10; ++i) {
    channels.push_back(one.add(floats_of(m), Fill::kPositive, seed + 10 + i).as<float>());
  }
  const Buffer& scale = *one.buffers[5];
  const Buffer& offset = *one.buffers[6];
  const Buffer& mean = *one.buffers[7];
  const Sums args{.rows = m.rows,
                  .pass = {.channels = m.channels,
                           .tail = tail,
                           .dy = dy.as<BFloat16>(),
                           .x = x.as<BFloat16>(),
                           .y = adds ? y.as<BFloat16>() : nullptr,
                           .scale = channels[0],
                           .offset = channels[1],
                           .mean = channels[2],
                           .dresidual = adds ? dresidual.as<BFloat16>() : nullptr},
                  .weight = channels[3],
                  .inverse_deviation = channels[4],
                  .partial = partial.as<float>(),
                  .dweight = channels[5],
                  .dbias = channels[6],
                  .a = channels[7],
                  .b = channels[8],
                  .d = channels[9]};
  auto blocks = std::make_shared<int64_t>(0);
  one.run = [=](cudaStream_t stream) { *blocks = run(args, stream); };
  if (checked) {
    one.compare = [=, &dy, &x, &y, &partial, &scale, &offset, &mean] {
      const auto g = as_doubles(dy.download<BFloat16>()), in = as_doubles(x.download<BFloat16>());
      const auto out = as_doubles(y.download<BFloat16>());
      const auto by = as_doubles(scale.download<float>()),
                 to = as_doubles(offset.download<float>());
      const auto middle = as_doubles(mean.download<float>());
      std::vector<double> expected(static_cast<size_t>(2 * m.channels));
      for (size_t i = 0; i < g.size(); ++i) {
        const size_t c = i % static_cast<size_t>(m.channels);
        // By the rounding of the kernel: what is cut off must agree.
        const auto before = std::fma(static_cast<float>(by[c]), static_cast<float>(in[i]),
                                     static_cast<float>(to[c]));
        const bool cut = (tail == NormTail::kRelu && before <= 0) || (adds && out[i] <= 0);
        if (cut) continue;
        expected[c] += g[i];
        expected[static_cast<size_t>(m.channels) + c] += g[i] * (in[i] - middle[c]);
      }
      return largest_difference(joined(partial.download<float>(), *blocks, m.channels), expected);
    };
  }
  return one;
}

template <int kTurns>
RunSums wide_sums(int64_t most_blocks) {
  return [most_blocks](const Sums& args, cudaStream_t stream) {
    const WideSums<kTurns> kernel{args, most_blocks};
    launch(kernel, stream);
    return kernel.blocks().images;
  };
}

using RunGradient = std::function<void(const Gradient&, cudaStream_t)>;

Instance gradient_on(const Matrix& m, bool checked, uint32_t seed, bool relu,
                     const RunGradient& run) {
  Instance one;
  auto& dy = one.add(bytes_of(m), Fill::kNumbers, seed);
  auto& x = one.add(bytes_of(m), Fill::kNumbers, seed + 1);
  auto& dx = one.add(bytes_of(m), Fill::kPoison);
  std::vector<Buffer*> channels;  // scale, offset, a, b, d
  for (uint32_t i = 0; i < 5; ++i) {
    channels.push_back(&one.add(floats_of(m), Fill::kPositive, seed + 10 + i));
  }
  const Gradient args{m.rows,
                      {.channels = m.channels,
                       .relu = relu,
                       .dy = dy.as<BFloat16>(),
                       .x = x.as<BFloat16>(),
                       .scale = channels[0]->as<float>(),
                       .offset = channels[1]->as<float>(),
                       .a = channels[2]->as<float>(),
                       .b = channels[3]->as<float>(),
                       .d = channels[4]->as<float>(),
                       .dx = dx.as<BFloat16>()},
                      {},
                      nullptr};
  one.run = [=](cudaStream_t stream) { run(args, stream); };
  if (checked) {
    one.compare = [=, &dy, &x, &dx] {
      const auto g = as_doubles(dy.download<BFloat16>()), in = as_doubles(x.download<BFloat16>());
      std::vector<std::vector<double>> of;
      for (const auto* channel : channels) of.push_back(as_doubles(channel->download<float>()));
      std::vector<double> expected(g.size());
      for (size_t i = 0; i < g.size(); ++i) {
        const size_t c = i % static_cast<size_t>(m.channels);
        const auto before = std::fma(static_cast<float>(of[0][c]), static_cast<float>(in[i]),
                                     static_cast<float>(of[1][c]));
        expected[i] = of[2][c] * (relu && before <= 0 ? 0 : g[i]) + of[3][c] * in[i] + of[4][c];
      }
      return largest_difference(as_doubles(dx.download<BFloat16>()), expected);
    };
  }
  return one;
}

template <int kTurns>
RunGradient wide_gradient(int64_t most_blocks) {
  return [most_blocks](const Gradient& args, cudaStream_t stream) {
    launch(WideGradient<kTurns>{args, most_blocks}, stream);
  };
}

constexpr double kRounding = 0.005;  // of bf16 results
constexpr double kOfSums = 1e-5;

}  // namespace

void add_norms(std::vector<Case>& cases) {
  const auto add = [&](const char* kernel, const std::string& variant, int tensors, bool rounds,
                       auto make) {
    for (const auto& size : sizes()) {
      cases.push_back({kernel, variant, size.name, double(tensors) * double(bytes_of(size)),
                       rounds ? kRounding : kOfSums, [size, make](bool checked, uint32_t seed) {
                         return make(checked ? checked_size() : size, checked, seed);
                       }});
    }
  };
  const auto add_statistics = [&](const std::string& variant, bool end, const RunStatistics& run) {
    add("moments", variant, 1, false, [=](const Matrix& m, bool checked, uint32_t seed) {
      return statistics_on(m, checked, seed, end, run);
    });
  };
  add_statistics("now", true, [](const Statistics& args, cudaStream_t stream) {
    launch_of<Statistics>()(args, stream);
    return row_blocks(args.rows);
  });
  add_statistics("now without its end", false, [](const Statistics& args, cudaStream_t stream) {
    launch(NormMomentsGpu<BFloat16, 4>{args}, stream);
    return row_blocks(args.rows);
  });
  for (const int64_t blocks : {1024, 528, 264}) {
    add_statistics(fmt::format("wide:4 rows:{} blocks", blocks), false, wide_moments<4>(blocks));
  }
  add_statistics("wide:8 rows:528 blocks", false, wide_moments<8>(528));

  for (const auto tail : {NormTail::kRelu, NormTail::kAddRelu}) {
    const bool adds = tail == NormTail::kAddRelu;
    const auto add_apply = [&](const std::string& variant, const RunApply& run) {
      add(adds ? "apply_add_relu" : "apply_relu", variant, adds ? 3 : 2, true,
          [=](const Matrix& m, bool checked, uint32_t seed) {
            return apply_on(m, checked, seed, tail, run);
          });
    };
    add_apply("now",
              [](const Apply& args, cudaStream_t stream) { launch_of<Apply>()(args, stream); });
    add_apply("wide:4 rows:1024 blocks", wide_apply<4>(1024));
    add_apply("wide:4 rows:528 blocks", wide_apply<4>(528));
    add_apply("wide:2 rows:1024 blocks", wide_apply<2>(1024));
    add_apply("wide:2 rows:4096 blocks", wide_apply<2>(4096));

    const auto add_sums = [&](const std::string& variant, const RunSums& run) {
      add(adds ? "sums_add_relu" : "sums_relu", variant, adds ? 4 : 2, false,
          [=](const Matrix& m, bool checked, uint32_t seed) {
            return sums_on(m, checked, seed, tail, run);
          });
    };
    add_sums("now", [](const Sums& args, cudaStream_t stream) {
      launch_of<Sums>()(args, stream);
      return row_blocks(args.rows);
    });
    add_sums("now without its end", [](const Sums& args, cudaStream_t stream) {
      launch(NormSumsGpu<BFloat16, 4>{args}, stream);
      return row_blocks(args.rows);
    });
    add_sums("wide:2 rows:1024 blocks", wide_sums<2>(1024));
    add_sums("wide:2 rows:528 blocks", wide_sums<2>(528));
    add_sums("wide:4 rows:528 blocks", wide_sums<4>(528));
  }

  const auto add_gradient = [&](const std::string& variant, const RunGradient& run) {
    add("gradient_relu", variant, 3, true, [=](const Matrix& m, bool checked, uint32_t seed) {
      return gradient_on(m, checked, seed, /*relu=*/true, run);
    });
  };
  add_gradient("now", [](const Gradient& args, cudaStream_t stream) {
    launch_of<Gradient>()(args, stream);
  });
  add_gradient("wide:2 rows:1024 blocks", wide_gradient<2>(1024));
  add_gradient("wide:4 rows:1024 blocks", wide_gradient<4>(1024));
  add_gradient("wide:2 rows:4096 blocks", wide_gradient<2>(4096));
}

}  // namespace approx::lab
