#include "results/reports/layers.h"

#include <algorithm>

#include "results/reports/report.h"
#include "results/rows/row_columns.h"
#include "results/rows/rows.h"

namespace approx {
namespace {

// One product of one layer; sums over the runs of a row.
struct LayerLine {
  const Row* row = nullptr;
  int64_t index = 0;  // of the layer, from 1
  std::string layer, product;
  double calls = 0, exact_calls = 0, macs_dense = 0, macs_done = 0, density = 0;
  int64_t with_density = 0;                // terms of `density`
  std::map<std::string, double> variants;  // calls
  std::set<int64_t> runs;

  // The mean of one of the sums.
  double per_run(double sum) const { return sum / static_cast<double>(runs.size()); }
};

// "sparse_rows 93 %, exact 7 %", the most frequent first; one alone by its name, "" where none is
// known.
std::string shares_of(const std::map<std::string, double>& calls) {
  if (calls.size() == 1) return calls.begin()->first;
  std::vector<std::pair<std::string, double>> ordered(calls.begin(), calls.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  double all = 0;
  for (const auto& [variant, count] : ordered) all += count;
  std::vector<std::string> shares;
  for (const auto& [variant, count] : ordered) {
    const double percent = 100 * count / all;
    shares.push_back(percent < 1    ? variant + " < 1 %"
                     : percent > 99 ? variant + " > 99 %"
                                    : fmt::format("{} {:.0f} %", variant, percent));
  }
  return fmt::format("{}", fmt::join(shares, ", "));
}

// The lines of a row, by their layers' positions.
std::vector<LayerLine> lines_of(const Row& row, const Measurements& measured,
                                const Catalogue* catalogue) {
  std::map<std::pair<std::string, std::string>, LayerLine> sums;
  std::set<std::string> layers;
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/true)) {
    const auto found = measured.layers.find(run->run_id);
    if (found == measured.layers.end()) continue;
    for (const auto& count : found->second) {
      layers.insert(count.layer);
      LayerLine& sum = sums[{count.layer, std::string(name(count.product))}];
      sum.runs.insert(run->run_id);
      sum.calls += static_cast<double>(count.calls);
      sum.exact_calls += static_cast<double>(count.exact_calls);
      sum.macs_dense += static_cast<double>(count.macs_dense);
      sum.macs_done += static_cast<double>(count.macs_done);
      if (count.density) sum.density += *count.density, ++sum.with_density;
    }
    const auto variants = measured.variants.find(run->run_id);
    if (variants == measured.variants.end()) continue;
    for (const auto& count : variants->second) {
      const auto sum = sums.find({count.layer, std::string(name(count.product))});
      if (sum == sums.end()) continue;
      sum->second.variants[count.variant] += static_cast<double>(count.calls);
    }
  }
  const auto positions = layer_positions(layers, row.first->config.network, catalogue);
  std::map<std::pair<int64_t, std::string>, LayerLine> ordered;
  for (auto& [key, sum] : sums) {
    sum.row = &row;
    sum.layer = key.first, sum.product = key.second;
    sum.index = positions.at(sum.layer);
    ordered.emplace(std::pair(sum.index, sum.product), std::move(sum));
  }
  std::vector<LayerLine> lines;
  for (auto& [place, line] : ordered) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

std::map<std::string, int64_t> layer_positions(const std::set<std::string>& layers,
                                               const std::string& network,
                                               const Catalogue* catalogue) {
  std::map<std::string, int64_t> positions;
  if (catalogue != nullptr) {
    const std::string name = parse_spec(network).name;
    for (const auto& info : catalogue->networks) {
      if (info.name != name) continue;
      for (const auto& layer : info.layers) {
        positions.emplace(layer.name, static_cast<int64_t>(positions.size()) + 1);
      }
    }
  }
  for (const auto& layer : layers) {
    positions.emplace(layer, static_cast<int64_t>(positions.size()) + 1);
  }
  return positions;
}

Table report_layers(const Snapshot& snapshot, const ReportOptions& options) {
  const RowSet set(snapshot, options, RowSet::Depth::kGrouped);
  std::vector<LayerLine> lines;
  for (const auto& row : set.rows()) {
    for (auto& line : lines_of(row, set.measured(), options.catalogue)) {
      lines.push_back(std::move(line));
    }
  }
  const auto per_run = [](double LayerLine::*sum) {
    return [sum](const LayerLine& line) { return line.per_run(line.*sum); };
  };
  auto columns = without_headers(row_columns<LayerLine>(set).all());
  append(columns, {{.name = "layer_index", .value = &LayerLine::index},
                   {.name = "layer", .value = &LayerLine::layer},
                   {.name = "product", .value = &LayerLine::product},
                   {.name = "calls", .value = per_run(&LayerLine::calls)},
                   {.name = "exact_calls", .value = per_run(&LayerLine::exact_calls)},
                   {.name = "macs_dense", .value = per_run(&LayerLine::macs_dense)},
                   {.name = "macs_done", .value = per_run(&LayerLine::macs_done)},
                   {.name = "density",
                    .value =
                        [](const LayerLine& line) {
                          return line.with_density > 0
                                     ? Field(line.density / static_cast<double>(line.with_density))
                                     : Field();
                        }},
                   {.name = "variants",
                    .value =
                        [](const LayerLine& line) {
                          return line.variants.empty() ? Field() : Field(shares_of(line.variants));
                        }},
                   {.name = "n", .value = [](const LayerLine& line) {
                      return static_cast<int64_t>(line.runs.size());
                    }}});
  Table table;
  table.name = "layers";
  table.title = options.experiment;
  fill(table, columns, lines);
  return table;
}

REGISTER_REPORT("layers", report_layers)
    .at(6)
    .about("What each product of each layer did")
    .made_of("accuracy or timing runs (train, sweep)")
    .drawn_by("density");

}  // namespace approx
