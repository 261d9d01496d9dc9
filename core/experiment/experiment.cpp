#include "core/experiment/experiment.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "core/experiment/axes_reader.h"
#include "core/experiment/exact_lengths.h"
#include "core/experiment/files.h"
#include "core/experiment/seeds_reader.h"
#include "core/experiment/toml_source.h"
#include "core/experiment/tuning.h"

namespace approx {
namespace {

constexpr int64_t kMaxRuns = 100'000;

const Names& top_keys() {
  static const Names keys = [] {
    Names names = {"id",      "title", "target", "exclude", "extra",
                   "report",  "scale", "study",  "kernels", "not_run",
                   "picture", "tune",  "zip",    "slurm",   "exact_lengths"};
    names.insert(names.end(), axis_keys().begin(), axis_keys().end());
    return names;
  }();
  return keys;
}

class ExperimentReader {
 public:
  ExperimentReader(TomlSource source, const Overrides& overrides, const Catalogue& catalogue,
                   const std::function<std::string(const std::string&)>& dataset_sha256)
      : source_(std::move(source)),
        catalogue_(catalogue),
        dataset_sha256_(dataset_sha256),
        stop_at_target_(overrides.stop_at_target),
        overridden_(apply(overrides, source_)) {}

  Experiment read() {
    const auto& root = source_.root();
    source_.check_keys(root, "", top_keys());
    Experiment experiment;
    experiment.source = source_.name();
    experiment.item = read_id();
    experiment.scale = overridden_.scale;
    experiment.scales = overridden_.scales;
    experiment.id = experiment.item;
    if (experiment.scale != Scale::kFull) {
      experiment.id += fmt::format(":{}", name(experiment.scale));
    }
    experiment.title =
        root.contains("title") ? source_.text(*root.get("title"), "title") : experiment.item;
    if (const auto* node = root.get("target")) experiment.target = read_target(*node);
    experiment.paper = read_item_report(source_);
    if (const auto* node = root.get("report")) experiment.report = to_json_value(*node);
    experiment.slurm = read_slurm(source_);
    experiment.work = read_work(experiment.paper);
    if (const auto* node = root.get("tune")) {
      auto tuning = read_tuning(*node);
      if (!overridden_.learning_rate) experiment.tuning = std::move(tuning);
    }
    experiment.files = {source_.name()};
    experiment.files.insert(experiment.files.end(), source_.read().begin(), source_.read().end());
    return experiment;
  }

 private:
  Work read_work(const ItemReport& paper) {
    const std::string_view key = chosen_key();
    if (key.empty()) return read_trainings(paper);
    Names of_trainings = axis_keys();
    of_trainings.emplace_back("exact_lengths");
    for (const auto& axis : of_trainings) {
      if (key == "picture" && (axis == "network" || axis == "schedule")) continue;
      const auto* node = source_.root().get(axis);
      if (node != nullptr) {
        throw source_.error(*node, axis, "has no meaning beside {}; leave one out", key);
      }
    }
    if (key == "picture") return read_picture();
    if (key == "study") return read_study_item(source_);
    if (key == "kernels") return read_kernel_item(source_);
    return NotRunItem{source_.text(*source_.root().get(key), std::string(key))};
  }

  // The key that says what computes the file, "" for the axes of a grid.
  std::string_view chosen_key() const {
    std::string_view chosen;
    for (const char* key : {"study", "kernels", "not_run", "picture"}) {
      const auto* node = source_.root().get(key);
      if (node == nullptr) continue;
      if (!chosen.empty()) {
        throw source_.error(*node, key, "cannot stand beside {}; leave one out", chosen);
      }
      chosen = key;
    }
    return chosen;
  }

  PictureItem read_picture() {
    const auto& root = source_.root();
    const auto& node = *root.get("picture");
    if (source_.text(node, "picture") != "schedule") {
      throw source_.error(node, "picture", "only \"schedule\" is drawn from a file alone");
    }
    Axes axes;
    read_axes(context_, root, "", axes);
    require(!axes.networks.empty(), "network");
    require(root.contains("schedule"), "schedule");
    return {axes.networks, axes.schedules};
  }

  Trainings read_trainings(const ItemReport& paper) {
    const auto& root = source_.root();
    Axes main;
    read_axes(context_, root, "", main);
    require(!main.networks.empty(), "network");
    require(main.scalars.count("dataset") > 0, "dataset");
    require(!main.methods.empty(), "method");
    grid_.blocks.push_back(main);
    if (const auto* node = root.get("extra")) read_extras(*node);
    if (stop_at_target_) stop_at_target();
    for (const auto& block : grid_.blocks) read_checksums(block);
    if (const auto* node = root.get("exclude")) read_exclusions(*node);
    auto runs = expand_grid(paper);
    if (const auto* node = root.get("exact_lengths")) add_lengths(*node, runs);
    return {std::move(runs)};
  }

