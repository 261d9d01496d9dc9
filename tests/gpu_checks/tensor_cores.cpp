#include <fmt/format.h>

#include "tests/gpu_checks/checks.h"
#include "tests/gpu_checks/dense_tile.h"

namespace approx {
namespace {

SparseTile drawn_tile(Draws& draw) {
  SparseTile tile;
  const auto small = [&] { return static_cast<float>(draw.below(17) - 8); };
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 16; k += 2) {
      const auto first = static_cast<int>(draw.below(3));
      tile.column[row][k] = k * 2 + first;
      tile.column[row][k + 1] = k * 2 + first + 1 + static_cast<int>(draw.below(3 - first));
      tile.stored[row][k] = small();
      tile.stored[row][k + 1] = small();
    }
    for (float& c : tile.c[row]) c = small();
  }
  for (auto& row : tile.b) {
    for (float& b : row) b = small();
  }
  return tile;
}

template <typename Number>
std::string tiles_agree(uint64_t seed) {
  Draws draw(seed);
  std::vector<SparseTile> tiles;
  for (int64_t i = 1 + draw.below(3); i > 0; --i) tiles.push_back(drawn_tile(draw));
  const auto single = tiles_of_single_numbers();
  for (int i = 0; i < 8; ++i) {
    tiles.push_back(single[static_cast<size_t>(draw.below(static_cast<int64_t>(single.size())))]);
  }
  const auto selector = static_cast<int>(draw.below(2));
  const TileRegisters registers = registers_of<Number>(tiles, selector);
  const GpuArray<Registers> a(registers.a), b(registers.b);
  const GpuArray<uint32_t> indices(registers.indices);
  std::vector<Floats<4>> got;
  std::string wrong = in_all_orders<std::vector<Floats<4>>>(
      [&](Order order, std::vector<Floats<4>>& results) {
        GpuArray<Floats<4>> sum(registers.sum);
        const SparseTilesArgs<Number> args{static_cast<int64_t>(tiles.size()),
                                           selector,
                                           a.data(),
                                           b.data(),
                                           indices.data(),
                                           sum.data()};
        std::string failed = emulate(SparseTiles<Number>{args}, order);
        if (!sum.intact()) failed = "it wrote elsewhere";
        results = sum.values();
        return failed;
      },
      got);
  return wrong.empty() ? wrong_tile(tiles, got) : wrong;
}

DenseTile drawn_dense_tile(Draws& draw) {
  DenseTile tile;
  const auto fill = [&](auto& rows) {
    for (auto& row : rows) {
      for (float& number : row) number = static_cast<float>(draw.below(17) - 8);
    }
  };
  fill(tile.a), fill(tile.b), fill(tile.c);
  return tile;
}

template <typename Number>
std::string dense_tiles_agree(uint64_t seed) {
  Draws draw(seed);
  std::vector<DenseTile> tiles;
  for (int64_t i = 1 + draw.below(3); i > 0; --i) tiles.push_back(drawn_dense_tile(draw));
  const auto single = dense_tiles_of_single_numbers();
  for (int i = 0; i < 8; ++i) {
    tiles.push_back(single[static_cast<size_t>(draw.below(static_cast<int64_t>(single.size())))]);
  }
  const TileRegisters registers = registers_of<Number>(tiles);
  const GpuArray<Registers> a(registers.a), b(registers.b);
  std::vector<Floats<4>> got;
  std::string wrong = in_all_orders<std::vector<Floats<4>>>(
      [&](Order order, std::vector<Floats<4>>& results) {
        GpuArray<Floats<4>> sum(registers.sum);
        const DenseTilesArgs<Number> args{static_cast<int64_t>(tiles.size()), a.data(), b.data(),
                                          sum.data()};
        std::string failed = emulate(DenseTiles<Number>{args}, order);
        if (!sum.intact()) failed = "it wrote elsewhere";
        results = sum.values();
        return failed;
      },
      got);
  return wrong.empty() ? wrong_tile(tiles, got) : wrong;
}

std::string loads_agree(uint64_t seed) {
  Draws draw(seed);
  std::vector<uint16_t> matrices(256);
  for (auto& number : matrices) number = static_cast<uint16_t>(draw.below(1 << 16));
  const GpuArray<uint16_t> there(matrices);
  std::vector<uint32_t> got;
  std::string wrong = in_all_orders<std::vector<uint32_t>>(
      [&](Order order, std::vector<uint32_t>& results) {
        GpuArray<Registers> plain(kWarp), transposed(kWarp);
        std::string failed =
            emulate(LoadedMatrices{{there.data(), plain.data(), transposed.data()}}, order);
        for (const auto* loaded : {&plain, &transposed}) {
          if (!loaded->intact()) failed = "it wrote elsewhere";
          for (const Registers& own : loaded->values()) {
            results.insert(results.end(), own.v, own.v + 4);
          }
        }
        return failed;
      },
      got);
  for (uint32_t i = 0; i < 4 && wrong.empty(); ++i) {
    for (uint32_t lane = 0; lane < kWarp; ++lane) {
      const uint32_t row = lane / 4, two = lane % 4 * 2;
      const auto at = [&](uint32_t r, uint32_t column) {
        return uint32_t{matrices[64 * i + 8 * r + column]};
      };
      if (got[4 * lane + i] != (at(row, two) | at(row, two + 1) << 16) ||
          got[4 * (kWarp + lane) + i] != (at(two, row) | at(two + 1, row) << 16)) {
        wrong = fmt::format("lane {} has other numbers of matrix {}", lane, i);
      }
    }
  }
  return wrong;
}

std::vector<Agreement> tensor_cores_on_gpu() {
  return {{"tensor cores: sparse products of bfloat16", tiles_agree<BFloat16>},
          {"tensor cores: sparse products of float16", tiles_agree<Float16>},
          {"tensor cores: products of bfloat16", dense_tiles_agree<BFloat16>},
          {"tensor cores: products of float16", dense_tiles_agree<Float16>},
          {"tensor cores: matrices loaded", loads_agree}};
}

const GpuChecks kChecks{tensor_cores_on_gpu};

}  // namespace

}  // namespace approx
