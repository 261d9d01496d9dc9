// What chooses: peaks and sums of planes, the mean magnitude, stochastic pruning, two of four,
// norms of channels, the largest scores, channels taken out and put back. Sizes are dY of the same
// networks as in norms.cu.
#include <algorithm>
#include <cmath>

#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/sampled/channels.h"
#include "kernels/select/largest.h"
#include "kernels/select/magnitude.h"
#include "kernels/select/peak.h"
#include "kernels/select/pruned.h"
#include "kernels/select/squares.h"
#include "tests/gpu_lab/lab.h"
#include "tests/gpu_lab/moved_channels.h"

namespace approx::lab {
namespace {

struct Maps {
  std::string name;
  int64_t images, plane, channels;

  int64_t count() const { return images * plane * channels; }
};

const std::vector<Maps>& sizes() {
  static const std::vector<Maps> all = {
      {"resnet18/64x32", 256, 32 * 32, 64},    {"resnet18/128x16", 256, 16 * 16, 128},
      {"resnet18/256x8", 256, 8 * 8, 256},     {"resnet18/512x4", 256, 4 * 4, 512},
      {"wrn/160x32", 256, 32 * 32, 160},       {"wrn/640x8", 256, 8 * 8, 640},
      {"resnet50/64x112", 128, 112 * 112, 64}, {"resnet50/256x56", 128, 56 * 56, 256},
      {"resnet50/2048x7", 128, 7 * 7, 2048}};
  return all;
}

const Maps& checked_size() {
  static const Maps small{"checked", 3, 77, 72};
  return small;
}

using Make = std::function<Instance(const Maps&, bool checked, uint32_t seed)>;

// Numbers of dY are 2 bytes each; of a 16-byte scratch nothing is asked.
void add(std::vector<Case>& cases, const char* kernel, const char* variant, double bytes_a_number,
         double tolerance, const Make& make) {
  for (const auto& size : sizes()) {
    cases.push_back({kernel, variant, size.name, bytes_a_number * double(size.count()), tolerance,
                     [size, make](bool checked, uint32_t seed) {
                       return make(checked ? checked_size() : size, checked, seed);
                     }});
  }
}

Instance peak_of(const Maps& m, bool checked, uint32_t seed) {
  Instance one;
  const auto planes = static_cast<size_t>(m.images * m.channels);
  auto& dy = one.add(static_cast<size_t>(m.count()) * 2, Fill::kNumbers, seed);
  auto& position = one.add(planes * 4, Fill::kPoison);
  auto& sum = one.add(planes * 4, Fill::kPoison);
  const PeakArgs<BFloat16> args{
      m.images, m.plane, m.channels, dy.as<BFloat16>(), position.as<int32_t>(), sum.as<float>()};
  one.run = [=](cudaStream_t stream) { launch_of<PeakArgs<BFloat16>>()(args, stream); };
  if (checked) {
    one.compare = [=, &dy, &position, &sum] {
      const auto numbers = as_doubles(dy.download<BFloat16>());
      const auto places = position.download<int32_t>();
      std::vector<double> found = as_doubles(sum.download<float>()), expected(planes);
      for (size_t plane = 0; plane < planes; ++plane) {
        const size_t image = plane / static_cast<size_t>(m.channels);
        const auto at = [&](int64_t pixel) {
          return numbers[(image * static_cast<size_t>(m.plane) + static_cast<size_t>(pixel)) *
                             static_cast<size_t>(m.channels) +
                         plane % static_cast<size_t>(m.channels)];
        };
        int64_t peak = 0;
        for (int64_t p = 0; p < m.plane; ++p) {
          expected[plane] += at(p);
          if (std::abs(at(p)) > std::abs(at(peak))) peak = p;
        }
        if (places[plane] != peak) found[plane] = NAN;
      }
      return largest_difference(found, expected);
    };
  }
  return one;
}

Instance mean_of(const Maps& m, bool checked, uint32_t seed) {
  Instance one;
  auto& dy = one.add(static_cast<size_t>(m.count()) * 2, Fill::kNumbers, seed);
  auto& partial = one.add(kMostPartials * sizeof(double), Fill::kPoison);
  auto& mean = one.add(sizeof(float), Fill::kPoison);
  const MeanMagnitudeArgs<BFloat16> args{m.count(), dy.as<BFloat16>(), partial.as<double>(),
                                         mean.as<float>()};
  one.run = [=](cudaStream_t stream) { launch_of<MeanMagnitudeArgs<BFloat16>>()(args, stream); };
  if (checked) {
    one.compare = [=, &dy, &mean] {
      double sum = 0;
      for (const double number : as_doubles(dy.download<BFloat16>())) sum += std::abs(number);
      return largest_difference(as_doubles(mean.download<float>()), {sum / double(m.count())});
    };
  }
  return one;
}

Instance pruned_of(const Maps& m, bool checked, uint32_t seed) {
  Instance one;
  auto& dy = one.add(static_cast<size_t>(m.count()) * 2, Fill::kNumbers, seed);
  auto& pruned = one.add(static_cast<size_t>(m.count()) * 2, Fill::kPoison);
  auto& tau = one.add(sizeof(float), Fill::kZero);
  auto& kept = one.add(sizeof(int64_t), Fill::kZero);
  constexpr float kTau = 0.75f;
  tau.upload(&kTau);
  StochasticOnGpu<BFloat16> args;
  args.args.count = m.count();
  args.args.dy = dy.as<BFloat16>();
  args.args.pruned = pruned.as<BFloat16>();
  args.args.rng.seed = 5;
  args.tau = tau.as<float>();
  args.kept = kept.as<int64_t>();
  one.run = [=](cudaStream_t stream) { launch_of<StochasticOnGpu<BFloat16>>()(args, stream); };
  if (checked) {
    one.compare = [=, &dy, &pruned] {
      const auto numbers = dy.download<BFloat16>();
      std::vector<double> expected;
      for (size_t i = 0; i < numbers.size(); ++i) {
        const auto g = static_cast<float>(numbers[i]);
        const uint32_t word = args.args.rng.block(static_cast<uint32_t>(i / 4))[i % 4];
        const bool small = std::abs(g) < kTau;
        const bool stays = std::abs(g) > Rng::uniform(word) * kTau;
        expected.push_back(small ? (stays ? std::copysign(kTau, g) : 0.0f) : g);
      }
      return largest_difference(as_doubles(pruned.download<BFloat16>()), expected);
    };
  }
  return one;
}

Instance two_of_four_of(const Maps& m, bool checked, uint32_t seed) {
  Instance one;
  auto& dy = one.add(static_cast<size_t>(m.count()) * 2, Fill::kNumbers, seed);
  auto& pruned = one.add(static_cast<size_t>(m.count()) * 2, Fill::kPoison);
  auto& kept = one.add(sizeof(int64_t), Fill::kZero);
  NmOnGpu<BFloat16> args;
  args.args.pixels = m.images * m.plane;
  args.args.channels = m.channels;
  args.args.n = 2;
  args.args.m = 4;
  args.args.dy = dy.as<BFloat16>();
  args.args.pruned = pruned.as<BFloat16>();
  args.images = m.images;
  args.rescale_plane = true;
  args.kept = kept.as<int64_t>();
  one.run = [=](cudaStream_t stream) { launch_of<NmOnGpu<BFloat16>>()(args, stream); };
  if (checked) {
    one.compare = [=, &dy, &pruned] {
      const auto numbers = as_doubles(dy.download<BFloat16>());
      std::vector<double> left = numbers;
      for (size_t first = 0; first < left.size(); first += 4) {
        for (size_t i = 0; i < 4; ++i) {
          int before = 0;  // how many of the group come before this one
          for (size_t k = 0; k < 4; ++k) {
            const double own = std::abs(numbers[first + i]), other = std::abs(numbers[first + k]);
            before += other > own || (other == own && k < i) ? 1 : 0;
          }
          if (before >= 2) left[first + i] = 0;
        }
      }
      const auto channels = static_cast<size_t>(m.channels), plane = static_cast<size_t>(m.plane);
      for (size_t image = 0; image < static_cast<size_t>(m.images); ++image) {
        for (size_t c = 0; c < channels; ++c) {
          double all = 0, some = 0;
          for (size_t p = 0; p < plane; ++p) {
            all += std::abs(numbers[(image * plane + p) * channels + c]);
            some += std::abs(left[(image * plane + p) * channels + c]);
          }
          for (size_t p = 0; some > 0 && p < plane; ++p) {
            left[(image * plane + p) * channels + c] *= all / some;
          }
        }
      }
      return largest_difference(as_doubles(pruned.download<BFloat16>()), left);
    };
  }
  return one;
}

Instance norms_of(const Maps& m, bool checked, uint32_t seed) {
  Instance one;
  const int64_t rows = m.images * m.plane;
  auto& x = one.add(static_cast<size_t>(m.count()) * 2, Fill::kNumbers, seed);
  auto& partial = one.add(1024 * static_cast<size_t>(m.channels) * sizeof(double), Fill::kPoison);
  auto& norm = one.add(static_cast<size_t>(m.channels) * sizeof(double), Fill::kPoison);
  const NormsOnGpu<BFloat16> args{
      {x.as<BFloat16>(), rows, m.channels}, false, partial.as<double>(), norm.as<double>()};
  one.run = [=](cudaStream_t stream) { launch_of<NormsOnGpu<BFloat16>>()(args, stream); };
  if (checked) {
    one.compare = [=, &x, &norm] {
      const auto numbers = as_doubles(x.download<BFloat16>());
      std::vector<double> expected(static_cast<size_t>(m.channels));
      for (size_t i = 0; i < numbers.size(); ++i) {
        expected[i % expected.size()] += numbers[i] * numbers[i];
      }
      for (auto& square : expected) square = std::sqrt(square);
      return largest_difference(norm.download<double>(), expected);
    };
  }
  return one;
}

using RunMove = std::function<void(const MoveChannels<BFloat16>&, cudaStream_t)>;

// Every second channel.
Instance moved_of(const Maps& m, bool checked, uint32_t seed, bool puts, const RunMove& run) {
  Instance one;
  const int64_t rows = m.images * m.plane, kept = m.channels / 2 / 8 * 8;
  std::vector<int64_t> index;
  for (int64_t i = 0; i < kept; ++i) index.push_back(2 * i + (i % 3 == 0 ? 1 : 0));
  auto& list = one.add(index.size() * sizeof(int64_t), Fill::kZero);
  list.upload(index.data());
  const auto whole = static_cast<size_t>(m.count()) * 2;
  const auto part = static_cast<size_t>(rows * kept) * 2;
  auto& from = one.add(puts ? part : whole, Fill::kNumbers, seed);
  auto& to = one.add(puts ? whole : part, Fill::kPoison);
  const MoveChannels<BFloat16> args{{m.channels, kept, list.as<int64_t>(), nullptr},
                                    rows,
                                    from.as<BFloat16>(),
                                    to.as<BFloat16>(),
                                    puts};
  one.run = [=](cudaStream_t stream) { run(args, stream); };
  if (checked) {
    one.compare = [=, &from, &to] {
      const auto in = as_doubles(from.download<BFloat16>());
      const auto found = as_doubles(to.download<BFloat16>());
      std::vector<double> expected(found.size());
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t i = 0; i < kept; ++i) {
          const auto in_whole =
              static_cast<size_t>(row * m.channels + index[static_cast<size_t>(i)]);
          const auto in_part = static_cast<size_t>(row * kept + i);
          if (puts) {
            expected[in_whole] = in[in_part];
          } else {
            expected[in_part] = in[in_whole];
          }
        }
      }
      return largest_difference(found, expected);
    };
  }
  return one;
}