  void add_lengths(const toml::node& node, std::vector<PlannedRun>& runs) const {
    const std::string key = "exact_lengths";
    if (source_.root().contains("report")) {
      throw source_.error(node, key,
                          "cannot stand beside [report]: a table of a paper has no rows for its "
                          "trainings; leave one out");
    }
    std::vector<double> shares;
    source_.each(node, key, [&](const toml::node& item, const std::string& at) {
      const auto share = item.value<double>();
      if (!share || item.is_boolean()) {
        throw source_.error(item, at, "expected a share such as 0.8, got {}", type_name(item));
      }
      if (!(*share > 0 && *share <= 1)) {
        throw source_.error(item, at, "{}: a share of the recipe's length is above 0 and at most 1",
                            *share);
      }
      if (std::find(shares.begin(), shares.end(), *share) != shares.end()) {
        throw source_.error(item, at, "{} is given twice", *share);
      }
      shares.push_back(*share);
    });
    const auto exact = std::count_if(runs.begin(), runs.end(),
                                     [](const PlannedRun& run) { return is_exact(run.config); });
    // A flag may leave exact training out of what is run this time.
    if (exact == 0 && overridden_.keys.empty()) {
      throw source_.error(node, key, "no method is exact; add \"dense\" to method");
    }
    const size_t most = runs.size() + static_cast<size_t>(exact) * shares.size();
    if (most > static_cast<size_t>(kMaxRuns)) {
      throw source_.error(node, key, "{} runs with these; at most {} are expanded, so split it",
                          most, kMaxRuns);
    }
    const auto checksum = [this](const std::string& name) { return grid_.checksums.at(name); };
    add_exact_lengths(runs, shares, checksum, catalogue_);
  }

  void stop_at_target() {
    const auto* node = source_.root().get("target");
    if (node == nullptr) {
      throw usage_error(
          "--stop-at-target: {} has no target; give one with --set target=accuracy>=SHARE",
          source_.name());
    }
    for (auto& block : grid_.blocks) block.scalars["stop_at"] = {Json(read_target(*node).value)};
  }

  void require(bool present, const char* key) const {
    if (present) return;
    throw usage_error("{}:1:1: {}: is missing; add {} = \"...\"", source_.name(), key, key);
  }

  std::string read_id() const {
    const auto* node = source_.root().get("id");
    if (node == nullptr) return std::filesystem::path(source_.name()).stem().string();
    std::string id = source_.text(*node, "id");
    const bool plain = std::all_of(id.begin(), id.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == ':';
    });
    if (!plain || id.size() > 100) {
      throw source_.error(*node, "id", "\"{}\": letters, digits, _ - . and : only, at most 100",
                          id);
    }
    // What this program puts behind an id, so that its runs would stand among those of another.
    std::vector<std::string> reserved = {kTuneSuffix};
    for (const auto scale : kAllScales) reserved.push_back(fmt::format(":{}", name(scale)));
    for (const auto& end : reserved) {
      if (!id.ends_with(end)) continue;
      throw source_.error(
          *node, "id",
          "\"{}\": ids that end in {} are reserved for parts of an experiment; choose another", id,
          end);
    }
    return id;
  }

  Target read_target(const toml::node& node) const {
    const std::string text = source_.text(node, "target");
    if (const auto target = parse_target(text)) return *target;
    throw source_.error(node, "target", "\"{}\": expected accuracy>=SHARE, for example {}", text,
                        "accuracy>=0.915");
  }

  Tuning read_tuning(const toml::node& node) const {
    const auto& table = source_.table(node, "tune");
    source_.check_keys(table, "tune", {"learning_rate", "seeds", "length"});
    if (grid_.blocks.empty()) throw source_.error(node, "tune", "only trainings are tuned");
    const auto present = [&](const char* key) -> const toml::node& {
      if (const auto* found = table.get(key)) return *found;
      throw source_.error(node, "tune", "{} is missing", key);
    };
    Tuning tuning;
    const auto& rates = present("learning_rate");
    source_.each(rates, "tune.learning_rate", [&](const toml::node& item, const std::string& at) {
      Recipe recipe;  // what a rate may be
      const Json rate = source_.scalar(item, at);
      source_.at(item, at, [&] { set_field(recipe, "learning_rate", rate); });
      tuning.learning_rates.push_back(recipe.learning_rate);
    });
    auto& found = tuning.learning_rates;
    std::sort(found.begin(), found.end());
    if (std::adjacent_find(found.begin(), found.end()) != found.end()) {
      throw source_.error(rates, "tune.learning_rate", "a rate is given twice");
    }
    if (const auto* length = table.get("length")) {
      const auto share = length->value<double>();
      if (!share || !(*share > 0 && *share <= 1)) {
        throw source_.error(*length, "tune.length",
                            "expected a share of the training, above 0 and at most 1");
      }
      tuning.length = *share;
    }
    const auto& seeds = present("seeds");
    tuning.seeds = read_seeds(source_, seeds, "tune.seeds");
    const std::set<int64_t> tuned_by(tuning.seeds.begin(), tuning.seeds.end());
    for (const auto& block : grid_.blocks) {
      for (const auto seed : block.seeds) {
        if (!tuned_by.contains(seed)) continue;
        throw source_.error(seeds, "tune.seeds",
                            "seed {} is evaluated too: a rate cannot be judged by a seed that "
                            "chose it; give other seeds",
                            seed);
      }
    }
    return tuning;
  }

