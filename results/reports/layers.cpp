#include "results/reports/layers.h"

#include <utility>

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
std::vector<LayerLine> lines_of(const Row& row, const Catalogue* catalogue) {
  std::map<std::pair<std::string, std::string>, LayerLine> sums;
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/true)) {
    for (const auto& count : run->measured->layers) {
      LayerLine& sum = sums[{count.layer, std::string(name(count.product))}];
      sum.runs.insert(run->run_id);
      sum.calls += static_cast<double>(count.calls);
      sum.exact_calls += static_cast<double>(count.exact_calls);
      sum.macs_dense += static_cast<double>(count.macs_dense);
      sum.macs_done += static_cast<double>(count.macs_done);
      if (count.density) sum.density += *count.density, ++sum.with_density;
    }
    for (const auto& count : run->measured->variants) {
      const auto sum = sums.find({count.layer, std::string(name(count.product))});
      if (sum == sums.end()) continue;
      sum->second.variants[count.variant] += static_cast<double>(count.calls);
    }
  }
  std::vector<LayerLine> lines;
  for (auto& [key, sum] : sums) {
    sum.row = &row;
    sum.layer = key.first, sum.product = key.second;
    lines.push_back(std::move(sum));
  }
  order_by_layer(lines, row.first->config.network, catalogue);
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
    if (!layer.empty()) positions.emplace(layer, static_cast<int64_t>(positions.size()) + 1);
  }
  positions.emplace("", static_cast<int64_t>(positions.size()) + 1);
  return positions;
}

Table report_layers(const Snapshot& snapshot, const ReportOptions& options) {
  using Line = LayerLine;
  const RowSet set(snapshot, options, RowSet::Depth::kGrouped);
  std::vector<Line> lines;
  for (const auto& row : set.rows()) {
    for (auto& line : lines_of(row, options.catalogue)) lines.push_back(std::move(line));
  }
  const auto mean = [](double Line::*sum) {
    return [sum](const Line& line) { return line.*sum / static_cast<double>(line.runs.size()); };
  };
  const auto density = [](const Line& line) {
    return line.with_density > 0 ? Field(line.density / static_cast<double>(line.with_density))
                                 : Field();
  };
  const auto variants = [](const Line& line) {
    return line.variants.empty() ? Field() : Field(shares_of(line.variants));
  };
  auto columns = without_headers(row_columns<Line>(set).all());
  append(columns, {{.name = "layer_index", .value = &Line::index},
                   {.name = "layer", .value = &Line::layer},
                   {.name = "product", .value = &Line::product},
                   {.name = "calls", .value = mean(&Line::calls)},
                   {.name = "exact_calls", .value = mean(&Line::exact_calls)},
                   {.name = "macs_dense", .value = mean(&Line::macs_dense)},
                   {.name = "macs_done", .value = mean(&Line::macs_done)},
                   {.name = "density", .value = density},
                   {.name = "variants", .value = variants},
                   {.name = "n", .value = via(&Line::runs, &std::set<int64_t>::size)}});
  const NoteLetters letters = letters_of(lines);
  append(columns, {notes_column<Line>(letters)});
  return table_of(options.experiment, columns, lines);
}

REGISTER_REPORT("layers", report_layers)
    .at(6)
    .about("How each product of each layer was computed")
    .made_of("accuracy or timing runs (train, sweep)")
    .drawn_by("density");

}  // namespace approx
