// Weight gradients of one position a plane (3x3, bf16): today's kernel, and candidates that share
// the batch among more blocks and add up their parts afterwards.
#include <algorithm>
#include <cmath>

#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/pruned_dy/lists_gpu.h"
#include "kernels/sparse_dy/entries_gpu.h"
#include "tests/gpu_lab/lab.h"

namespace approx::lab {
namespace {

struct Layer {
  std::string name;
  int64_t images, channels, side;
};

const std::vector<Layer>& sizes() {
  static const std::vector<Layer> all = {
      {"resnet18/64x32", 128, 64, 32}, {"resnet18/128x16", 128, 128, 16},
      {"resnet18/256x8", 128, 256, 8}, {"resnet18/512x4", 128, 512, 4},
      {"wrn/160x32", 256, 160, 32},    {"wrn/320x16", 256, 320, 16},
      {"wrn/640x8", 256, 640, 8}};
  return all;
}

const Layer& checked_size() {
  static const Layer small{"checked", 11, 40, 5};
  return small;
}

Problem problem_of(const Layer& l) {
  Problem p;
  p.product = Product::kWeightGradient;
  p.geometry.padding = {1, 1};
  p.n = l.images;
  p.ci = p.co = l.channels;
  p.h = p.w = p.ho = p.wo = l.side;
  p.kh = p.kw = 3;
  return p;
}

// As EntriesWeightGradient for one entry a row of the plan, of `parts` parts of the batch: a block
// has an output channel, a part of its slice and a part of the batch, whose sums go to
// partial [parts,Co,slice].
template <int kWidth>
struct EntriesOfParts {
  using Blocks = SliceBlocks<kWidth>;
  using Entry = ListedPixel<1>;
  static constexpr int kMostThreads = Blocks::kMostThreads;
  Arguments<SparseDY, BFloat16> args;
  int64_t parts = 1;
  float* partial = nullptr;

