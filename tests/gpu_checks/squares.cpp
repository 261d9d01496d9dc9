#include <fmt/format.h>

#include <cmath>

#include "kernels/float16.h"
#include "kernels/select/squares_gpu.h"
#include "tests/gpu_checks/checks.h"

namespace approx {
namespace {

// By their definition, from the numbers as they are rounded.
template <typename Number>
std::vector<double> norms_of(const std::vector<Number>& numbers, int64_t rows, int64_t columns,
                             bool of_rows) {
  std::vector<double> squares(static_cast<size_t>(of_rows ? rows : columns));
  for (int64_t at = 0; at < rows * columns; ++at) {
    const auto value = static_cast<double>(static_cast<float>(numbers[static_cast<size_t>(at)]));
    squares[static_cast<size_t>(of_rows ? at / columns : at % columns)] += value * value;
  }
  for (double& square : squares) square = std::sqrt(square);
  return squares;
}

template <typename Number, int kWidth>
std::string norms_agree(uint64_t seed) {
  Draws draw(seed);
  const bool of_rows = draw.below(2) == 0;
  const int64_t rows = 1 + draw.below(draw.below(2) == 0 ? 9 : 300);
  const int64_t columns = kWidth * (1 + draw.below(draw.below(3) == 0 ? 400 : 40));
  std::vector<Number> numbers;
  for (const float value : draw.numbers(rows * columns)) numbers.push_back(Number(value));
  const auto wanted = norms_of(numbers, rows, columns, of_rows);

  const GpuArray<Number> there(numbers);
  std::vector<double> got;
  std::string wrong = in_all_orders<std::vector<double>>(
      [&](Order order, std::vector<double>& results) {
        GpuArray<double> partial(of_rows ? 0 : sum_blocks(rows) * columns);
        GpuArray<double> norm(static_cast<int64_t>(wanted.size()));
        const NormsOnGpu<Number> on{
            {there.data(), rows, columns}, of_rows, partial.data(), norm.data()};
        std::string failed;
        if (of_rows) {
          failed = emulate(RowNormsGpu<Number, kWidth>{on}, order);
        } else {
          failed = emulate(ColumnSquaresGpu<Number, kWidth>{on}, order);
          if (failed.empty()) failed = emulate(ColumnNormsEnd<Number>{on}, order);
        }
        if (!partial.intact() || !norm.intact()) failed = "it wrote elsewhere";
        results = norm.values();
        return failed;
      },
      got);
  constexpr double kLeastSquare = 1e-37;  // that a float holds, with its digits
  for (size_t i = 0; wrong.empty() && i < wanted.size(); ++i) {
    if (!(std::fabs(got[i] - wanted[i]) <= 1e-5 * wanted[i] + std::sqrt(kLeastSquare))) {
      wrong = fmt::format("norm {} is {}, not {}", i, got[i], wanted[i]);
    }
  }
  return wrong.empty()
             ? wrong
             : fmt::format("{} ({}x{}, of {})", wrong, rows, columns, of_rows ? "rows" : "columns");
}

std::vector<Agreement> squares_on_gpu() {
  std::vector<Agreement> all;
  const auto add = [&]<typename Number>(Number, const std::string& of) {
    all.push_back({fmt::format("norms of slices{}, fours", of), norms_agree<Number, 4>});
    if constexpr (kMostMoved < Number >> 4) {
      all.push_back({fmt::format("norms of slices{}, eights", of), norms_agree<Number, 8>});
    }
    all.push_back({fmt::format("norms of slices{}, one by one", of), norms_agree<Number, 1>});
  };
  add(float(), "");
  add(BFloat16(), " of bfloat16");
  add(Float16(), " of float16");
  return all;
}

const GpuChecks kChecks{squares_on_gpu};

}  // namespace

}  // namespace approx
