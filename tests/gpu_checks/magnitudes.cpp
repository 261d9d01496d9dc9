// Sums of many numbers on a GPU, and of such as are near the ends of the range of float.
#include <fmt/format.h>

#include <cmath>

#include "kernels/float16.h"
#include "kernels/norm/norm_gpu.h"
#include "kernels/select/magnitude_gpu.h"
#include "kernels/select/nm_gpu.h"
#include "kernels/select/peak_gpu.h"
#include "kernels/select/peaks_gpu.h"
#include "kernels/select/squares_gpu.h"
#include "tests/gpu_checks/checks.h"
#include "tests/gpu_checks/nm_definition.h"
#include "tests/kernel_checks/long_numbers.h"

namespace approx {
namespace {

template <typename Number, int kWidth>
std::string magnitudes_agree(uint64_t seed) {
  Draws draw(seed);
  static constexpr int64_t kVectors[] = {1, 2, 3, 5, 8, 33};
  const int64_t n = 1 + draw.below(2), plane = 1 + draw.below(draw.below(2) == 0 ? 6 : 900);
  const int64_t co = kVectors[draw.below(6)] * kWidth;
  const auto numbers = as_numbers<Number>(draw.numbers(n * plane * co, 0.8));
  std::vector<float> wanted(static_cast<size_t>(n * co));
  if constexpr (!std::is_same_v<Number, Float16>) {
    plane_magnitude_reference(MagnitudeArgs<Number>{n, plane, co, numbers.data(), wanted.data()}, 0,
                              n);
  } else {
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      wanted[static_cast<size_t>(at / (plane * co) * co + at % co)] +=
          std::fabs(static_cast<float>(numbers[i]));
    }
  }
  const GpuArray<Number> dy(numbers);
  std::vector<double> got;
  std::string wrong = in_all_orders<std::vector<double>>(
      [&](Order order, std::vector<double>& results) {
        GpuArray<double> sum(n * co);
        std::string failed =
            emulate(PlaneMagnitudes<Number, kWidth>{{n, plane, co, dy.data(), sum.data()}}, order);
        if (!sum.intact()) failed = "it wrote outside its result";
        results = sum.values();
        return failed;
      },
      got);
  for (size_t i = 0; i < wanted.size() && wrong.empty(); ++i) {
    if (!(std::abs(got[i] - wanted[i]) <= 1e-4 * wanted[i])) {
      wrong = fmt::format("plane {} has {} and not {}", i, got[i], wanted[i]);
    }
  }
  return wrong.empty() ? wrong : fmt::format("{} (n {}, plane {}, co {})", wrong, n, plane, co);
}

// A plane [rows,columns], the sums of its columns, and what kernels make of it.
struct LongPlane {
  static constexpr int64_t kColumns = 4, kBlocksOfSums = 528;
  LongPlane(std::vector<float> numbers) : x(std::move(numbers)), there(x) {
    rows = static_cast<int64_t>(x.size()) / kColumns;
    for (size_t i = 0; i < x.size(); ++i) {
      const double value = x[i];
      sum[i % kColumns] += value;
      magnitude[i % kColumns] += std::abs(value);
      squares[i % kColumns] += value * value;
      all += std::abs(value);
    }
  }

  // Where what was found is off, as a share of what its numbers are in all.
  template <typename Values>
  std::string off(const char* what, const Values& got, const double* truth, const double* share,
                  double most = kMostOff) const {
    for (size_t c = 0; c < got.size(); ++c) {
      const double error = std::abs(double{got[c]} - truth[c]) / share[c];
      if (!(error <= most)) {
        return fmt::format("{} is {} and not {}: {:.2g} off", what, got[c], truth[c], error);
      }
    }
    return {};
  }

  std::string wrong() const {
    GpuArray<int32_t> position(kColumns);
    GpuArray<float> sums(kColumns), mean(1);
    GpuArray<double> magnitudes(kColumns), partial(kMostPartials);
    const auto fine = [](const std::string& said) { return said.empty(); };
    std::string said = emulate(
        PlanePeak<float, 4>{{1, rows, kColumns, there.data(), position.data(), sums.data()}},
        Order::kForwards);
    if (fine(said)) said = off("the sum beside a peak", sums.values(), sum, magnitude);
    if (!fine(said)) return said;
    // Of k = 1 the sum itself, of k = 1 by magnitudes their sum, with a sign.
    PeaksArgs<float> peaks{1, rows,         kColumns,        1,          PeakScale::kEqual,
                           1, there.data(), position.data(), sums.data()};
    said = emulate(PlanePeaks<float, 2>{peaks}, Order::kForwards);
    if (fine(said)) said = off("the sum beside peaks", sums.values(), sum, magnitude);
    if (!fine(said)) return said;
    said = emulate(PlaneMagnitudes<float, 4>{{1, rows, kColumns, there.data(), magnitudes.data()}},
                   Order::kForwards);
    if (fine(said)) said = off("the magnitude", magnitudes.values(), magnitude, magnitude);
    if (!fine(said)) return said;
    const int64_t count = rows * kColumns;
    with_mean_kernels<float>(
        {count, there.data(), partial.data(), mean.data()},
        [&](const auto& kernel) {
          if (fine(said)) said = emulate(kernel, Order::kForwards);
        },
        /*most_blocks=*/2);
    const double true_mean = all / static_cast<double>(count);
    if (fine(said)) said = off("the mean magnitude", mean.values(), &true_mean, &true_mean);
    return fine(said) ? norms_wrong() : said;
  }