Instance largest_of(int64_t count, uint32_t seed, bool checked) {
  Instance one;
  std::vector<double> scores;
  for (int64_t i = 0; i < count; ++i) {
    const auto word = static_cast<uint32_t>(i + seed) * 2654435761u;
    scores.push_back(double{static_cast<float>(word >> 8)});
  }
  auto& score = one.add(scores.size() * sizeof(double), Fill::kZero);
  score.upload(scores.data());
  const int64_t k = count / 2;
  auto& index = one.add(static_cast<size_t>(k) * sizeof(int64_t), Fill::kPoison);
  const LargestArgs args{count, k, score.as<double>(), index.as<int64_t>()};
  one.run = [=](cudaStream_t stream) { launch_of<LargestArgs>()(args, stream); };
  if (checked) {
    one.compare = [=, &index] {
      std::vector<int64_t> order;
      for (int64_t i = 0; i < count; ++i) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
      });
      order.resize(static_cast<size_t>(k));
      std::sort(order.begin(), order.end());
      return index.download<int64_t>() == order ? 0.0 : 1.0;
    };
  }
  return one;
}

}  // namespace

void add_selections(std::vector<Case>& cases) {
  add(cases, "peak", "now", 2, 1e-6, peak_of);
  add(cases, "mean_magnitude", "now", 2, 1e-6, mean_of);
  add(cases, "stochastic_pruning", "now", 4, 0, pruned_of);
  add(cases, "two_of_four_by_plane", "now", 4, 0.005, two_of_four_of);
  add(cases, "column_norms", "now", 2, 1e-6, norms_of);
  for (const bool puts : {false, true}) {
    const auto add_move = [&](const char* variant, const RunMove& run) {
      add(cases, puts ? "put_channels" : "take_channels", variant, 3, 0,
          [=](const Maps& m, bool checked, uint32_t seed) {
            return moved_of(m, checked, seed, puts, run);
          });
    };
    add_move("now", [](const MoveChannels<BFloat16>& args, cudaStream_t stream) {
      launch_of<MoveChannels<BFloat16>>()(args, stream);
    });
    add_move("wide:8 rows", [](const MoveChannels<BFloat16>& args, cudaStream_t stream) {
      if (args.puts) return launch(PutWide<8>{args}, stream);
      launch(TakeWide<8>{args}, stream);
    });
    add_move("wide:4 rows:2112 blocks",
             [](const MoveChannels<BFloat16>& args, cudaStream_t stream) {
               if (args.puts) return launch(PutWide<4>{args, 2112}, stream);
               launch(TakeWide<4>{args, 2112}, stream);
             });
  }
  for (const int64_t count : {64, 128, 256, 512, 640, 2048}) {
    cases.push_back(
        {"largest_half", "now", fmt::format("{}", count), double(count) * 12, 0,
         [count](bool checked, uint32_t seed) { return largest_of(count, seed, checked); }});
  }
}

}  // namespace approx::lab
