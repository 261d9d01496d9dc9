// The passes of a batch norm on a GPU by themselves, as they were tried before norm_gpu.h took
// them: sums of blocks are left and not joined, and a scale and an offset are read. What those of
// norm_gpu.h take beyond these is what joining sums costs. Numbers have 16 bits here, and 8 divides
// the channels.
#pragma once

#include "kernels/gpu/loads.h"
#include "kernels/gpu/planes.h"
#include "kernels/norm/norm_on_gpu.h"

namespace approx::lab {

constexpr int kWide = 8;

// As blocks_of_rows, with another limit on the number of blocks.
constexpr PlaneBlocks wide_blocks(int64_t rows, int64_t channels, int64_t most_blocks) {
  const int64_t least = blocks_of(rows, 64);
  const int64_t blocks = least < most_blocks ? least : most_blocks;
  return {blocks, blocks_of(rows, blocks), channels / kWide};
}

APPROX_GPU void store_wide(BFloat16* to, const Floats<kWide>& values) {
#if defined(__CUDA_ARCH__)
  uint4 words;
  uint32_t* word = reinterpret_cast<uint32_t*>(&words);
  for (int i = 0; i < kWide / 2; ++i) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
        : "=r"(word[i])
        : "f"(values.v[2 * i + 1]), "f"(values.v[2 * i]));
  }
  *reinterpret_cast<uint4*>(to) = words;
#else
  store<kWide>(to, values);
#endif
}

APPROX_GPU Floats<kWide> load_wide(const float* from) {
  Floats<kWide> values;
  const auto low = load_constant<4>(from), high = load_constant<4>(from + 4);
  for (int i = 0; i < 4; ++i) values.v[i] = low.v[i], values.v[4 + i] = high.v[i];
  return values;
}

using Eight = Neighbours<BFloat16, kWide>;
APPROX_GPU Eight load_eight(const BFloat16* from) { return load_by<kWide, kWide>(from); }

// Leaves the sums of the block's threads in `partial` [blocks,2,channels].
template <typename Thread>
APPROX_GPU void leave_sums(Thread& thread, const PlaneThread& at, bool is_one,
                           const TwoSums<float, kWide>& own, int64_t channels, float* partial) {
  auto* all = thread.template shared<TwoSums<float, kWide>>();
  all[thread.index()] = own;
  join_parts(thread, at, [&](int mine, int other) { all[mine].add(all[other]); });
  if (at.part != 0 || !is_one) return;
  for (int which = 0; which < 2; ++which) {
    float* sums = partial + (thread.block_x() * 2 + which) * channels + at.vector * kWide;
    for (int i = 0; i < kWide; ++i) sums[i] = all[thread.index()].of(which, i);
  }
}

template <int kTurns>
struct WideMoments {
  static constexpr int kMostThreads = 256;
  NormStatisticsOnGpu<BFloat16> on;
  int64_t most_blocks = 1024;

  constexpr PlaneBlocks blocks() const { return wide_blocks(on.rows, on.channels, most_blocks); }
  Grid grid() const { return blocks().grid(sizeof(TwoSums<float, kWide>)); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const PlaneThread at(blocks(), thread);
    const bool is_one = at.vector < blocks().vectors;
    TwoSums<float, kWide> own;
    own.clear();
    if (is_one) {
      const BFloat16* x = on.x + at.vector * kWide;
      const Floats<kWide> shift = load_eight(x).floats();
      for_own_rows<kTurns>(
          thread, blocks(), at, on.rows,
          [&](int64_t row) { return load_eight(x + row * on.channels); },
          [&](int64_t /*row*/, const Eight& eight) {
            const Floats<kWide> values = eight.floats();
            for (int i = 0; i < kWide; ++i) {
              const float value = values.v[i] - shift.v[i];
              own.first[i] += value;
              own.second[i] += value * value;
            }
          });
    }
    leave_sums(thread, at, is_one, own, on.channels, on.room.partial);
  }
};

template <int kTurns>
struct WideApply {
  static constexpr int kMostThreads = 256;
  NormApplyOnGpu<BFloat16> on;
  int64_t most_blocks = 1024;

  constexpr PlaneBlocks blocks() const {
    return wide_blocks(on.rows, on.pass.channels, most_blocks);
  }
  Grid grid() const { return blocks().grid(0); }