  constexpr Blocks blocks() const { return {args.problem.slice_size()}; }
  Grid grid() const {
    const size_t entries = static_cast<size_t>(blocks().threads()) * sizeof(Entry);
    return {.x = args.problem.co * parts,
            .y = blocks().chunks(),
            .threads = blocks().threads(),
            .shared = std::max(entries, blocks().shared())};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const Problem& p = args.problem;
    const int64_t co = thread.block_x() / parts, part = thread.block_x() % parts;
    const int64_t begin = p.n * part / parts, end = p.n * (part + 1) / parts;
    const SliceThread<kWidth> at(blocks(), p, thread);
    Floats<kWidth> sum[1]{};
    Entry* entries = thread.template shared<Entry>();
    for (int64_t first = begin; first < end; first += thread.threads()) {
      const int rows =
          static_cast<int>(end - first < thread.threads() ? end - first : thread.threads());
      thread.barrier();
      if (thread.index() < rows) {
        const int64_t n = first + thread.index(), row = n * p.co + co;
        Entry entry;
        entry.place(p, n, args.position[row]);
        entry.value[0] = args.value[row];
        entries[thread.index()] = entry;
      }
      thread.barrier();
      if (at.sums) add_listed(entries, rows, p, at, args.x, sum);
    }
    thread.barrier();
    join_slices(thread, at, thread.template shared<Floats<kWidth>>(), sum[0]);
    if (at.sums && at.part == 0) {
      const int64_t slice = p.slice_size();
      float* to = partial + (part * p.co + co) * slice + at.vector * kWidth;
      for (int i = 0; i < kWidth; ++i) to[i] = sum[0].v[i];
    }
  }
};

using Run = std::function<void(const Arguments<SparseDY, BFloat16>&, float* partial, cudaStream_t)>;

Instance gradient_on(const Layer& l, bool checked, uint32_t seed, const Run& run) {
  Instance one;
  const Problem p = problem_of(l);
  const auto rows = static_cast<size_t>(p.n * p.co);
  const auto slices = static_cast<size_t>(p.co * p.slice_size());
  std::vector<int64_t> start;
  std::vector<int32_t> position;
  std::vector<float> value;
  for (size_t row = 0; row < rows; ++row) {
    const auto word = (static_cast<uint32_t>(row) * 7919u + seed) * 2654435761u;
    start.push_back(static_cast<int64_t>(row));
    position.push_back(static_cast<int32_t>((word >> 8) % static_cast<uint32_t>(l.side * l.side)));
    value.push_back(static_cast<float>(word >> 8) / 8388608.0f - 1);
  }
  start.push_back(static_cast<int64_t>(rows));
  auto& x = one.add(static_cast<size_t>(p.n * p.h * p.w * p.ci) * 2, Fill::kNumbers, seed);
  auto& starts = one.add(start.size() * sizeof(int64_t), Fill::kZero);
  auto& positions = one.add(rows * sizeof(int32_t), Fill::kZero);
  auto& values = one.add(rows * sizeof(float), Fill::kZero);
  auto& dw = one.add(slices * 2, Fill::kPoison);
  auto& partial = one.add(slices * sizeof(float) * 16, Fill::kPoison);
  starts.upload(start.data());
  positions.upload(position.data());
  values.upload(value.data());
  Arguments<SparseDY, BFloat16> args;
  args.problem = p;
  args.x = x.as<BFloat16>();
  args.out = dw.as<BFloat16>();
  args.row_start = starts.as<int64_t>();
  args.position = positions.as<int32_t>();
  args.value = values.as<float>();
  float* parts = partial.as<float>();
  one.run = [=](cudaStream_t stream) { run(args, parts, stream); };
  if (checked) {
    one.compare = [=, &x, &dw] {
      const auto in = as_doubles(x.download<BFloat16>());
      std::vector<double> expected(slices);
      for (int64_t n = 0; n < p.n; ++n) {
        for (int64_t co = 0; co < p.co; ++co) {
          const auto row = static_cast<size_t>(n * p.co + co);
          for (int64_t r = 0; r < 3; ++r) {
            for (int64_t s = 0; s < 3; ++s) {
              const int64_t h = position[row] / p.wo - 1 + r, w = position[row] % p.wo - 1 + s;
              if (h < 0 || h >= p.h || w < 0 || w >= p.w) continue;
              for (int64_t ci = 0; ci < p.ci; ++ci) {
                expected[static_cast<size_t>(((co * 3 + r) * 3 + s) * p.ci + ci)] +=
                    double{value[row]} *
                    in[static_cast<size_t>(((n * p.h + h) * p.w + w) * p.ci + ci)];
              }
            }
          }
        }
      }
      return largest_difference(as_doubles(dw.download<BFloat16>()), expected);
    };
  }
  return one;
}

}  // namespace

void add_positions(std::vector<Case>& cases) {
  const auto add = [&](const std::string& variant, const Run& run) {
    for (const auto& size : sizes()) {
      const Problem p = problem_of(size);
      // What is gathered, once, and the result: the least that any kernel moves.
      const double bytes = double(p.n * p.co) * 9 * double(p.ci) * 2;
      cases.push_back({"one_position", variant, size.name, bytes, 0.005,
                       [size, run](bool checked, uint32_t seed) {
                         return gradient_on(checked ? checked_size() : size, checked, seed, run);
                       }});
    }
  };
  add("now", [](const auto& args, float* /*partial*/, cudaStream_t stream) {
    launch(EntriesWeightGradient<BFloat16, 4>{args}, stream);
  });
  for (const int64_t parts : {2, 4, 8, 16}) {
    add(fmt::format("{} parts of the batch", parts),
        [parts](const auto& args, float* partial, cudaStream_t stream) {
          launch(EntriesOfParts<4>{args, parts, partial}, stream);
          const int64_t count = args.problem.co * args.problem.slice_size();
          launch(SumOfParts<BFloat16>{parts, count, partial, args.out}, stream);
        });
  }
}

}  // namespace approx::lab
