// From the speed of a product to the speed of a training.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "results/records/kernels.h"
#include "results/reports/report.h"
#include "results/rows/row_columns.h"
#include "results/rows/rows.h"
#include "results/rows/target_rows.h"

namespace approx {
namespace {

// --- the products ---

// A layer's product, batch aside: channels in and out, kernel, stride, padding, groups, map.
using ShapeKey = std::array<int64_t, 7>;

// All -1 where it is no such shape.
ShapeKey key_of(const Json& shape) {
  const auto number = [&](const char* name) {
    const bool has = shape.is_object() && shape.contains(name) && shape[name].is_number_integer();
    return has ? shape[name].get<int64_t>() : -1;
  };
  return {number("in_channels"), number("out_channels"), number("kernel"), number("stride"),
          number("padding"),     number("groups"),       number("size")};
}

ShapeKey key_of(const LayerInfo& layer) {
  return {layer.in_channels, layer.out_channels, layer.kernel, layer.stride,
          layer.padding,     layer.groups,       layer.in_size};
}

// By the text of the shape, of whatever batch.
using ByShape = std::map<std::string, const KernelLine*>;

double geometric_mean(const std::vector<double>& values) {
  double logs = 0;
  for (const double value : values) logs += std::log(value);
  return std::exp(logs / static_cast<double>(values.size()));
}

// --- the layers ---

// What became of one of the three products, over all layers of a network.
struct ProductWork {
  double macs = 0;                             // of exact training
  std::map<std::string, double> approximated;  // of that, by method
};

using Work = std::map<std::string, ProductWork>;

// Of the row's runs that count it: those of timing runs and of accuracy runs alike, whose schedules
// are the same.
Work work_of(const Row& row) {
  Work work;
  for (const auto& [cell, run] : runs_of(row, std::nullopt)) {
    for (const auto& count : run->measured->layers) {
      ProductWork& product = work[std::string(name(count.product))];
      const auto macs = static_cast<double>(count.macs_dense);
      product.macs += macs;
      if (!is_dense(count.method)) product.approximated[count.method] += macs;
    }
  }
  return work;
}

// What share of an exact step each product takes, all layers together.
using Shares = std::map<std::string, double>;

// The mean over the row's timing runs that count.
Shares shares_of(const Row& row) {
  Shares shares;
  for (const Product product : kAllProducts) {
    const std::string key(name(product));
    const auto found = values_of(row.timings, [&](const RunMeasurements& measured) {
      const auto share = measured.phases.find(key);
      return share == measured.phases.end() ? std::nullopt : std::optional(share->second);
    });
    if (!found.empty()) shares[key] = summarize(found).mean;
  }
  return shares;
}

// By network, the shares of its last layer-times study, whose sums stand in its last lines.
std::map<std::string, Shares> studied_shares(SQLite::Database& db, const Catalogue* catalogue) {
  const auto full = [catalogue](const std::string& network) {
    try {
      return catalogue == nullptr ? network : catalogue->network_params(network).full_text();
    } catch (const Error&) {
      return network;  // of another version of the program
    }
  };
  std::map<std::string, Shares> studied;
  for_each_row(
      db, "SELECT params, content FROM v_study WHERE name = 'layer-times' ORDER BY study_run_id",
      [&](SQLite::Statement& row) {
        const Json params = Json::parse(text_at(row, 0), nullptr, false);
        const Json content = Json::parse(text_at(row, 1), nullptr, false);
        if (!params.is_object() || !content.is_object()) return;
        const Json network = params.value("network", Json());
        if (!network.is_string()) return;
        Shares& shares = studied[full(network.get<std::string>())];
        // layer_index, layer, product, ms, lo, hi, share: index 0 is all layers.
        for (const auto& line : content.value("rows", Json::array())) {
          if (line.size() > 6 && line[0] == 0 && line[2].is_string() && line[6].is_number()) {
            shares[line[2].get<std::string>()] = line[6].get<double>();
          }
        }
      });
  return studied;
}

// --- a line ---

struct CascadeLine {
  const Row* row = nullptr;
  Notes notes = {};  // of its row, and of its target
  // Of the approximated products: geometric mean over shapes, the least and the largest.
  std::optional<double> product, product_least, product_most;
  int64_t shapes = 0;
  std::optional<double> layers;  // all three products of all layers
  std::string layers_by;         // where the shares of the products are from
  const TargetRow* target = nullptr;

