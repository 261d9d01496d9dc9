#include "results/papers/grid.h"

#include <algorithm>

namespace approx {
namespace {

const std::string& label_along(std::string_view axis, const Cell& cell) {
  if (axis == "method") return cell.method_label;
  if (axis == "network") return cell.network_label;
  if (axis == "schedule") return cell.schedule_label;
  return cell.config.dataset;
}

// Whether a cell stands at the label that is at `index` along an axis. A dense cell has no schedule
// and stands at the first.
template <typename C>
bool stands_along(const std::string& axis, const C& cell, const std::vector<std::string>& labels,
                  size_t index) {
  if (axis.empty()) return true;
  const std::string& own = label_along(axis, cell);
  return own == labels[index] || (axis == "schedule" && own.empty() && index == 0);
}

bool tells_trainings_apart(const std::string& axis) {
  return axis == "network" || axis == "dataset";
}

}  // namespace

PaperGrid::PaperGrid(const Experiment& layout, const Experiment& shown)
    : layout_(layout),
      shown_(shown),
      rows_(labels_along(layout.paper.rows, layout.runs())),
      columns_(labels_along(layout.paper.columns, layout.runs())) {}

ReportedNumber PaperGrid::reported(const ReportedValue& value, Place at) {
  if (at.row >= value.paper.size() || at.column >= value.paper[at.row].size()) return {};
  return value.paper[at.row][at.column];
}

template <typename C>
bool PaperGrid::stands(const C& cell, Place at) const {
  return stands_along(layout_.paper.rows, cell, rows_, at.row) &&
         stands_along(layout_.paper.columns, cell, columns_, at.column);
}

template bool PaperGrid::stands(const PlannedRun& run, Place at) const;
template bool PaperGrid::stands(const Cell& cell, Place at) const;

const PlannedRun* PaperGrid::planned(const Experiment& experiment, Place at) const {
  for (const auto& run : experiment.runs()) {
    if (stands(run, at)) return &run;
  }
  return nullptr;
}

Scale PaperGrid::scale_at(Place at) const {
  const auto *full = planned_in_full(at), *run = planned_as_shown(at);
  const bool same = full != nullptr && run != nullptr && full->key == run->key;
  return same ? Scale::kFull : shown_.scale;
}

std::optional<Place> PaperGrid::baseline(Place at) const {
  const auto* own = planned_in_full(at);
  std::optional<Place> elsewhere;
  for (size_t row = 0; row < rows_.size(); ++row) {
    for (size_t column = 0; column < columns_.size(); ++column) {
      const auto* run = planned_in_full({row, column});
      if (run == nullptr || !is_exact(run->config)) continue;
      const bool beside = (!tells_trainings_apart(layout_.paper.rows) || row == at.row) &&
                          (!tells_trainings_apart(layout_.paper.columns) || column == at.column);
      if (beside) return Place{row, column};
      const bool same = own != nullptr && run->config.network == own->config.network &&
                        run->config.dataset == own->config.dataset;
      if (same && !elsewhere) elsewhere = Place{row, column};
    }
  }
  return elsewhere;
}

}  // namespace approx
