// The data gradient of a dY of which two of every four channels are stored, on the sparse tensor
// cores of a GPU.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/gpu/tensor_cores.h"
#include "kernels/trials/two_of_four.h"

namespace approx {

// dX as a matrix product: a row for each pixel of x, a column for each of its channels. The sum is
// over the taps of the kernel and the channels of dY. A row meets another pixel of dY under each
// tap, or none. A tap meets only rows with one remainder by the stride. So the pixels of x are
// processed remainder by remainder, and a block multiplies only the taps that its pixels meet.
// Each block has 128 pixels and 64 channels of dX, and processes 64 channels of dY at a time. They
// are staged in shared memory while the previous ones are multiplied. Each of its eight warps has
// 32 by 32 numbers of the result in registers, in float. No patch of dY is gathered, and nothing is
// added in global memory. The order of every sum depends only on the shape.
template <typename Number>
struct SparseDataGradient {
  static constexpr int kMostThreads = 256;
  SparseGradientArgs<Number> args;

  // Number of remainders of the pixels by the stride, and number of blocks for each.
  constexpr int64_t remainders() const {
    return args.problem.geometry.stride.h * args.problem.geometry.stride.w;
  }
  // For the remainder that has most; the others may have a row or a column less.
  constexpr int64_t rows() const {
    return blocks_of(args.problem.h, args.problem.geometry.stride.h);
  }
  constexpr int64_t columns() const {
    return blocks_of(args.problem.w, args.problem.geometry.stride.w);
  }

  Grid grid() const {
    return {.x = remainders() * blocks_of(args.problem.n * rows() * columns(), kPixels),
            .y = blocks_of(args.problem.ci, kInputs),
            .threads = kMostThreads,
            .shared = 2 * sizeof(Stage) + kPixels * sizeof(int64_t)};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    auto* stages = thread.template shared<Stage>();
    auto* pixels = thread.template shared<int64_t>(2 * sizeof(Stage));
    const Own own = own_of(thread);
    if (own.piece == 0) pixels[own.row] = own.pixel;
    Sums sums;
    for (auto& of_sixteen : sums.tile) {
      for (auto& tile : of_sixteen) {
        for (float& sum : tile.v) sum = 0;
      }
    }
    Step step = first_step(own);
    if (more(step)) stage(thread, own, step, stages[0]);
    thread.close_copies();
    for (int which = 0; more(step); which ^= 1) {
      const Step next = step_after(step, own);
      if (more(next)) stage(thread, own, next, stages[which ^ 1]);
      thread.close_copies();
      thread.template wait_copies<1>();
      thread.barrier();
      multiply(thread, stages[which], sums);
      thread.barrier();  // the stage may be filled again
      step = next;
    }
    thread.barrier();  // the pixels of other threads are needed
    write(thread, pixels, sums);
  }

 private:
  static constexpr int kPixels = 128, kInputs = 64, kOutputs = 64;  // of a block; of a stage
  // Rows are padded by eight numbers, so that eight of them are in different banks.
  static constexpr int kStoredRow = kOutputs / 2 + 8, kWeightRow = kInputs + 8;
  static constexpr int kPlaceWords = kOutputs / 16;
  static constexpr uint16_t kAnyPlaces = 0x4444;  // for zeros: the first two of four

  struct Stage {
    uint16_t stored[kPixels * kStoredRow];    // for each pixel the numbers of its channels
    uint16_t weights[kOutputs * kWeightRow];  // for each channel of dY those of x
    alignas(8) uint16_t places[kPixels * kPlaceWords];
  };
  static_assert(sizeof(Stage) % 16 == 0);

  // The 32 by 32 numbers of a warp: two times sixteen rows, four times eight columns.
  struct Sums {
    Floats<4> tile[2][4];
  };

  // The part of each stage that a thread copies: half of the row of a pixel.
  struct Own {
    int64_t down, across;  // the remainder of the block's pixels by the stride
    int row, piece;
    int64_t n, y, x;
    int64_t pixel;  // of x; -1 beyond the last
  };

  struct Step {
    int64_t r, s;     // tap; r = Kh after the last
    int64_t channel;  // of dY
  };

  template <typename Thread>
  APPROX_GPU Own own_of(const Thread& thread) const {
    const Problem& p = args.problem;
    const Spatial& stride = p.geometry.stride;
    const int64_t remainder = thread.block_x() % remainders();
    Own own;
    own.down = remainder / stride.w;
    own.across = remainder % stride.w;
    own.row = thread.index() / 2;
    own.piece = thread.index() % 2;
    const int64_t at = thread.block_x() / remainders() * kPixels + own.row;
    own.n = at / (rows() * columns());
    own.y = own.down + at / columns() % rows() * stride.h;
    own.x = own.across + at % columns() * stride.w;
    const bool is_one = own.n < p.n && own.y < p.h && own.x < p.w;
    own.pixel = is_one ? (own.n * p.h + own.y) * p.w + own.x : -1;
    return own;
  }

  APPROX_GPU bool more(const Step& step) const { return step.r < args.problem.kh; }