  std::string norms_wrong() const {
    GpuArray<double> partial(sum_blocks(rows) * kColumns), norm(kColumns), of_all(1);
    NormsOnGpu<float> on{{there.data(), rows, kColumns}, false, partial.data(), norm.data()};
    std::string said = emulate(ColumnSquaresGpu<float, 4>{on}, Order::kForwards);
    if (said.empty()) said = emulate(ColumnNormsEnd<float>{on}, Order::kForwards);
    double norms[kColumns], whole = 0;
    for (int c = 0; c < kColumns; ++c) {
      norms[c] = std::sqrt(squares[c]);
      whole += squares[c];
    }
    if (said.empty()) said = off("a column's norm", norm.values(), norms, norms);
    on.m = {there.data(), 1, rows * kColumns};
    on.of_rows = true;
    on.norm = of_all.data();
    if (said.empty()) said = emulate(RowNormsGpu<float, 4>{on}, Order::kForwards);
    whole = std::sqrt(whole);
    return said.empty() ? off("the norm of all", of_all.values(), &whole, &whole) : said;
  }

  // Sums of a batch norm: their shift is the first row.
  std::string moments_wrong() const {
    const int64_t blocks = row_blocks(rows);
    GpuArray<float> partial(blocks * 2 * kColumns), mean(kColumns), variance(kColumns),
        inverse(kColumns);
    GpuArray<double> groups(joined_groups(blocks) * 2 * kColumns);
    GpuArray<uint32_t> arrivals(std::vector<uint32_t>(static_cast<size_t>(arrivals_of(blocks, 1))));
    const NormStatisticsOnGpu<float> on{.rows = rows,
                                        .channels = kColumns,
                                        .x = there.data(),
                                        .mean = mean.data(),
                                        .variance = variance.data(),
                                        .inverse_deviation = inverse.data(),
                                        .moved = {},
                                        .room = {partial.data(), groups.data(), arrivals.data()},
                                        .most_blocks = kBlocksOfSums};
    std::string said = emulate(NormMomentsGpu<float, 4>{on}, Order::kForwards);
    if (!said.empty()) return said;
    std::vector<double> got(2 * kColumns), truth(got.size()), share(got.size());
    for (int64_t i = 0; i < std::min(blocks, kBlocksOfSums) * 2 * kColumns; ++i) {
      got[static_cast<size_t>(i % (2 * kColumns))] += double{partial.data()[i]};
    }
    for (size_t i = 0; i < x.size(); ++i) {
      const double value{x[i] - x[i % kColumns]};
      const size_t c = i % kColumns;
      truth[c] += value;
      share[c] += std::abs(value);
      truth[kColumns + c] += value * value;
      share[kColumns + c] += value * value;
    }
    for (auto& one : share) one = std::max(one, 1e-30);
    said = off("a moment", got, truth.data(), share.data());
    for (size_t c = 0; c < kColumns && said.empty(); ++c) {  // what follows from all of them
      const auto count = static_cast<double>(rows);
      const double first{x[c]}, wanted = first + truth[c] / count;
      if (!(std::abs(mean.data()[c] - wanted) <=
            2e-6 * (share[c] / count + std::abs(first) + std::abs(wanted)))) {
        said = fmt::format("a mean is {} and not {}", mean.data()[c], wanted);
      }
    }
    return said;
  }

