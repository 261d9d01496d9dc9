// A sparse product of tensor cores as plain matrices, and as the registers of the lanes that PTX
// asks for (kernels/gpu/tensor_cores.h): for the emulator and for a GPU.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/bfloat16.h"
#include "kernels/float16.h"
#include "kernels/gpu/probes.h"

namespace approx {

// A [16,32] with at most two numbers of every four that are not zero, times B [32,8], added to
// C [16,8]. All are whole numbers that sixteen bits hold.
struct SparseTile {
  float stored[16][16] = {};  // of every four columns the two that are stored
  int column[16][16] = {};    // of each, ascending
  float b[32][8] = {};
  float c[16][8] = {};

  SparseTile() {
    for (auto& of_row : column) {
      for (int k = 0; k < 16; ++k) of_row[k] = k / 2 * 4 + k % 2;
    }
  }

  // All zero but for one number of A, stored in the first or the second place beside a zero in the
  // column `other`, of the same four; each number of B tells where it is from.
  static SparseTile of_one(int row, int at, int other) {
    SparseTile tile;
    const int place = at / 4 * 2;
    tile.column[row][place] = at < other ? at : other;
    tile.column[row][place + 1] = at < other ? other : at;
    tile.stored[row][place + (at < other ? 0 : 1)] = 1;
    for (int k = 0; k < 32; ++k) {
      for (int n = 0; n < 8; ++n) tile.b[k][n] = static_cast<float>(8 * k + n - 128);
    }
    return tile;
  }

  float product(int row, int n) const {
    float sum = c[row][n];
    for (int k = 0; k < 16; ++k) sum += stored[row][k] * b[column[row][k]][n];
    return sum;
  }
};

// Tiles as registers [tiles,32].
struct TileRegisters {
  std::vector<Registers> a, b;
  std::vector<uint32_t> indices;
  std::vector<Floats<4>> sum;
};

template <typename Number>
uint32_t pair_of(float low, float high) {
  return Number(low).bits | uint32_t{Number(high).bits} << 16;
}

template <typename Number>
TileRegisters registers_of(const std::vector<SparseTile>& tiles, int selector) {
  TileRegisters all;
  for (const SparseTile& tile : tiles) {
    for (int lane = 0; lane < kWarp; ++lane) {
      const int g = lane / 4, t = lane % 4;
      Registers a{}, b{};
      Floats<4> sum{};
      for (int i = 0; i < 4; ++i) {
        const int row = g + i % 2 * 8, k = 2 * t + i / 2 * 8;
        a.v[i] = pair_of<Number>(tile.stored[row][k], tile.stored[row][k + 1]);
        b.v[i] = pair_of<Number>(tile.b[8 * i + 2 * t][g], tile.b[8 * i + 2 * t + 1][g]);
        sum.v[i] = tile.c[g + i / 2 * 8][2 * t + i % 2];
      }
      // What nobody may read is no choice of two.
      uint32_t indices = 0xFFFFFFFF;
      if (t / 2 == selector) {
        indices = 0;
        for (int i = 0; i < 16; ++i) {
          const int k = t % 2 * 8 + i % 8;
          indices |= static_cast<uint32_t>(tile.column[g + i / 8 * 8][k] % 4) << (2 * i);
        }
      }
      all.a.push_back(a);
      all.b.push_back(b);
      all.indices.push_back(indices);
      all.sum.push_back(sum);
    }
  }
  return all;
}

// Where what the lanes hold is not the product of a tile; empty: nowhere.
template <typename Tile>
std::string wrong_tile(const std::vector<Tile>& tiles, const std::vector<Floats<4>>& sum) {
  for (size_t at = 0; at < tiles.size(); ++at) {
    for (int lane = 0; lane < kWarp; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8, n = lane % 4 * 2 + i % 2;
        const float got = sum[at * kWarp + static_cast<size_t>(lane)].v[i];
        const float right = tiles[at].product(row, n);
        if (got != right) {
          return fmt::format("tile {}: row {}, column {} is {} and not {}", at, row, n, got, right);
        }
      }
    }
  }
  return {};
}

// A tile for each column of a row of A, and for each column of the same four beside it.
inline std::vector<SparseTile> tiles_of_single_numbers() {
  std::vector<SparseTile> tiles;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 32; ++column) {
      for (int other = column / 4 * 4; other < column / 4 * 4 + 4; ++other) {
        if (other != column) tiles.push_back(SparseTile::of_one(row, column, other));
      }
    }
  }
  return tiles;
}

}  // namespace approx