  // The first tap from `step` on that meets the block's pixels.
  APPROX_GPU Step met_from(Step step, const Own& own) const {
    const Problem& p = args.problem;
    const Geometry& g = p.geometry;
    for (; step.r < p.kh; ++step.r, step.s = 0) {
      if ((own.down + g.padding.h - step.r * g.dilation.h) % g.stride.h != 0) continue;
      for (; step.s < p.kw; ++step.s) {
        if ((own.across + g.padding.w - step.s * g.dilation.w) % g.stride.w == 0) return step;
      }
    }
    return step;
  }
  APPROX_GPU Step first_step(const Own& own) const { return met_from({0, 0, 0}, own); }
  APPROX_GPU Step step_after(const Step& step, const Own& own) const {
    if (step.channel + kOutputs < args.problem.co) {
      return {step.r, step.s, step.channel + kOutputs};
    }
    return met_from({step.r, step.s + 1, 0}, own);
  }

  template <typename Thread>
  APPROX_GPU void stage(Thread& thread, const Own& own, const Step& step, Stage& to) const {
    const Problem& p = args.problem;
    const Geometry& g = p.geometry;
    // Both divisions are exact.
    const int64_t y = (own.y + g.padding.h - step.r * g.dilation.h) / g.stride.h;
    const int64_t x = (own.x + g.padding.w - step.s * g.dilation.w) / g.stride.w;
    const bool met = own.pixel >= 0 && y >= 0 && y < p.ho && x >= 0 && x < p.wo;
    const int64_t from = ((own.n * p.ho + y) * p.wo + x) * p.co + step.channel;
    uint16_t* stored = to.stored + own.row * kStoredRow + own.piece * (kOutputs / 4);
    uint16_t* places = to.places + own.row * kPlaceWords;
    if (met) {
      const Number* numbers = args.stored + from / 2 + own.piece * (kOutputs / 4);
      thread.template copy<16>(stored, numbers);
      thread.template copy<16>(stored + 8, numbers + 8);
      if (own.piece == 0) thread.template copy<8>(places, args.places + from / 16);
    } else {
      for (int i = 0; i < kOutputs / 4; ++i) stored[i] = 0;
      for (int i = 0; own.piece == 0 && i < kPlaceWords; ++i) places[i] = kAnyPlaces;
    }
    // The weights for each eight neighbouring channels of x.
    constexpr int kEights = kInputs / 8;
    const int64_t taps = p.kh * p.kw, tap = step.r * p.kw + step.s;
    for (int piece = thread.index(); piece < kOutputs * kEights; piece += kMostThreads) {
      const int row = piece / kEights, eight = piece % kEights;
      const int64_t input = thread.block_y() * kInputs + eight * 8;
      uint16_t* weights = to.weights + row * kWeightRow + eight * 8;
      if (input < p.ci) {
        thread.template copy<16>(weights,
                                 args.w + ((step.channel + row) * taps + tap) * p.ci + input);
      } else {
        for (int i = 0; i < 8; ++i) weights[i] = 0;
      }
    }
  }

  // Adds the products of a stage, 32 channels of dY at a time.
  template <typename Thread>
  APPROX_GPU void multiply(Thread& thread, const Stage& from, Sums& sums) const {
    const int lane = thread.index() % kWarp;
    const int pixel = first_pixel(thread), input = first_input(thread);
    for (int half = 0; half < 2; ++half) {
      Registers a[2], b[4];
      for (int i = 0; i < 2; ++i) {
        // Matrices: eight rows, the eight below; then the numbers eight further.
        const int row = pixel + 16 * i + lane % 16;
        a[i] = thread.template load_matrices<false>(from.stored + row * kStoredRow + 16 * half +
                                                    lane / 16 * 8);
      }
      for (int i = 0; i < 4; ++i) {
        b[i] = thread.template load_matrices<true>(from.weights + (32 * half + lane) * kWeightRow +
                                                   input + 8 * i);
      }
      // Lanes 0 and 1 of each four give the places of the first sixteen rows, lanes 2 and 3 those
      // of the others.
      const int row = pixel + lane % 4 / 2 * 16 + lane / 4, word = 2 * half + lane % 2;
      const uint16_t* upper = from.places + row * kPlaceWords + word;
      const uint32_t places = upper[0] | static_cast<uint32_t>(upper[8 * kPlaceWords]) << 16;
      for (int i = 0; i < 4; ++i) {
        thread.template multiply_sparse<Number, 0>(a[0], b[i], places, sums.tile[0][i]);
        thread.template multiply_sparse<Number, 1>(a[1], b[i], places, sums.tile[1][i]);
      }
    }
  }

  // The warp's first pixel in the block.
  template <typename Thread>
  static APPROX_GPU int first_pixel(const Thread& thread) {
    return thread.index() / kWarp / 2 * 32;
  }
  template <typename Thread>
  static APPROX_GPU int first_input(const Thread& thread) {
    return thread.index() / kWarp % 2 * 32;
  }

  template <typename Thread>
  APPROX_GPU void write(Thread& thread, const int64_t* pixels, const Sums& sums) const {
    const int lane = thread.index() % kWarp;
    for (int i = 0; i < 2; ++i) {
      for (int below = 0; below < 2; ++below) {
        const int64_t pixel = pixels[first_pixel(thread) + 16 * i + 8 * below + lane / 4];
        for (int j = 0; j < 4; ++j) {
          const int64_t input =
              thread.block_y() * kInputs + first_input(thread) + 8 * j + lane % 4 * 2;
          if (pixel < 0 || input >= args.problem.ci) continue;
          const float* two = sums.tile[i][j].v + 2 * below;
          store<2>(args.out + pixel * args.problem.ci + input, Floats<2>{{two[0], two[1]}});
        }
      }
    }
  }
};

}  // namespace approx
