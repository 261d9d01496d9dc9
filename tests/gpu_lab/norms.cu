// Batch norms: today's passes and those of wide_norm.h, which join no sums, on the norms of
// ResNet-18 and WRN-28-10 (batches of 256) and of ResNet-50 (128 photographs).
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

constexpr size_t kMostBlocks = kMostRowBlocks, kMostGroups = joined_groups(kMostRowBlocks);
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

// `end`: what follows from the sums of blocks is made too, and compared; else those sums are.
using RunStatistics = std::function<int64_t(const Statistics&, cudaStream_t)>;

Instance statistics_on(const Matrix& m, bool checked, uint32_t seed, bool end,
                       const RunStatistics& run) {
  Instance one;
  auto& x = one.add(bytes_of(m), Fill::kNumbers, seed);
  auto& partial = one.add(kMostBlocks * 2 * floats_of(m), Fill::kPoison);
  auto& groups = one.add(kMostGroups * 4 * floats_of(m), Fill::kPoison);
  auto& mean = one.add(floats_of(m), Fill::kPoison);
  auto& variance = one.add(floats_of(m), Fill::kPoison);
  auto& inverse = one.add(floats_of(m), Fill::kPoison);
  Statistics args;
  args.rows = m.rows, args.channels = m.channels, args.x = x.as<BFloat16>();
  args.epsilon = kEpsilon;
  args.mean = mean.as<float>(), args.variance = variance.as<float>();
  args.inverse_deviation = inverse.as<float>();
  args.room = {partial.as<float>(), groups.as<double>(), nullptr};
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

// What a map is normalised by, made of numbers, and the scale and offset that follow: today's
// passes make them anew of the former, those of wide_norm.h read them. A weight and a deviation of
// one keep both exact.
struct Channels {
  Channels(Instance& one, const Matrix& m, uint32_t seed)
      : scale(&one.add(floats_of(m), Fill::kZero)),
        offset(&one.add(floats_of(m), Fill::kPositive, seed + 7)),
        mean(&one.add(floats_of(m), Fill::kZero)),
        inverse(&one.add(floats_of(m), Fill::kPositive, seed)) {
    scale->fill(Fill::kPositive, seed);
    const std::vector<float> ones(static_cast<size_t>(m.channels), 1.0F);
    weight = &one.add(floats_of(m), Fill::kZero);
    weight->upload(ones.data());
  }

  NormAffineOnGpu affine() const {
    return {weight->as<float>(), offset->as<float>(), mean->as<float>(), inverse->as<float>()};
  }

  Buffer *scale, *offset, *mean, *inverse, *weight;
};

// --- forward -------------------------------------------------------------------------------------

using RunApply = std::function<void(const Apply&, cudaStream_t)>;

Instance apply_on(const Matrix& m, bool checked, uint32_t seed, NormTail tail,
                  const RunApply& run) {
  Instance one;
  auto& x = one.add(bytes_of(m), Fill::kNumbers, seed);
  const Channels of(one, m, seed);
  const bool adds = tail == NormTail::kAddRelu;
  auto& residual = one.add(adds ? bytes_of(m) : 16, Fill::kNumbers, seed + 3);
  auto& y = one.add(bytes_of(m), Fill::kPoison);
  const Apply args{m.rows,
                   {.channels = m.channels,
                    .tail = tail,
                    .x = x.as<BFloat16>(),
                    .scale = of.scale->as<float>(),
                    .offset = of.offset->as<float>(),
                    .residual = adds ? residual.as<BFloat16>() : nullptr,
                    .y = y.as<BFloat16>()},
                   of.affine()};
  one.run = [=](cudaStream_t stream) { run(args, stream); };
  if (checked) {
    one.compare = [=, &x, &residual, &y] {
      const auto in = as_doubles(x.download<BFloat16>());
      const auto by = as_doubles(of.scale->download<float>()),
                 to = as_doubles(of.offset->download<float>());
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

// Returns how many blocks left sums, or 0 where they joined them.
using RunSums = std::function<int64_t(const Sums&, cudaStream_t)>;

Instance sums_on(const Matrix& m, bool checked, uint32_t seed, NormTail tail, const RunSums& run) {
  Instance one;
  const bool adds = tail == NormTail::kAddRelu;
  auto& dy = one.add(bytes_of(m), Fill::kNumbers, seed);
  auto& x = one.add(bytes_of(m), Fill::kNumbers, seed + 1);
  auto& y = one.add(adds ? bytes_of(m) : 16, Fill::kNumbers, seed + 2);
  auto& dresidual = one.add(adds ? bytes_of(m) : 16, Fill::kPoison);
  auto& partial = one.add(kMostBlocks * 2 * floats_of(m), Fill::kPoison);
  auto& groups = one.add(kMostGroups * 4 * floats_of(m), Fill::kPoison);
  auto& joint = one.add(4 * floats_of(m), Fill::kPoison);
  const Channels of(one, m, seed + 10);
  std::vector<float*> results;
  for (int i = 0; i < 5; ++i) {
    results.push_back(one.add(floats_of(m), Fill::kPoison).as<float>());
  }
  const Sums args{.rows = m.rows,
                  .pass = {.channels = m.channels,
                           .tail = tail,
                           .dy = dy.as<BFloat16>(),
                           .x = x.as<BFloat16>(),
                           .y = adds ? y.as<BFloat16>() : nullptr,
                           .scale = of.scale->as<float>(),
                           .offset = of.offset->as<float>(),
                           .mean = of.mean->as<float>(),
                           .dresidual = adds ? dresidual.as<BFloat16>() : nullptr},
                  .affine = of.affine(),
                  .dweight = results[0],
                  .dbias = results[1],
                  .a = results[2],
                  .b = results[3],
                  .d = results[4],
                  .sums = joint.as<double>(),
                  .room = {partial.as<float>(), groups.as<double>(), nullptr}};
  auto blocks = std::make_shared<int64_t>(0);
  one.run = [=](cudaStream_t stream) { *blocks = run(args, stream); };
  if (checked) {
    one.compare = [=, &dy, &x, &y, &partial, &joint] {
      const auto g = as_doubles(dy.download<BFloat16>()), in = as_doubles(x.download<BFloat16>());
      const auto out = as_doubles(y.download<BFloat16>());
      const auto by = as_doubles(of.scale->download<float>()),
                 to = as_doubles(of.offset->download<float>());
      const auto middle = as_doubles(of.mean->download<float>());
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
      if (*blocks == 0) return largest_difference(joint.download<double>(), expected);
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
  const Channels of(one, m, seed + 10);
  std::vector<Buffer*> factors;  // a, b, d
  for (uint32_t i = 0; i < 3; ++i) {
    factors.push_back(&one.add(floats_of(m), Fill::kPositive, seed + 12 + i));
  }
  const Gradient args{m.rows,
                      {.channels = m.channels,
                       .relu = relu,
                       .dy = dy.as<BFloat16>(),
                       .x = x.as<BFloat16>(),
                       .scale = of.scale->as<float>(),
                       .offset = of.offset->as<float>(),
                       .a = factors[0]->as<float>(),
                       .b = factors[1]->as<float>(),
                       .d = factors[2]->as<float>(),
                       .dx = dx.as<BFloat16>()},
                      of.affine(),
                      {},
                      nullptr};
  one.run = [=](cudaStream_t stream) { run(args, stream); };
  if (checked) {
    one.compare = [=, &dy, &x, &dx] {
      const auto g = as_doubles(dy.download<BFloat16>()), in = as_doubles(x.download<BFloat16>());
      const auto by = as_doubles(of.scale->download<float>()),
                 to = as_doubles(of.offset->download<float>());
      std::vector<std::vector<double>> factor;
      for (const auto* one_of : factors) factor.push_back(as_doubles(one_of->download<float>()));
      std::vector<double> expected(g.size());
      for (size_t i = 0; i < g.size(); ++i) {
        const size_t c = i % static_cast<size_t>(m.channels);
        const auto before = std::fma(static_cast<float>(by[c]), static_cast<float>(in[i]),
                                     static_cast<float>(to[c]));
        expected[i] =
            factor[0][c] * (relu && before <= 0 ? 0 : g[i]) + factor[1][c] * in[i] + factor[2][c];
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
    return 0;
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
      return 0;
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
