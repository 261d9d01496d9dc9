#include "results/reports/beside_front.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "core/experiment/iso_time.h"
#include "results/rows/same_time.h"

namespace approx {
namespace {

constexpr double kSameEpoch = 1e-6;  // epochs that differ by less are the same

// What the runs of an exact training lose by stopping after so many epochs, points.
PairedDifference loss_at(const Row& dense, double epochs) {
  std::vector<double> losses;
  for (const auto& [cell, run] : accuracy_runs(dense, /*diverged=*/false)) {
    const auto& tests = run->measured->evaluations("test");
    const auto at = std::ranges::find_if(tests, [&](const CurvePoint& point) {
      return std::abs(point.epoch - epochs) < kSameEpoch;
    });
    if (at != tests.end()) losses.push_back(100 * (tests.back().value - at->value));
  }
  return paired_difference(losses);
}

std::string epochs_text(double epochs) {
  const std::string text = fixed(epochs, 2);
  return text.ends_with(".00") ? text.substr(0, text.size() - 3) : text;
}

// "resnet14exact" of "ResNet-14, exact".
std::string squeezed(const std::string& label) {
  std::string text;
  for (const char c : label) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool kept = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (kept) text += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

}  // namespace

std::vector<BesideFront> shorter_exact(const RowSet& set, const std::vector<const Row*>& rows) {
  std::vector<BesideFront> shorter;
  for (const auto* row : rows) {
    const auto control = same_time(set, *row, std::nullopt);
    if (control.source == SameTimeSource::kNone || control.trained <= 0) continue;
    const double whole = length_in_epochs(row->dense->first->config.recipe);
    if (control.trained >= whole - kSameEpoch) continue;
    BesideFront beside{
        .label =
            fmt::format("exact, {} of {} epochs", epochs_text(control.trained), epochs_text(whole)),
        .row = control.row,
        .speedup = {.n = 1, .ratio = whole / control.trained},
        .loss = control.row == nullptr ? loss_at(*row->dense, control.trained)
                                       : paired_difference(losses(*control.row, *row->dense))};
    const bool known = std::ranges::any_of(
        shorter, [&](const BesideFront& other) { return other.label == beside.label; });
    if (!known && beside.loss.n > 0) shorter.push_back(std::move(beside));
  }
  std::ranges::stable_sort(shorter, {}, [](const BesideFront& one) { return one.speedup.ratio; });
  return shorter;
}

std::vector<BesideFront> smaller_networks(const RowSet& set, const Row& dense) {
  const Cell& cell = *dense.first;
  std::vector<BesideFront> smaller;
  for (const auto& row : set.rows()) {
    const Cell& other = *row.first;
    if (!row.notes[kOtherNetwork] || !is_dense(other) || row.speedup.n == 0 ||
        other.config.dataset != cell.config.dataset || other.setting != cell.setting) {
      continue;
    }
    const bool against_it = std::ranges::any_of(row.timings, [&](const CellRun& timing) {
      return timing.cell->config.timed_against == cell.config.network;
    });
    const auto loss = paired_difference(losses(row, dense));
    if (!against_it || loss.n == 0) continue;
    const bool named =
        squeezed(other.method_label).find(squeezed(other.network_label)) != std::string::npos;
    smaller.push_back(
        {.label = named ? other.method_label : other.network_label + ", " + other.method_label,
         .row = &row,
         .speedup = row.speedup,
         .loss = loss,
         .notes = row.notes});
  }
  return smaller;
}

}  // namespace approx
