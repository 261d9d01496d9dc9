#include "results/reports/paper_figure.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/experiment/files.h"
#include "results/papers/table.h"
#include "results/records/items.h"
#include "results/reports/report.h"
#include "results/reports/schedule_picture.h"

namespace approx {
namespace {

// Rows and columns of a heat map, with the text of each cell.
Table heat_table(const Table& paper) {
  const auto at = [&](const char* name) {
    const auto found = std::find(paper.columns.begin(), paper.columns.end(), name);
    return static_cast<size_t>(found - paper.columns.begin());
  };
  Table heat;
  heat.name = "heat";
  heat.columns = {"row", "column", "value", "text"};
  for (const auto& row : paper.rows) {
    const auto& quantity = std::get<std::string>(row[at("quantity")]);
    const auto* value = std::get_if<double>(&row[at("measured")]);
    if (quantity != "accuracy" || value == nullptr) continue;
    heat.rows.push_back({row[at("row")], row[at("column")], *value, fmt::format("{:.1f}", *value)});
  }
  return heat;
}

Drawing study_drawing(const StudyItem& study, const Table& table) {
  static const std::map<std::string, std::string> scripts = {{"matmul-error", "matmul_error"},
                                                             {"layer-times", "layer_times"},
                                                             {"pruned-channels", "pruned_channels"},
                                                             {"densities", "pruning_histogram"}};
  const auto script = scripts.find(study.name);
  if (script == scripts.end() || table.rows.size() <= 1) return {};
  return {script->second, table};
}

// All schedules of a picture, one behind the other.
Table schedules_table(const PictureItem& picture, const Catalogue& catalogue) {
  Table all;
  for (const auto& schedule : picture.schedules) {
    Table one = picture_drawing(picture, schedule, catalogue).table;
    one.columns.emplace_back("schedule");
    for (auto& row : one.rows) {
      row.emplace_back(schedule.label);
      all.rows.push_back(std::move(row));
    }
    all.name = one.name, all.columns = one.columns;
  }
  return all;
}

// The network and the data set of all runs of an item, "" where there are several.
std::pair<std::string, std::string> common_problem(const Experiment& item) {
  std::set<std::string> networks, datasets;
  for (const auto& run : item.runs()) {
    networks.insert(run.network_label);
    datasets.insert(run.config.dataset);
  }
  const auto only = [](const std::set<std::string>& names) {
    return names.size() == 1 ? *names.begin() : std::string();
  };
  return {only(networks), only(datasets)};
}

// The table, and what all its bars are of.
Table bars_table(const PaperItem& item) {
  Table bars = item.table;
  const auto [network, dataset] = common_problem(item.shown);
  bars.columns.insert(bars.columns.end(), {"network", "dataset"});
  for (auto& row : bars.rows) row.insert(row.end(), {network, dataset});
  return bars;
}

Drawing trainings_drawing(const Snapshot& snapshot, const PaperItem& item,
                          const ReportOptions& options) {
  const auto& kind = item.layout.paper.kind;
  if (kind == "heat") return {"heat", heat_table(item.table)};
  if (kind == "bars") return {"bars", bars_table(item)};
  const std::string report = kind == "curves" ? "curves" : "pareto";
  Table table = Registry<Report>::instance().find(report).make(
      snapshot, {.include_tainted = options.include_tainted,
                 .catalogue = options.catalogue,
                 .item = &item.shown});
  // Of what was not timed, the numbers themselves.
  if (report == "pareto" && table.rows.size() < 2) return {"bars", bars_table(item)};
  return {report, std::move(table)};
}

}  // namespace

PaperItem paper_item(const Snapshot& snapshot, const std::string& name, const std::string& scale,
                     const ReportOptions& options) {
  const StoredItems& stored = snapshot.items();
  PaperItem item;
  item.layout = load_layout(name, *options.catalogue, Scale::kFull, stored.checksums());
  std::map<Scale, Experiment> loaded;
  const auto at_scale = [&](Scale wanted) -> Experiment& {
    const auto [at, is_new] = loaded.try_emplace(wanted);
    if (is_new) {
      at->second = wanted == Scale::kFull
                       ? item.layout
                       : load_layout(name, *options.catalogue, wanted, stored.checksums());
      stored.plan(at->second, *options.catalogue);
    }
    return at->second;
  };
  item.shown = std::move(
      at_scale(scale.empty() ? stored.most_measured(item.layout, at_scale) : parse_scale(scale)));
  item.table = report_paper(snapshot, item.layout, item.shown, options);
  return item;
}

Drawing picture_drawing(const PictureItem& picture, const LabelledSchedule& schedule,
                        const Catalogue& catalogue) {
  return {"schedule", schedule_picture(schedule.rules, picture.networks.at(0).text, /*method=*/"",
                                       catalogue, {})};
}

Drawing paper_drawing(const Snapshot& snapshot, const PaperItem& item,
                      const ReportOptions& options) {
  const auto& layout = item.layout;
  if (const auto* study = layout.as<StudyItem>()) {
    return snapshot.items().has(item.shown.id) ? study_drawing(*study, item.table) : Drawing{};
  }
  if (layout.as<KernelItem>())
    return {"kernels", paper_kernels_figure(snapshot, layout, item.shown)};
  if (const auto* picture = layout.as<PictureItem>()) {
    return {"schedule", schedules_table(*picture, *options.catalogue)};
  }
  if (!layout.as<Trainings>() || snapshot.items().finished_runs(item.shown) == 0) return {};
  return trainings_drawing(snapshot, item, options);
}

}  // namespace approx
