#include "tests/gpu_checks/warp_products.h"

#include "kernels/bfloat16.h"
#include "kernels/float16.h"

namespace approx {
namespace {

constexpr int kRows = 16, kColumns = 8, kDepth = 32;

uint16_t half_of(uint32_t word, int which) { return static_cast<uint16_t>(word >> (16 * which)); }

float number_of(uint16_t bits, bool is_bfloat16) {
  BFloat16 wide;
  Float16 narrow;
  wide.bits = narrow.bits = bits;
  return is_bfloat16 ? static_cast<float>(wide) : static_cast<float>(narrow);
}

}  // namespace

const char* load_matrices_of_warp(const WarpLanes& lanes) {
  const auto lane = [&](int l) -> MatrixRow& {
    return *static_cast<MatrixRow*>(lanes[static_cast<size_t>(l)]);
  };
  // matrix[i][row][column]
  uint16_t matrix[4][8][8];
  for (int l = 0; l < kWarp; ++l) {
    if (lane(l).transposed != lane(0).transposed) return "lanes load matrices in unlike ways";
    for (int column = 0; column < 8; ++column) {
      matrix[l / 8][l % 8][column] = lane(l).row[column];
    }
  }
  for (int l = 0; l < kWarp; ++l) {
    const int group = l / 4, first = l % 4 * 2;
    for (int i = 0; i < 4; ++i) {
      const auto at = [&](int k) {
        return lane(l).transposed ? matrix[i][k][group] : matrix[i][group][k];
      };
      lane(l).loaded.v[i] = at(first) | uint32_t{at(first + 1)} << 16;
    }
  }
  return nullptr;
}

const char* multiply_of_warp(const WarpLanes& lanes) {
  const auto lane = [&](int l) -> DenseFactors& {
    return *static_cast<DenseFactors*>(lanes[static_cast<size_t>(l)]);
  };
  constexpr int kTerms = 16;
  const bool is_bfloat16 = lane(0).is_bfloat16;
  float a[kRows][kTerms], b[kTerms][kColumns];
  for (int l = 0; l < kWarp; ++l) {
    const DenseFactors& own = lane(l);
    if (own.is_bfloat16 != is_bfloat16) return "lanes multiply in unlike ways";
    const int group = l / 4, member = l % 4;
    for (int i = 0; i < 8; ++i) {
      // Of a: row groupID for a0, a1, a4, a5; the columns from threadID_in_group * 2 on, eight
      // further from a4 on.
      const int row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
      a[row][member * 2 + i % 2 + (i < 4 ? 0 : 8)] =
          number_of(half_of(own.a.v[i / 2], i % 2), is_bfloat16);
    }
    // Of b: rows from threadID_in_group * 2 on, eight further from b2 on.
    for (int i = 0; i < 4; ++i) {
      b[member * 2 + i % 2 + (i < 2 ? 0 : 8)][group] =
          number_of(half_of(own.b[i / 2], i % 2), is_bfloat16);
    }
  }
  for (int l = 0; l < kWarp; ++l) {
    for (int i = 0; i < 4; ++i) {
      // c0 and c1 are of row groupID, c2 and c3 of row groupID + 8.
      const int row = l / 4 + (i < 2 ? 0 : 8), column = l % 4 * 2 + i % 2;
      float sum = lane(l).sum.v[i];
      for (int k = 0; k < kTerms; ++k) sum += a[row][k] * b[k][column];
      lane(l).sum.v[i] = sum;
    }
  }
  return nullptr;
}

const char* multiply_sparse_of_warp(const WarpLanes& lanes) {
  const auto lane = [&](int l) -> SparseFactors& {
    return *static_cast<SparseFactors*>(lanes[static_cast<size_t>(l)]);
  };
  const int selector = lane(0).selector;
  const bool is_bfloat16 = lane(0).is_bfloat16;
  float stored[kRows][kDepth / 2], b[kDepth][kColumns];
  int column_of[kRows][kDepth / 2];
  for (int l = 0; l < kWarp; ++l) {
    const SparseFactors& own = lane(l);
    if (own.selector != selector || own.is_bfloat16 != is_bfloat16) {
      return "lanes multiply in unlike ways";
    }
    // PTX has groupID and threadID_in_group.
    const int group = l / 4, member = l % 4;
    for (int i = 0; i < 8; ++i) {
      // Of a: row groupID for a0, a1, a4, a5; four columns from threadID_in_group * 4 on, of which
      // two are stored, and sixteen further from a4 on.
      const int row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
      const int first_column = member * 4 + (i < 4 ? 0 : 16);
      stored[row][first_column / 2 + i % 2] =
          number_of(half_of(own.a.v[i / 2], i % 2), is_bfloat16);
      // Of b: two rows from threadID_in_group * 2 on, eight further in each register.
      b[i / 2 * 8 + member * 2 + i % 2][group] =
          number_of(half_of(own.b.v[i / 2], i % 2), is_bfloat16);
    }
    const int half = member - 2 * selector;  // of the columns
    if (half != 0 && half != 1) continue;
    for (const int row : {group, group + 8}) {
      const uint16_t bits = half_of(own.indices, row == group ? 0 : 1);
      for (int four = 0; four < 4; ++four) {
        const int first = bits >> (4 * four) & 3, second = bits >> (4 * four + 2) & 3;
        if (first >= second) return "the indices of a sparse product do not ascend";
        const int column = 16 * half + 4 * four;
        column_of[row][column / 2] = column + first;
        column_of[row][column / 2 + 1] = column + second;
      }
    }
  }
  for (int l = 0; l < kWarp; ++l) {
    for (int i = 0; i < 4; ++i) {
      // c0 and c1 are of row groupID, c2 and c3 of row groupID + 8.
      const int row = l / 4 + (i < 2 ? 0 : 8), column = l % 4 * 2 + i % 2;
      float sum = lane(l).sum.v[i];
      for (int k = 0; k < kDepth / 2; ++k) sum += stored[row][k] * b[column_of[row][k]][column];
      lane(l).sum.v[i] = sum;
    }
  }
  return nullptr;
}

}  // namespace approx
