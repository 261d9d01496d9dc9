// A tile of a matrix product on the tensor cores of a GPU. A block stages its operands in shared
// memory, its warps multiply them, and the result is written. Kernels add the code that stages the
// operands.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/gpu/tensor_cores.h"

namespace approx {

// Computes R = A Bt for 128 rows of A [rows,depth] and kColumns (64 or 128) rows of B
// [columns,depth], in float. The depth is processed 32 numbers at a time, in two stages: one is
// filled while the other is multiplied. The order of every sum depends only on the depth.
template <typename Number, int kColumns>
struct TensorTile {
  static constexpr int kThreads = 256;
  static constexpr int kRows = 128, kDepth = 32;
  // Rows are padded by eight numbers, so that eight of them are in different banks.
  static constexpr int kStagedRow = kDepth + 8, kResultRow = kColumns + 8;

  struct Stage {
    uint16_t a[kRows * kStagedRow];
    uint16_t b[kColumns * kStagedRow];
  };
  static_assert(sizeof(Stage) % 16 == 0);
  static constexpr size_t kShared = 2 * sizeof(Stage) > sizeof(uint16_t) * kRows* kResultRow
                                        ? 2 * sizeof(Stage)
                                        : sizeof(uint16_t) * kRows* kResultRow;

  // The part of the result of a warp: 32 rows of half of the columns, in sixteens and eights.
  static constexpr int kOwnColumns = kColumns / 2;
  struct Sums {
    Floats<4> of[2][kOwnColumns / 8];
  };

  // Two functions fill a stage: begin(step, stage) starts its copies or reads its numbers, and
  // end(step, stage) writes the numbers read. Between them the previous stage is multiplied.
  template <typename Thread, typename Begin, typename End>
  static APPROX_GPU void multiply(Thread& thread, int64_t steps, Begin begin, End end, Sums& sums) {
    for (auto& of_sixteen : sums.of) {
      for (auto& tile : of_sixteen) {
        for (float& sum : tile.v) sum = 0;
      }
    }
    auto* stages = thread.template shared<Stage>();
    if (steps > 0) {
      begin(int64_t{0}, stages[0]);
      thread.close_copies();
      end(int64_t{0}, stages[0]);
    }
    for (int64_t step = 0; step < steps; ++step) {
      thread.template wait_copies<0>();
      thread.barrier();  // this stage is complete, and nobody reads the other any more
      Stage& next = stages[(step + 1) % 2];
      if (step + 1 < steps) begin(step + 1, next);
      thread.close_copies();
      multiply_stage(thread, stages[step % 2], sums);
      if (step + 1 < steps) end(step + 1, next);
    }
    thread.barrier();  // the result replaces the stages in memory
  }

  // Leaves the rounded result in shared memory, rows kResultRow apart. Each number is
  // finished(column, sum).
  template <typename Thread, typename Finished>
  static APPROX_GPU uint16_t* rounded(Thread& thread, const Sums& sums, Finished finished) {
    auto* result = thread.template shared<uint16_t>();
    const int lane = thread.index() % kWarp;
    for (int j = 0; j < kOwnColumns / 8; ++j) {
      const int column = first_column(thread) + 8 * j + lane % 4 * 2;
      for (int i = 0; i < 4; ++i) {
        const int row = first_row(thread) + 8 * i + lane / 4;
        const float* two = sums.of[i / 2][j].v + i % 2 * 2;
        store_bits<2>(result + row * kResultRow + column,
                      Halves<2>{{Number(finished(column, two[0])).bits,
                                 Number(finished(column + 1, two[1])).bits}});
      }
    }
    thread.barrier();
    return result;
  }

 private:
  template <typename Thread>
  static APPROX_GPU int first_row(const Thread& thread) {
    return thread.index() / kWarp / 2 * 32;
  }
  template <typename Thread>
  static APPROX_GPU int first_column(const Thread& thread) {
    return thread.index() / kWarp % 2 * kOwnColumns;
  }

  template <typename Thread>
  static APPROX_GPU void multiply_stage(Thread& thread, const Stage& stage, Sums& sums) {
    const int lane = thread.index() % kWarp;
    for (int depth = 0; depth < kDepth; depth += 16) {
      Registers a[2];
      for (int i = 0; i < 2; ++i) {
        // Matrices: eight rows, the eight below; then the numbers eight further.
        const int row = first_row(thread) + 16 * i + lane % 16;
        a[i] = thread.template load_matrices<false>(stage.a + row * kStagedRow + depth +
                                                    lane / 16 * 8);
      }
      for (int j = 0; j < kOwnColumns / 8; j += 2) {
        // Matrices: eight columns, their numbers eight further; then the next eight columns.
        const int column = first_column(thread) + 8 * j + lane / 16 * 8 + lane % 8;
        const Registers b = thread.template load_matrices<false>(stage.b + column * kStagedRow +
                                                                 depth + lane / 8 % 2 * 8);
        for (int i = 0; i < 2; ++i) {
          thread.template multiply<Number>(a[i], b.v[0], b.v[1], sums.of[i][j]);
          thread.template multiply<Number>(a[i], b.v[2], b.v[3], sums.of[i][j + 1]);
        }
      }
    }
  }
};

}  // namespace approx