  // None by step times of accuracy runs, which may have shared the machine.
  bool is_isolated() const { return target != nullptr && target->is_isolated(); }
  Ratio to_target() const { return target == nullptr ? Ratio() : target->isolated_speedup(); }
  bool any() const { return product || row->speedup.n > 0 || to_target().n > 0; }
};

class Cascade {
 public:
  Cascade(const Snapshot& snapshot, const ReportOptions& options)
      : rows_(rows_of(snapshot, options)),
        set_(*rows_),
        options_(options),
        kernels_(snapshot.kernels()),
        studied_(studied_shares(snapshot.db(), options.catalogue)),
        targets_(target_rows(set_, options)) {}

  const RowSet& set() const { return set_; }

  std::vector<CascadeLine> lines() {
    std::vector<CascadeLine> lines;
    for (const auto& row : set_.rows()) {
      if (is_dense(*row.first)) continue;
      CascadeLine line = line_of(row);
      if (line.any()) lines.push_back(line);
    }
    return lines;
  }

 private:
  CascadeLine line_of(const Row& row) {
    CascadeLine line{.row = &row, .notes = row.notes};
    line.target = target_of(targets_, row);
    if (line.target != nullptr) line.notes[kFewTargetRuns] = line.target->notes[kFewTargetRuns];
    const Work work = work_of(row);
    add_products(row, work, line);
    Shares shares = studied_[row.first->config.network];
    line.layers_by = "layer-times study";
    if (shares.empty()) shares = shares_of(row), line.layers_by = "timing runs";
    line.layers = layers_speedup(row, work, shares);
    if (!line.layers) line.layers_by.clear();
    return line;
  }

  // What benchmarks say of an approximated product of a network.
  struct Products {
    std::vector<double> ratios;  // of each shape
    double time = 1;             // what it takes of the exact one's, over all of its layers
  };

  // By benchmarks on shapes of the row's own layers, weighted by their multiply-accumulates. None
  // where there are none, or where the layers are not known: of a network at other parameters or
  // images than the catalogue has its layers of. Without a catalogue all shapes count alike.
  std::optional<Products> products_of(const Row& row, const std::string& product,
                                      const std::string& method) const {
    const ByShape kernels = kernels_of(row, product, method);
    Products products;
    double time = 0, weights = 0;
    const auto add = [&](double ratio, double weight) {
      time += weight / ratio;
      weights += weight;
    };
    if (options_.catalogue == nullptr) {
      for (const auto& [text, line] : kernels) {
        products.ratios.push_back(*line->ratio);
        add(*line->ratio, 1);
      }
    } else {
      const auto* layers = layers_of(row);
      if (layers == nullptr) return std::nullopt;
      for (const auto& [text, line] : kernels) {
        bool any = false;
        for (const auto& layer : *layers) {
          if (key_of(layer) != key_of(line->shape)) continue;
          add(*line->ratio, static_cast<double>(layer.macs));
          any = true;
        }
        if (any) products.ratios.push_back(*line->ratio);
      }
    }
    if (weights <= 0) return std::nullopt;
    products.time = time / weights;
    return products;
  }

  const std::vector<LayerInfo>* layers_of(const Row& row) const {
    const Spec spec = parse_spec(row.first->config.network);
    for (const auto& network : options_.catalogue->networks) {
      if (network.name != spec.name) continue;
      return counted_alike(row, network.layers) ? &network.layers : nullptr;
    }
    return nullptr;
  }

