#include "results/papers/values.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "results/rows/rows.h"

namespace approx {
namespace {

// The losses against dense that the paper's accuracies make; none where it prints no two of them.
std::optional<ReportedValue> derived_loss(const PaperGrid& grid, const ReportedValue& accuracy) {
  ReportedValue loss = accuracy;
  loss.quantity = PaperQuantity::kAccuracyLoss;
  loss.unit = "pp";
  loss.tolerance.reset();  // that of accuracies; a difference is judged by the item's margin
  loss.note.clear();
  for (auto& row : loss.paper) {
    for (auto& number : row) number = {};
  }
  bool any = false;
  for (size_t row = 0; row < grid.rows().size(); ++row) {
    for (size_t column = 0; column < grid.columns().size(); ++column) {
      const Place at{row, column};
      const auto base = grid.baseline(at);
      if (!base || *base == at) continue;
      const auto dense = PaperGrid::reported(accuracy, *base).value;
      const auto own = PaperGrid::reported(accuracy, at).value;
      if (!dense || !own) continue;
      // As many decimals as the paper prints.
      const double difference = std::round(1000 * (*dense - *own)) / 1000;
      loss.paper[row][column] = {fixed(difference, 2), difference};
      any = true;
    }
  }
  return any ? std::optional(loss) : std::nullopt;
}

// Where the paper has both a speed and a saving of work: how much of the one became the other.
std::optional<ReportedValue> derived_realisation(const std::vector<ReportedValue>& values) {
  const auto has = [&values](auto is) { return std::find_if(values.begin(), values.end(), is); };
  const auto speed = has([](const ReportedValue& value) { return is_speed(value.quantity); });
  const auto work = has([](const ReportedValue& value) {
    return value.quantity == PaperQuantity::kComputeReduction;
  });
  if (speed == values.end() || work == values.end()) return std::nullopt;
  ReportedValue value = *speed;
  value.quantity = PaperQuantity::kRealisation;
  value.definition = {};
  value.unit.clear();
  value.note.clear();
  value.basis = Basis::kEndToEnd;
  for (auto& row : value.paper) {
    for (auto& number : row) number = {};
  }
  return value;
}

int digits_of(const ReportedValue& value) {
  return value.quantity == PaperQuantity::kTime        ? 3
         : value.quantity == PaperQuantity::kTimeSaved ? 1
                                                       : 2;
}

}  // namespace

std::vector<ShownValue> shown_values(const PaperGrid& grid) {
  const auto& values = grid.layout().paper.values;
  const bool prints_losses = std::any_of(values.begin(), values.end(), [](const auto& value) {
    return value.quantity == PaperQuantity::kAccuracyLoss;
  });
  std::vector<ShownValue> shown;
  for (const auto& value : values) {
    shown.push_back(
        {.value = value, .is_difference = value.quantity == PaperQuantity::kAccuracyLoss});
    if (value.quantity != PaperQuantity::kAccuracy || prints_losses) continue;
    if (auto loss = derived_loss(grid, value)) {
      shown.push_back({.value = std::move(*loss), .is_difference = true, .derived = true});
    }
  }
  if (auto value = derived_realisation(values)) {
    shown.push_back({.value = std::move(*value), .derived = true});
  }
  return shown;
}

std::string value_header(const PaperGrid& grid, const ShownValue& shown, size_t column) {
  const ReportedValue& value = shown.value;
  const bool best =
      value.quantity == PaperQuantity::kAccuracy && value.definition.measure == Measure::kBest;
  std::string text(name(value.quantity));
  std::replace(text.begin(), text.end(), '_', ' ');
  if (shown.is_difference) text = "loss vs dense";
  if (best) text = "best accuracy";
  const auto& values = grid.layout().paper.values;
  const auto alike = std::count_if(values.begin(), values.end(), [&](const auto& other) {
    return other.quantity == value.quantity && other.basis == value.basis;
  });
  const bool named =
      best || value.definition.measure == Measure::kFinal || value.definition.text.empty();
  if (alike > 1 && !named && !shown.derived) text += ", " + value.definition.text;
  if (!value.unit.empty()) text += ", " + value.unit;
  if (value.basis != Basis::kEndToEnd && !shown.derived) {
    text += fmt::format(" ({})", name(value.basis));
  }
  const std::string& label = grid.columns()[column];
  return label.empty() ? text : fmt::format("{}: {}", label, text);
}

std::string measured_text(const Measured& measured, const ReportedValue& value) {
  const int digits = digits_of(value);
  std::string text = fixed(measured.value, digits);
  if (measured.lo && measured.hi) {
    if (is_timing(value.quantity)) {
      text += fmt::format(" [{}, {}]", fixed(*measured.lo, digits), fixed(*measured.hi, digits));
    } else {
      text += fmt::format(" ± {}", fixed((*measured.hi - *measured.lo) / 2, digits));
    }
  }
  if (is_of_processes(value)) {
    return text + fmt::format(" ({} {})", measured.n, measured.n == 1 ? "process" : "processes");
  }
  if (measured.missed > 0) {
    return text + fmt::format(" ({}/{} reached)", measured.n, measured.n + measured.missed);
  }
  if (!measured.p_holm) return text + fmt::format(" (n={})", measured.n);
  return text + fmt::format(" (n={}, p={:.2g})", measured.n, *measured.p_holm);
}

}  // namespace approx