  void read_extras(const toml::node& node) {
    source_.each(node, "extra", [&](const toml::node& item, const std::string& path) {
      auto block = read_extra(context_, source_.table(item, path), path, grid_.blocks);
      if (block) grid_.blocks.push_back(std::move(*block));
    });
  }

  void read_exclusions(const toml::node& node) {
    source_.each(node, "exclude", [&](const toml::node& item, const std::string& path) {
      grid_.exclusions.push_back(
          read_exclusion(context_, source_.table(item, path), path, grid_.blocks));
    });
  }

  void read_checksums(const Axes& axes) {
    for (const auto& value : axes.scalars.at("dataset")) {
      const std::string name = value;
      if (grid_.checksums.count(name) > 0) continue;
      const auto* node = source_.root().get("dataset");
      grid_.checksums[name] = source_.at(*node, "dataset", [&] { return dataset_sha256_(name); });
    }
  }

  std::vector<PlannedRun> expand_grid(const ItemReport& paper) const {
    const double count = count_runs(grid_);
    if (count > static_cast<double>(kMaxRuns)) {
      throw usage_error("{}:1:1: the grid has {:.0f} runs; at most {} are expanded, so split it",
                        source_.name(), count, kMaxRuns);
    }
    auto expansion = expand(grid_, catalogue_);
    // A flag or a scale may take away what an exclusion, or a number of the paper, is about.
    if (overridden_.keys.empty() && overridden_.scale == Scale::kFull) {
      check_used(expansion.used);
      const auto along = [&](const std::string& axis) {
        return labels_along(axis, expansion.runs).size();
      };
      check_numbers(source_, {.rows = along(paper.rows), .columns = along(paper.columns)});
      for (const auto& place : expansion.never) {
        throw usage_error("applies to no run; delete or correct it").in(place);
      }
    }
    if (!expansion.unusable.empty()) {
      const char* key = source_.root().contains("schedule") ? "schedule" : "method";
      throw source_.error(*source_.root().get(key), key, "no run can use it: {}",
                          expansion.unusable);
    }
    return std::move(expansion.runs);
  }

  void check_used(const std::vector<bool>& used) const {
    for (size_t i = 0; i < used.size(); ++i) {
      if (used[i]) continue;
      const auto* node = source_.root().get("exclude");
      const auto* item = node->is_array() ? node->as_array()->get(i) : node;
      const bool of_schedule = !grid_.exclusions[i].what.schedules.empty();
      throw source_.error(*item, fmt::format("exclude[{}]", i),
                          "matches no run{}; delete or correct it",
                          of_schedule ? " (a dense run has no schedule)" : "");
    }
  }

  TomlSource source_;
  const Catalogue& catalogue_;
  const std::function<std::string(const std::string&)>& dataset_sha256_;
  const bool stop_at_target_;
  const Overridden overridden_;
  const AxesContext context_{source_, catalogue_, overridden_};
  Grid grid_;
};

}  // namespace

std::optional<Target> parse_target(std::string_view text) {
  const auto sign = text.find(">=");
  if (sign == std::string_view::npos || trim(text.substr(0, sign)) != "accuracy") {
    return std::nullopt;
  }
  const double share = parse_real(trim(text.substr(sign + 2))).value_or(0);
  if (!(share > 0 && share <= 1)) return std::nullopt;
  return Target{.metric = "accuracy", .value = share};
}

Experiment parse_experiment(const std::string& text, const std::string& source,
                            const Overrides& overrides, const Catalogue& catalogue,
                            const std::function<std::string(const std::string&)>& dataset_sha256) {
  ExperimentReader reader(TomlSource(source, text), overrides, catalogue, dataset_sha256);
  Experiment experiment = reader.read();
  experiment.text = text;
  return experiment;
}

Experiment load_experiment(const std::string& path_or_name, const Overrides& overrides,
                           const Catalogue& catalogue,
                           const std::function<std::string(const std::string&)>& dataset_sha256) {
  const auto path = find_experiment(path_or_name);
  return parse_experiment(read_toml_file(path), path.string(), overrides, catalogue,
                          dataset_sha256);
}

Experiment experiment_of_flags(
    const Overrides& overrides, const std::string& id, const Catalogue& catalogue,
    const std::function<std::string(const std::string&)>& dataset_sha256) {
  const auto begin = fmt::format("id = \"{}\"\n", id);
  auto experiment = parse_experiment(begin, kCommandLine, overrides, catalogue, dataset_sha256);
  experiment.text = file_text(overrides, id);
  experiment.files.erase(experiment.files.begin());  // the source itself, which is no file
  return experiment;
}

Experiment load_layout(const std::string& path_or_name, const Catalogue& catalogue, Scale scale,
                       const std::function<std::string(const std::string&)>& dataset_sha256) {
  Overrides overrides;
  overrides.scale = scale;
  return load_experiment(path_or_name, overrides, catalogue, [&](const std::string& dataset) {
    return dataset_sha256 ? dataset_sha256(dataset) : std::string();
  });
}

}  // namespace approx