  // Whether the multiply-accumulates that the row's runs counted are those of these layers: of
  // other parameters or images they would be others.
  static bool counted_alike(const Row& row, const std::vector<LayerInfo>& layers) {
    for (const auto& [cell, run] : runs_of(row, std::nullopt)) {
      const auto& counts = run->measured->layers;
      if (counts.empty()) continue;
      const int64_t images = run->batch_images.value_or(cell->config.batch_size);
      return std::ranges::all_of(counts, [&](const LayerCount& count) {
        const auto layer = std::ranges::find(layers, count.layer, &LayerInfo::name);
        return layer != layers.end() && layer->macs * images * count.calls == count.macs_dense;
      });
    }
    return false;
  }

  // The fastest variant of each shape, when each was last benchmarked on the row's machine and
  // with its settings. Empty where the product was not benchmarked so.
  ByShape kernels_of(const Row& row, const std::string& product, const std::string& method) const {
    const RunConfig& config = row.first->config;
    ByShape fastest;
    for (const auto* cell : row.cells) {
      if (cell->run() == nullptr) continue;
      std::map<std::pair<std::string, std::string>, const KernelLine*> last;  // shape, variant
      for (const auto& line : kernels_) {
        const bool fits = line.host_id == cell->run()->host_id && line.threads == config.threads &&
                          line.op == product && line.method == method &&
                          line.device == name(config.device) &&
                          line.precision == name(config.precision);
        if (fits && line.is_usual() && line.speedup())
          last[{line.shape_text, line.variant}] = &line;
      }
      for (const auto& [at, line] : last) {
        const KernelLine*& best = fastest[at.first];
        if (best == nullptr || *best->ratio < *line->ratio) best = line;
      }
      if (!fastest.empty()) break;
    }
    return fastest;
  }

  void add_products(const Row& row, const Work& work, CascadeLine& line) const {
    std::vector<double> ratios;
    for (const auto& [product, done] : work) {
      for (const auto& [method, macs] : done.approximated) {
        const auto products = products_of(row, product, method);
        if (!products) continue;
        ratios.insert(ratios.end(), products->ratios.begin(), products->ratios.end());
      }
    }
    if (ratios.empty()) return;
    line.shapes = static_cast<int64_t>(ratios.size());
    line.product = geometric_mean(ratios);
    line.product_least = *std::min_element(ratios.begin(), ratios.end());
    line.product_most = *std::max_element(ratios.begin(), ratios.end());
  }

  // What the three products take of a step when each approximated one is as many times as fast as
  // its benchmark. None where one of them has none, or where their times are not known.
  std::optional<double> layers_speedup(const Row& row, const Work& work,
                                       const Shares& shares) const {
    double before = 0, after = 0;
    bool any = false;
    for (const auto& [product, share] : shares) {
      before += share;
      const auto done = work.find(product);
      if (done == work.end() || done->second.macs <= 0) return std::nullopt;
      double left = 1;  // of the product's time
      for (const auto& [method, macs] : done->second.approximated) {
        const auto products = products_of(row, product, method);
        if (!products) return std::nullopt;
        left -= macs / done->second.macs * (1 - products->time);
        any = true;
      }
      after += share * left;
    }
    return any && after > 0 ? std::optional(before / after) : std::nullopt;
  }

