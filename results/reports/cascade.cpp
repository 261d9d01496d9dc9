// From the speed of a product to the speed of a training.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "results/records/sound_numbers.h"
#include "results/reports/report.h"
#include "results/rows/kernel_lines.h"
#include "results/rows/row_columns.h"
#include "results/rows/rows.h"
#include "results/rows/target_rows.h"

namespace approx {
namespace {

constexpr std::array kProducts = {"forward", "data_gradient", "weight_gradient"};

// --- the products ---

// What a product was benchmarked under.
struct KernelPlace {
  std::string op, method, device, precision, threads;
  int64_t host_id = 0;

  auto operator<=>(const KernelPlace&) const = default;
};

// A layer's product, batch aside: channels in and out, kernel, stride, padding, groups, map.
using ShapeKey = std::array<int64_t, 7>;

// All -1 for a text that is no such shape.
ShapeKey key_of(const std::string& shape) {
  const Json json = Json::parse(shape, nullptr, /*allow_exceptions=*/false);
  const auto number = [&](const char* name) {
    const bool has = json.is_object() && json.contains(name) && json[name].is_number_integer();
    return has ? json[name].get<int64_t>() : -1;
  };
  return {number("in_channels"), number("out_channels"), number("kernel"), number("stride"),
          number("padding"),     number("groups"),       number("size")};
}

ShapeKey key_of(const LayerInfo& layer) {
  return {layer.in_channels, layer.out_channels, layer.kernel, layer.stride,
          layer.padding,     layer.groups,       layer.in_size};
}

// By shape: how many times as fast as the exact product its fastest variant was when it was last
// benchmarked, of whatever batch.
using ByShape = std::map<std::string, double>;
using Kernels = std::map<KernelPlace, ByShape>;

Kernels read_kernels(SQLite::Database& db) {
  // By variant first: a later benchmark takes the place of an earlier one of the same.
  std::map<KernelPlace, std::map<std::pair<std::string, std::string>, double>> last;
  for_each_row(
      db,
      fmt::format("SELECT op, method, device, precision, threads, host_id, shape, variant, ratio, "
                  "kernel_run_id FROM v_kernel WHERE ratio > 0 AND method <> 'dense' AND {} "
                  "ORDER BY kernel_run_id",
                  kRandomOperands),
      [&](SQLite::Statement& row) {
        const KernelPlace place{text_at(row, 0), text_at(row, 1), text_at(row, 2),
                                text_at(row, 3), text_at(row, 4), row.getColumn(5).getInt64()};
        last[place][{text_at(row, 6), text_at(row, 7)}] =
            sound_number(row.getColumn(8), {"kernel run", row.getColumn(9).getInt64()});
      });
  Kernels kernels;
  for (const auto& [place, variants] : last) {
    for (const auto& [at, ratio] : variants) {
      double& best = kernels[place][at.first];
      best = std::max(best, ratio);
    }
  }
  return kernels;
}

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
Work work_of(const Row& row, const Measurements& measured) {
  Work work;
  for (const auto* cell : row.cells) {
    const Run* run = cell->run();
    if (run == nullptr || !run->finished()) continue;
    const auto counts = measured.layers.find(run->run_id);
    if (counts == measured.layers.end()) continue;
    for (const auto& count : counts->second) {
      ProductWork& product = work[std::string(name(count.product))];
      const auto macs = static_cast<double>(count.macs_dense);
      product.macs += macs;
      if (!is_dense(count.method)) product.approximated[count.method] += macs;
    }
  }
  return work;
}

// What share of an exact step each product takes, all layers together: the mean over the row's
// timing runs that count.
std::map<std::string, double> shares_of(const RowSet& set, const Row& row) {
  std::map<std::string, std::vector<double>> found;
  for (const Run* run : set.timings(row)) {
    const auto phases = set.measured().phases.find(run->run_id);
    if (phases == set.measured().phases.end()) continue;
    for (const char* product : kProducts) {
      const auto share = phases->second.find(product);
      if (share != phases->second.end()) found[product].push_back(share->second);
    }
  }
  std::map<std::string, double> shares;
  for (const auto& [product, values] : found) shares[product] = summarize(values).mean;
  return shares;
}

// The shares of a layer-times study of the network, whose sums stand in its last lines.
std::map<std::string, double> studied_shares(SQLite::Database& db, const Cell& cell,
                                             const Catalogue* catalogue) {
  const auto full = [catalogue](const std::string& network) {
    try {
      return catalogue == nullptr ? network : catalogue->network_params(network).full_text();
    } catch (const Error&) {
      return network;  // of another version of the program
    }
  };
  std::map<std::string, double> shares;
  for_each_row(
      db,
      "SELECT params, content FROM v_study WHERE name = 'layer-times' "
      "ORDER BY study_run_id",
      [&](SQLite::Statement& row) {
        const Json params = Json::parse(text_at(row, 0), nullptr, false);
        const Json content = Json::parse(text_at(row, 1), nullptr, false);
        if (!params.is_object() || !content.is_object()) return;
        const Json network = params.value("network", Json());
        if (!network.is_string() || full(network.get<std::string>()) != cell.config.network) {
          return;
        }
        // layer_index, layer, product, ms, lo, hi, share: index 0 is all layers.
        for (const auto& line : content.value("rows", Json::array())) {
          if (line.size() > 6 && line[0] == 0 && line[2].is_string() && line[6].is_number()) {
            shares[line[2].get<std::string>()] = line[6].get<double>();
          }
        }
      });
  return shares;
}

// --- a line ---

struct CascadeLine {
  const Row* row = nullptr;
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
      : set_(snapshot, options),
        options_(options),
        kernels_(read_kernels(snapshot.db())),
        db_(snapshot.db()),
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
    CascadeLine line{.row = &row};
    const auto target = std::find_if(targets_.begin(), targets_.end(),
                                     [&](const auto& each) { return each.row == &row; });
    if (target != targets_.end()) line.target = &*target;
    const Work work = work_of(row, set_.measured());
    add_products(row, work, line);
    auto shares = studied_shares(db_, *row.first, options_.catalogue);
    line.layers_by = "layer-times study";
    if (shares.empty()) shares = shares_of(set_, row), line.layers_by = "timing runs";
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
    const ByShape* kernels = kernels_of(row, product, method);
    if (kernels == nullptr) return std::nullopt;
    Products products;
    double time = 0, weights = 0;
    const auto add = [&](double ratio, double weight) {
      time += weight / ratio;
      weights += weight;
    };
    if (options_.catalogue == nullptr) {
      for (const auto& [shape, ratio] : *kernels) {
        products.ratios.push_back(ratio);
        add(ratio, 1);
      }
    } else {
      const auto* layers = layers_of(row);
      if (layers == nullptr) return std::nullopt;
      for (const auto& [shape, ratio] : *kernels) {
        const ShapeKey key = key_of(shape);
        bool any = false;
        for (const auto& layer : *layers) {
          if (key_of(layer) != key) continue;
          add(ratio, static_cast<double>(layer.macs));
          any = true;
        }
        if (any) products.ratios.push_back(ratio);
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
  bool counted_alike(const Row& row, const std::vector<LayerInfo>& layers) const {
    for (const auto* cell : row.cells) {
      const Run* run = cell->run();
      if (run == nullptr || !run->finished()) continue;
      const auto counts = set_.measured().layers.find(run->run_id);
      if (counts == set_.measured().layers.end()) continue;
      const int64_t images = run->batch_images.value_or(cell->config.batch_size);
      return std::ranges::all_of(counts->second, [&](const LayerCount& count) {
        const auto layer = std::ranges::find(layers, count.layer, &LayerInfo::name);
        return layer != layers.end() && layer->macs * images * count.calls == count.macs_dense;
      });
    }
    return false;
  }

  // Those of the row's machine and settings; nullptr where the product was not benchmarked so.
  const ByShape* kernels_of(const Row& row, const std::string& product,
                            const std::string& method) const {
    const RunConfig& config = row.first->config;
    for (const auto* each : row.cells) {
      if (each->run() == nullptr) continue;
      const auto found = kernels_.find({product, method, std::string(name(config.device)),
                                        std::string(name(config.precision)),
                                        std::to_string(config.threads), each->run()->host_id});
      if (found != kernels_.end()) return &found->second;
    }
    return nullptr;
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
                                       const std::map<std::string, double>& shares) const {
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

  const RowSet set_;
  const ReportOptions& options_;
  const Kernels kernels_;
  SQLite::Database& db_;
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
  return reduction.n > 0 ? fixed(reduction.mean, 1) + " %" : kNotMeasured;
}

Columns<CascadeLine> cascade_columns(const RowSet& set, const NoteLetters& letters) {
  using Line = CascadeLine;
  auto columns = row_columns<Line>(set, &letters).all();
  append(columns, {{.name = "product",
                    .header = "its products",
                    .value = maybe(&Line::product),
                    .text = product_text},
                   {.name = "product_least", .value = maybe(&Line::product_least)},
                   {.name = "product_most", .value = maybe(&Line::product_most)},
                   {.name = "product_shapes", .value = &Line::shapes},
                   {.name = "layers",
                    .header = "→ products of all layers (estimate)",
                    .value = maybe(&Line::layers),
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
  append(columns,
         {{.name = "compute_reduction_pct",
           .header = "work saved",
           .value = [](const Line& line) { return mean_field(line.row->compute_reduction); },
           .text = reduction_text},
          {.name = "realisation",
           .header = "realised",
           .value =
               [](const Line& line) {
                 const auto& realised = line.row->realisation;
                 return realised ? Field(realised->value) : Field();
               },
           .text =
               [](const Line& line) {
                 return or_not_measured(realisation_text(line.row->realisation));
               }},
          {.name = "realisation_lo",
           .value =
               [](const Line& line) {
                 const auto& realised = line.row->realisation;
                 return realised ? field(realised->lo) : Field();
               }},
          {.name = "realisation_hi",
           .value =
               [](const Line& line) {
                 const auto& realised = line.row->realisation;
                 return realised ? field(realised->hi) : Field();
               }},
          {.name = "notes",
           .value = [&letters](const Line& line) { return letters.names(line.row->notes); }}});
  return columns;
}

// One row for each method and schedule of which anything is known: how many times as fast as
// exact training its products are (bench-kernel), what that makes of all products of its layers,
// what is left of it in a step (timing runs) and on the way to the target.
Table report_cascade(const Snapshot& snapshot, const ReportOptions& options) {
  Cascade cascade(snapshot, options);
  const auto lines = cascade.lines();
  std::vector<const Row*> rows;
  for (const auto& line : lines) rows.push_back(line.row);
  const NoteLetters letters(notes_of(rows), 'a',
                            {kShared, kUnpaired, kTimesElsewhere, kShortSeconds});
  Table table;
  table.name = "cascade";
  table.title = options.experiment;
  fill(table, cascade_columns(cascade.set(), letters), lines);
  if (lines.empty()) return table;
  table.notes = letters.lines();
  table.notes.emplace_back(
      "each level is how many times as fast as exact: its products by bench-kernel on the same "
      "machine, threads and precision, on random operands (geometric mean over the shapes of its "
      "network's layers, of each the fastest variant); products of all layers: an estimate, from "
      "these times, weighted by multiply-accumulates, and the time that each product takes (study "
      "layer-times, else the timing runs), neither of networks at other parameters or images than "
      "list networks has them at; step: timing runs; time to target: steps and step times "
      "together");
  table.notes.emplace_back(
      "realised: the share of the time of a step really saved over the share of the "
      "multiply-accumulates that is left out");
  return table;
}

REGISTER_REPORT("cascade", report_cascade)
    .at(10)
    .about("Product, layer, step, time to target: where a speedup goes")
    .made_of("runs of methods, and kernel benchmarks (bench-kernel)");

}  // namespace
}  // namespace approx