  int64_t rows = 0;
  std::vector<float> x;
  GpuArray<float> there;
  double sum[kColumns] = {}, magnitude[kColumns] = {}, squares[kColumns] = {}, all = 0;
};

std::string long_sums_agree(uint64_t seed) {
  constexpr size_t kSizes = std::size(kLengths), kLarge = 3;
  const LongKind kind = kLongKinds[seed % 4];
  for (size_t size = 0; size < kSizes; ++size) {
    // One of the largest a case.
    if (size >= kSizes - kLarge && size != kSizes - 1 - seed / 4 % kLarge) continue;
    const int64_t rows = kLengths[size];
    std::vector<float> numbers;
    for (int64_t i = 0; i < rows * LongPlane::kColumns; ++i) {
      numbers.push_back(long_number(kind, i / LongPlane::kColumns, rows, i % LongPlane::kColumns));
    }
    const LongPlane plane(std::move(numbers));
    std::string wrong = plane.wrong();
    if (wrong.empty()) wrong = plane.moments_wrong();
    if (!wrong.empty()) {
      return fmt::format("{} ({} rows, kind {})", wrong, rows, static_cast<int>(kind));
    }
  }
  return {};
}

// Numbers whose sums or squares leave the range of float, above and below.
std::string far_sums_agree(uint64_t seed) {
  Draws draw(seed);
  static constexpr float kSizes[] = {0x1p+126F, 1e36F, 1e30F, 1e-20F, 1e-30F, 1e-42F};
  const float size = kSizes[draw.below(6)];
  const int64_t rows = 2 * (1 + draw.below(draw.below(2) == 0 ? 30 : 500));
  const bool alternates = size > 1e33F;
  std::vector<float> numbers;
  for (int64_t i = 0; i < rows * LongPlane::kColumns; ++i) {
    // A sum of the largest must be one that a float can be: the second half takes back the first.
    const bool is_back = i / LongPlane::kColumns >= rows / 2;
    numbers.push_back(alternates && is_back ? -size : size);
  }
  const std::string wrong = LongPlane(std::move(numbers)).wrong();
  return wrong.empty() ? wrong : fmt::format("{} ({} rows of {})", wrong, rows, size);
}

// What is chosen and rescaled of numbers by a power of two larger is as much larger, to the bit.
template <int64_t kM>
std::string far_nm_agrees(uint64_t seed) {
  Draws draw(seed);
  NmOnGpu<float> on;
  on.args.channels = 32, on.args.n = kM / 2, on.args.m = kM;
  on.images = 1 + draw.below(2);
  on.args.pixels = on.images * (1 + draw.below(draw.below(2) == 0 ? 6 : 400));
  on.rescale_plane = seed % 2 == 0;
  on.args.rescale_group = !on.rescale_plane;
  on.args.random = kM > 4 && draw.below(2) == 0;
  const float scale = seed / 2 % 2 == 0 ? 0x1p+127F : 0x1p+110F;
  std::vector<float> small, large;
  for (int64_t i = 0; i < on.args.pixels * on.args.channels; ++i) {
    small.push_back((draw.below(2) == 0 ? 1.0F : -1.0F) *
                    (0.5F + static_cast<float>(draw.below(100)) / 300));
    large.push_back(small.back() * scale);
  }
  const auto pruned = [&](const std::vector<float>& numbers, std::string& wrong) {
    const GpuArray<float> dy(numbers);
    GpuArray<float> out(static_cast<int64_t>(numbers.size()));
    GpuArray<int64_t> kept(std::vector<int64_t>{0});
    auto there = on;
    there.args.dy = dy.data();
    there.args.pruned = out.data();
    there.kept = kept.data();
    with_nm_kernel(
        there, [&](const auto& kernel) { wrong = emulate(kernel, Order::kForwards); }, 2);
    return out.values();
  };
  std::string wrong;
  const auto of_small = pruned(small, wrong);
  const auto of_large = wrong.empty() ? pruned(large, wrong) : of_small;
  for (size_t i = 0; i < small.size() && wrong.empty(); ++i) {
    const float wanted = of_small[i] * scale;
    if (!(std::abs(of_large[i] / scale - wanted / scale) <= 1e-6F * std::abs(wanted / scale)) &&
        of_large[i] != wanted) {
      wrong = fmt::format("{} of {} is {} and not {}", i, large[i], of_large[i], wanted);
    }
  }
  int64_t count = 0;
  const auto definition = nm_by_definition(on, small, count);
  for (size_t i = 0; i < small.size() && wrong.empty(); ++i) {
    if (!(std::abs(of_small[i] - definition[i]) <= 3e-6F * std::abs(definition[i]))) {
      wrong = fmt::format("{} is {} and not {}", i, of_small[i], definition[i]);
    }
  }
  return wrong.empty() ? wrong : described(on, wrong);
}

std::vector<Agreement> magnitudes_on_gpu() {
  return {{"magnitudes of planes, fours", magnitudes_agree<float, 4>},
          {"magnitudes of planes, one by one", magnitudes_agree<float, 1>},
          {"magnitudes of planes of bfloat16, fours", magnitudes_agree<BFloat16, 4>},
          {"magnitudes of planes of float16, one by one", magnitudes_agree<Float16, 1>},
          {"long sums", long_sums_agree},
          {"far sums", far_sums_agree},
          {"far n of 4", far_nm_agrees<4>},
          {"far n of 16", far_nm_agrees<16>}};
}

const GpuChecks kChecks{magnitudes_on_gpu};

}  // namespace

}  // namespace approx