  const std::shared_ptr<const RowSet> rows_;
  const RowSet& set_;
  const ReportOptions& options_;
  const std::vector<KernelLine>& kernels_;
  std::map<std::string, Shares> studied_;
  const std::vector<TargetRow> targets_;
};

constexpr const char* kNotMeasured = "not measured";

std::string or_not_measured(const std::string& text) { return text == "–" ? kNotMeasured : text; }

std::string product_text(const CascadeLine& line) {
  if (!line.product) return kNotMeasured;
  std::string text = fmt::format("{:.2f}×", *line.product);
  if (line.shapes == 1) return text + " (1 shape)";
  return text + fmt::format(" ({:.2f} to {:.2f}, {} shapes)", *line.product_least,
                            *line.product_most, line.shapes);
}

std::string layers_text(const CascadeLine& line) {
  return line.layers ? fmt::format("*{:.2f}×*", *line.layers) : kNotMeasured;
}

std::string reduction_text(const CascadeLine& line) {
  const Summary& reduction = line.row->compute_reduction;
  if (reduction.n == 0) return kNotMeasured;
  // Where the count does not depend on draws, all runs have the same.
  const bool varies = reduction.half && *reduction.half >= 0.05;
  return fixed(reduction.mean, 1) + (varies ? " ± " + fixed(*reduction.half, 1) : "") + " %";
}

Columns<CascadeLine> cascade_columns(const RowSet& set, const NoteLetters& letters) {
  using Line = CascadeLine;
  auto columns = row_columns<Line>(set, &letters).all();
  append(columns, {{"product", "its products", via(&Line::product), product_text},
                   {.name = "product_least", .value = via(&Line::product_least)},
                   {.name = "product_most", .value = via(&Line::product_most)},
                   {.name = "product_shapes", .value = &Line::shapes},
                   {.name = "layers",
                    .header = "→ products of all layers (estimate)",
                    .value = via(&Line::layers),
                    .text = layers_text,
                    .starred = true},
                   {.name = "layers_by", .value = &Line::layers_by}});
  auto step =
      ratio_columns<Line>("step", "→ step", [](const Line& line) { return line.row->speedup; });
  step.front().text = [](const Line& line) {
    return or_not_measured(ratio_text(line.row->speedup));
  };
  append(columns, std::move(step));
  auto target = ratio_columns<Line>("to_target", "→ time to target", &Line::to_target);
  target.front().text = [](const Line& line) {
    return line.is_isolated() ? or_not_measured(speedup_text(*line.target)) : kNotMeasured;
  };
  append(columns, std::move(target));
  append(columns, {{"compute_reduction_pct", "work saved", via(&Line::row, &Row::compute_reduction),
                    reduction_text},
                   {.name = "compute_reduction_pct_half",
                    .value = via(&Line::row, &Row::compute_reduction, &Summary::half)}});
  auto realised = realisation_columns<Line>();
  realised.front().header = "realised";
  realised.front().text = [](const Line& line) {
    return or_not_measured(realisation_text(line.row->realisation));
  };
  append(columns, std::move(realised));
  append(columns, {notes_column<Line>(letters)});
  return columns;
}

// One row for each method and schedule of which anything is known: how many times as fast as
// exact training its products are (bench-kernel), what that makes of all products of its layers,
// what is left of it in a step (timing runs) and on the way to the target.
Table report_cascade(const Snapshot& snapshot, const ReportOptions& options) {
  Cascade cascade(snapshot, options);
  const auto lines = cascade.lines();
  const auto letters = letters_of(lines, {kShared, kUnpaired, kTimesElsewhere, kShortSeconds});
  Table table = table_of(options.experiment, cascade_columns(cascade.set(), letters), lines);
  if (lines.empty()) return table;
  table.screen.keys = {"network", "dataset", "setting", "tuned_rate", "schedule"};
  table.screen.results = {"method", "product", "layers", "step", "to_target"};
  table.notes = letters.lines();
  table.notes.emplace_back(
      "each level: how many times as fast as exact. Products are timed by bench-kernel on the same "
      "machine, threads and precision, on random operands. Their speedup is the geometric mean "
      "over the shapes of the network's layers, each by its fastest variant");
  table.notes.emplace_back(
      "products of all layers: an estimate from these times, weighted by multiply-accumulates and "
      "by the time of each product (study layer-times, else timing runs). There is none for "
      "networks with other parameters or images than in list networks");
  table.notes.emplace_back(
      "step: by timing runs; time to target: from steps and step times together");
  table.notes.emplace_back(
      "realised: the share of a step's time that is really saved, over the share of the "
      "multiply-accumulates that is left out");
  return table;
}

REGISTER_REPORT("cascade", report_cascade)
    .at(10)
    .about("Where a speedup goes: products, layers, step, time to target")
    .made_of("runs of methods, and kernel benchmarks (bench-kernel)");

}  // namespace
}  // namespace approx