  struct Row {
    Eight x, residual;
  };

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NormApply<BFloat16>& a = on.pass;
    const PlaneThread at(blocks(), thread);
    if (at.vector >= blocks().vectors) return;
    const int64_t channel = at.vector * kWide;
    const Floats<kWide> scale = load_wide(a.scale + channel),
                        offset = load_wide(a.offset + channel);
    const bool adds = a.tail == NormTail::kAddRelu, cuts = a.tail != NormTail::kNone;
    for_own_rows<kTurns>(
        thread, blocks(), at, on.rows,
        [&](int64_t row) {
          const int64_t index = row * a.channels + channel;
          Row loaded;
          loaded.x = load_eight(a.x + index);
          if (adds) loaded.residual = load_eight(a.residual + index);
          return loaded;
        },
        [&](int64_t row, const Row& loaded) {
          Floats<kWide> y = loaded.x.floats();
          for (int i = 0; i < kWide; ++i) y.v[i] = std::fma(scale.v[i], y.v[i], offset.v[i]);
          if (adds) {
            const Floats<kWide> residual = loaded.residual.floats();
            for (int i = 0; i < kWide; ++i) y.v[i] += residual.v[i];
          }
          for (int i = 0; i < kWide; ++i) {
            if (cuts && y.v[i] < 0) y.v[i] = 0;
          }
          store_wide(a.y + row * a.channels + channel, y);
        });
  }
};

template <int kTurns>
struct WideSums {
  static constexpr int kMostThreads = 256;
  NormSumsOnGpu<BFloat16> on;
  int64_t most_blocks = 1024;

  constexpr PlaneBlocks blocks() const {
    return wide_blocks(on.rows, on.pass.channels, most_blocks);
  }
  Grid grid() const { return blocks().grid(sizeof(TwoSums<float, kWide>)); }

  struct Row {
    Eight dy, x, y;
  };

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NormSums<BFloat16>& a = on.pass;
    const PlaneThread at(blocks(), thread);
    const bool is_one = at.vector < blocks().vectors;
    TwoSums<float, kWide> own;
    own.clear();
    if (is_one) {
      const int64_t channel = at.vector * kWide;
      const bool relu = a.tail == NormTail::kRelu, adds = a.tail == NormTail::kAddRelu;
      Floats<kWide> scale{}, offset{};
      if (relu) scale = load_wide(a.scale + channel), offset = load_wide(a.offset + channel);
      const Floats<kWide> mean = load_wide(a.mean + channel);
      for_own_rows<kTurns>(
          thread, blocks(), at, on.rows,
          [&](int64_t row) {
            const int64_t index = row * a.channels + channel;
            Row loaded;
            loaded.dy = load_eight(a.dy + index);
            loaded.x = load_eight(a.x + index);
            if (adds) loaded.y = load_eight(a.y + index);
            return loaded;
          },
          [&](int64_t row, const Row& loaded) {
            Floats<kWide> g = loaded.dy.floats();
            const Floats<kWide> x = loaded.x.floats();
            if (relu) {
              for (int i = 0; i < kWide; ++i) {
                if (std::fma(scale.v[i], x.v[i], offset.v[i]) <= 0) g.v[i] = 0;
              }
            }
            if (adds) {
              const Floats<kWide> y = loaded.y.floats();
              for (int i = 0; i < kWide; ++i) {
                if (y.v[i] <= 0) g.v[i] = 0;
              }
              store_wide(a.dresidual + row * a.channels + channel, g);
            }
            for (int i = 0; i < kWide; ++i) {
              own.first[i] += g.v[i];
              own.second[i] += g.v[i] * (x.v[i] - mean.v[i]);
            }
          });
    }
    leave_sums(thread, at, is_one, own, a.channels, on.room.partial);
  }
};

template <int kTurns>
struct WideGradient {
  static constexpr int kMostThreads = 256;
  NormGradientOnGpu<BFloat16> on;
  int64_t most_blocks = 1024;

  constexpr PlaneBlocks blocks() const {
    return wide_blocks(on.rows, on.pass.channels, most_blocks);
  }
  Grid grid() const { return blocks().grid(0); }

  struct Row {
    Eight dy, x;
  };

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NormGradient<BFloat16>& p = on.pass;
    const PlaneThread at(blocks(), thread);
    if (at.vector >= blocks().vectors) return;
    const int64_t channel = at.vector * kWide;
    const Floats<kWide> a = load_wide(p.a + channel), b = load_wide(p.b + channel),
                        d = load_wide(p.d + channel);
    Floats<kWide> scale{}, offset{};
    if (p.relu) scale = load_wide(p.scale + channel), offset = load_wide(p.offset + channel);
    for_own_rows<kTurns>(
        thread, blocks(), at, on.rows,
        [&](int64_t row) {
          const int64_t index = row * p.channels + channel;
          return Row{load_eight(p.dy + index), load_eight(p.x + index)};
        },
        [&](int64_t row, const Row& loaded) {
          const Floats<kWide> dy = loaded.dy.floats(), x = loaded.x.floats();
          Floats<kWide> dx;
          for (int i = 0; i < kWide; ++i) {
            const bool cut = p.relu && std::fma(scale.v[i], x.v[i], offset.v[i]) <= 0;
            dx.v[i] = std::fma(a.v[i], cut ? 0.0f : dy.v[i], std::fma(b.v[i], x.v[i], d.v[i]));
          }
          store_wide(p.dx + row * p.channels + channel, dx);
        });
  }
};

}  // namespace approx::lab
