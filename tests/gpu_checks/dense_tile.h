// A product of tensor cores as plain matrices, and as the registers of the lanes that PTX asks for
// (kernels/gpu/tensor_cores.h): for the emulator and for a GPU.
#pragma once

#include "tests/gpu_checks/sparse_tile.h"

namespace approx {

// A [16,16] times B [16,8], added to C [16,8]. All are whole numbers that sixteen bits hold.
struct DenseTile {
  float a[16][16] = {};
  float b[16][8] = {};
  float c[16][8] = {};

  // All zero but for one number of A; each number of B tells where it is from.
  static DenseTile of_one(int row, int at) {
    DenseTile tile;
    tile.a[row][at] = 1;
    for (int k = 0; k < 16; ++k) {
      for (int n = 0; n < 8; ++n) tile.b[k][n] = static_cast<float>(8 * k + n - 64);
    }
    return tile;
  }

  float product(int row, int n) const {
    float sum = c[row][n];
    for (int k = 0; k < 16; ++k) sum += a[row][k] * b[k][n];
    return sum;
  }
};

// Of `b` the last two registers hold no number.
template <typename Number>
TileRegisters registers_of(const std::vector<DenseTile>& tiles) {
  TileRegisters all;
  for (const DenseTile& tile : tiles) {
    for (int lane = 0; lane < kWarp; ++lane) {
      const int g = lane / 4, t = lane % 4;
      Registers a{}, b{};
      Floats<4> sum{};
      for (int i = 0; i < 4; ++i) {
        const int row = g + i % 2 * 8, k = 2 * t + i / 2 * 8;
        a.v[i] = pair_of<Number>(tile.a[row][k], tile.a[row][k + 1]);
        b.v[i] = i < 2 ? pair_of<Number>(tile.b[8 * i + 2 * t][g], tile.b[8 * i + 2 * t + 1][g])
                       : 0xFFFFFFFF;
        sum.v[i] = tile.c[g + i / 2 * 8][2 * t + i % 2];
      }
      all.a.push_back(a);
      all.b.push_back(b);
      all.sum.push_back(sum);
    }
  }
  return all;
}

// A tile for each number of A.
inline std::vector<DenseTile> dense_tiles_of_single_numbers() {
  std::vector<DenseTile> tiles;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) tiles.push_back(DenseTile::of_one(row, column));
  }
  return tiles;
}

}  // namespace approx
