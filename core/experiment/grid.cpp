#include "core/experiment/grid.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <thread>

#include "base/digest.h"
#include "base/error.h"
#include "core/config/dense.h"
#include "core/config/run_key.h"
#include "core/config/schedule.h"

namespace approx {
namespace {

// The seeds of `block` that runs of `purpose` have.
std::vector<int64_t> seeds_of(const Axes& block, Purpose purpose) {
  if (purpose != Purpose::kTiming) return block.seeds;
  if (block.timing_seeds) return *block.timing_seeds;
  const auto first = block.seeds.begin();
  return {first, first + static_cast<std::ptrdiff_t>(std::min(kTimingSeeds, block.seeds.size()))};
}

// Which value of each group of zipped axes a cell has, by the group's number.
using Chosen = std::map<size_t, size_t>;

// Calls body(index, chosen) for every value of an axis that goes with what is chosen already.
template <typename Body>
void for_each_value(const Axes& block, const std::string& key, const Chosen& chosen, Body&& body) {
  const auto& groups = block.zipped;
  const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  });
  const auto number = static_cast<size_t>(group - groups.begin());
  if (const auto index = chosen.find(number); index != chosen.end()) {
    return body(index->second, chosen);
  }
  for (size_t i = 0; i < values_of(block, key); ++i) {
    Chosen next = chosen;
    if (group != groups.end()) next[number] = i;
    body(i, next);
  }
}

class Expander {
 public:
  Expander(const Grid& grid, const Catalogue& catalogue) : grid_(grid), catalogue_(catalogue) {}

  Expansion run() {
    result_.used.assign(grid_.exclusions.size(), false);
    struct Part {
      const Axes& block;
      Purpose purpose;
      std::vector<int64_t> seeds;
    };
    std::vector<Part> parts;
    size_t most_seeds = 0;
    for (const auto purpose : {Purpose::kAccuracy, Purpose::kTiming}) {
      for (const auto& block : grid_.blocks) {
        if (std::count(block.purposes.begin(), block.purposes.end(), purpose) == 0) continue;
        parts.push_back({block, purpose, seeds_of(block, purpose)});
        most_seeds = std::max(most_seeds, parts.back().seeds.size());
      }
    }
    for (size_t s = 0; s < most_seeds; ++s) {
      for (const auto& part : parts) {
        if (s >= part.seeds.size()) continue;
        const Axes& block = part.block;
        RunConfig config;
        config.purpose = part.purpose;
        config.seed = part.seeds[s];
        threads_of_machine_ = !block.scalars.contains("threads");
        config.threads = std::max<int64_t>(1, std::thread::hardware_concurrency());
        config.train_subset = SubsetKind::kSeed;
        for_each_value(block, "recipe", {}, [&](size_t r, const Chosen& chosen) {
          config.recipe = block.recipes[r];
          recipe_ = r;
          expand_scalars(block, block.scalars.begin(), config, chosen);
        });
      }
    }
    result_.unusable = why_none_can();
    for (const auto& [place, holds] : holds_) {
      if (!holds) result_.never.push_back(place);
    }
    return std::move(result_);
  }

 private:
  void expand_scalars(const Axes& block,
                      std::map<std::string, std::vector<Json>>::const_iterator at,
                      const RunConfig& config, const Chosen& chosen) {
    if (at == block.scalars.end()) return expand_cells(block, config, chosen);
    for_each_value(block, at->first, chosen, [&](size_t i, const Chosen& now) {
      RunConfig next = config;
      from_json(Json{{at->first, at->second[i]}}, next);
      expand_scalars(block, std::next(at), next, now);
    });
  }

  void expand_cells(const Axes& block, const RunConfig& config, const Chosen& chosen) {
    for_each_value(block, "network", chosen, [&](size_t n, const Chosen& by_network) {
      for_each_value(block, "method", by_network, [&](size_t m, const Chosen& by_method) {
        bool first = true;  // dense is one cell
        for_each_value(block, "schedule", by_method, [&](size_t s, const Chosen&) {
          const auto& method = block.methods[m];
          if (first || !is_dense(method.text)) {
            add(block, config, block.networks[n], method, block.schedules[s]);
          }
          first = false;
        });
      });
    });
  }

  void add(const Axes& block, const RunConfig& config, const Labelled& network,
           const Labelled& method, const LabelledSchedule& schedule) {
    PlannedRun run;
    run.config = config;
    run.tuned = block.tuned;
    run.config.network = network.text;
    run.config.method = method.text;
    if (config.purpose != Purpose::kTiming) run.config.timed_against.clear();
    if (config.purpose == Purpose::kTiming) run.config.stop_at = RunConfig().stop_at;
    if (!takes_part(config, "patience")) run.config.patience = RunConfig().patience;
    if (config.ranks == 1) run.config.norm_statistics = RunConfig().norm_statistics;
    if (config.train_examples == 0) run.config.train_subset = RunConfig().train_subset;
    run.network_label = network.label;
    run.method_label = method.label;
    run.excluded = why_unusable(run.config);
    std::string contradiction;
    if (!is_dense(method.text)) {
      run.config.schedule = schedule.rules;
      run.schedule_label = schedule.label;
      if (run.excluded.empty()) {
        const auto& fit = fit_of(run.config, schedule);
        run.excluded = fit.unusable;
        contradiction = fit.contradiction;
      }
    }
    const bool usable = run.excluded.empty();
    // A run that cannot be resolved has no canonical form; the text of its settings serves.
    const std::string& checksum = grid_.checksums.at(run.config.dataset);
    if (usable) {
      set_keys(run, checksum, catalogue_);
      run.excluded = broken_condition(block, run);
      exclude(run);
      if (run.excluded.empty()) run.excluded = why_untimed(run.config);
      if (run.excluded.empty()) run.excluded = why_selection_untimed(run.config);
    } else {
      run.key = sha256_hex(Json(run.config).dump() + checksum);
    }
    run.threads_of_machine = threads_of_machine_;
    if (!contradiction.empty() && run.excluded.empty()) {
      throw usage_error("{} ({} on {})", contradiction, method.label, network.label);
    }
    // Conditions and exclusions name the method by the label that the file gives it.
    if (!run.config.selection.empty()) {
      const auto selection = catalogue_.selection_params(run.config.selection).to_string();
      run.method_label = arm_text(run.method_label, selection);
    }
    const bool is_new = seen_.emplace(run.key, run.labels()).second;
    if (is_new) result_.runs.push_back(std::move(run));
  }

  std::string why_selection_untimed(const RunConfig& config) const {
    if (config.purpose != Purpose::kTiming || config.selection.empty()) return "";
    const auto& info = catalogue_.selection(parse_spec(config.selection).name);
    return info.after_an_epoch ? untimed_selection(config.selection) : "";
  }

  static std::string why_unusable(const RunConfig& config) {
    try {
      check(config);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  // What a network makes of a method under a schedule, judged once.
  struct Fit {
    std::string unusable;       // why there is no such run, or ""
    std::string contradiction;  // between rules of the schedule, or ""
  };

  const Fit& fit_of(const RunConfig& config, const LabelledSchedule& schedule) {
    const auto [known, is_new] = fits_.try_emplace(combination(config, schedule.label));
    Fit& fit = known->second;
    if (!is_new) return fit;
    try {
      const auto& layers = catalogue_.network(parse_spec(config.network).name).layers;
      if (schedule.matrix_rows > 0) check_matrix_rows(schedule.matrix_rows, layers);
      const auto units = window_units(schedule.rules);
      const bool comparable = !units.steps || !units.shares;
      auto rules = schedule.rules;
      // Only the data decide how many steps an epoch has. Where windows can be compared without
      // knowing, a number serves that is large beside any period; where not, the trainer judges.
      if (!comparable) {
        for (auto& rule : rules) rule.from = rule.until = rule.epochs = "";
      }
      constexpr int64_t kStepsPerEpoch = 10'000, kEndless = int64_t{1} << 40;
      const int64_t total = units.shares ? total_steps(config.recipe, kStepsPerEpoch) : kEndless;
      const Schedule made(rules, layers, config.method, catalogue_, kStepsPerEpoch, total,
                          config.ranks);
      if (comparable) fit.contradiction = contradiction_in(made, schedule.places);
    } catch (const Error& error) {
      fit.unusable = error.what();
    }
    return fit;
  }

  static std::string contradiction_in(const Schedule& schedule,
                                      const std::vector<std::string>& places) {
    try {
      schedule.check_together(places);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  // Why the values of a cell do not go together, "" where they do.
  std::string broken_condition(const Axes& block, const PlannedRun& run) {
    std::string reason;
    const Json settings = block.conditions.empty() ? Json() : scalar_settings(run.config);
    for (const auto& condition : block.conditions) {
      const Json& value = condition.value;
      const bool concerned = condition.axis == "method"     ? value == run.method_label
                             : condition.axis == "schedule" ? value == run.schedule_label
                             : condition.axis == "network"  ? value == run.network_label
                             : condition.axis == "recipe"   ? value == recipe_
                                                            : value == settings.at(condition.axis);
      bool& holds = holds_[condition.place];
      if (!concerned) continue;
      if (selects(condition.when, run)) {
        holds = true;
      } else if (reason.empty()) {
        reason = condition.reason;
      }
    }
    return reason;
  }

  void exclude(PlannedRun& run) {
    for (size_t i = 0; i < grid_.exclusions.size(); ++i) {
      const auto& exclusion = grid_.exclusions[i];
      if (!selects(exclusion.what, run)) continue;
      result_.used[i] = true;
      if (run.excluded.empty()) run.excluded = exclusion.reason;
    }
  }

  // A method or layer that fits one network and not another is a cell with a reason; one that fits
  // nowhere is a mistake.
  std::string why_none_can() const {
    std::string reason;
    for (const auto& run : result_.runs) {
      if (is_dense(run.config.method)) continue;
      const auto found = fits_.find(combination(run.config, run.schedule_label));
      if (found == fits_.end() || found->second.unusable.empty()) return "";
      if (reason.empty()) {
        reason = fmt::format("{} on {}: {}", run.method_label, run.network_label,
                             found->second.unusable);
      }
    }
    return reason;
  }

  // What decides it.
  struct Combination {
    std::string network, method, schedule;  // name, full text, label
    int64_t epochs, ranks;

    auto operator<=>(const Combination&) const = default;
  };

  static Combination combination(const RunConfig& config, const std::string& schedule_label) {
    return {parse_spec(config.network).name, config.method, schedule_label, config.recipe.epochs,
            config.ranks};
  }

  const Grid& grid_;
  const Catalogue& catalogue_;
  Expansion result_;
  bool threads_of_machine_ = false;                  // of the block that is expanded
  size_t recipe_ = 0;                                // that is expanded, of its block
  std::map<std::string, bool> holds_;                // by the places of conditions
  std::set<std::pair<std::string, LabelKey>> seen_;  // keys of runs
  std::map<Combination, Fit> fits_;
};

}  // namespace

const std::vector<std::string>& scalar_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> names;
    for (const auto& spec : run_specs()) {
      if (spec.name != "network" && spec.name != "method" && spec.name != "seed") {
        names.push_back(spec.name);
      }
    }
    return names;
  }();
  return keys;
}

size_t values_of(const Axes& axes, const std::string& key) {
  if (key == "method") return axes.methods.size();
  if (key == "schedule") return axes.schedules.size();
  if (key == "network") return axes.networks.size();
  if (key == "recipe") return axes.recipes.size();
  const auto scalar = axes.scalars.find(key);
  return scalar == axes.scalars.end() ? 1 : scalar->second.size();
}

namespace {

// Cells of a block, those that are dense counted once whatever the number of schedules.
double count_cells(const Axes& block) {
  std::set<std::string> zipped;
  double cells = 1;
  for (const auto& group : block.zipped) {
    zipped.insert(group.begin(), group.end());
    cells *= static_cast<double>(values_of(block, group.front()));
  }
  for (const auto& [key, values] : block.scalars) {
    if (!zipped.contains(key)) cells *= static_cast<double>(values.size());
  }
  if (!zipped.contains("network")) cells *= static_cast<double>(block.networks.size());
  if (!zipped.contains("recipe")) cells *= static_cast<double>(block.recipes.size());
  if (zipped.contains("schedule")) {
    return zipped.contains("method") ? cells : cells * static_cast<double>(block.methods.size());
  }
  const auto schedules = static_cast<double>(block.schedules.size());
  if (zipped.contains("method")) return cells * schedules;
  double rows = 0;
  for (const auto& method : block.methods) rows += is_dense(method.text) ? 1.0 : schedules;
  return cells * rows;
}

}  // namespace

double count_runs(const Grid& grid) {
  double total = 0;
  for (const auto& block : grid.blocks) {
    const double cells = count_cells(block);
    for (const auto purpose : block.purposes) {
      total += cells * static_cast<double>(seeds_of(block, purpose).size());
    }
  }
  return total;
}

std::string row_text(const LabelKey& row) {
  return row.schedule.empty() ? row.method : row.method + ", " + row.schedule;
}

std::string run_text(const LabelKey& row, const std::string& dataset, int64_t seed) {
  return fmt::format("{}, {}, {}, seed {}", row_text(row), row.network, dataset, seed);
}

const std::string& label_along(std::string_view axis, const PlannedRun& run) {
  if (axis == "method") return run.method_label;
  if (axis == "network") return run.network_label;
  if (axis == "schedule") return run.schedule_label;
  return run.config.dataset;
}

std::vector<std::string> labels_along(std::string_view axis, const std::vector<PlannedRun>& runs) {
  if (axis.empty()) return {""};
  std::vector<std::string> labels;
  for (const auto& run : runs) {
    const std::string& label = label_along(axis, run);
    if (label.empty() || std::find(labels.begin(), labels.end(), label) != labels.end()) continue;
    labels.push_back(label);
  }
  return labels;
}

void set_keys(PlannedRun& run, std::string_view dataset_sha256, const Catalogue& catalogue) {
  run.key = run_key(run.config, dataset_sha256, catalogue);
  run.earlier_keys.clear();
  run.same_keys.clear();
  for (auto& earlier : earlier_keys(run.config, dataset_sha256, catalogue)) {
    if (!earlier.other_rules && !earlier.other_version) run.same_keys.push_back(earlier.key);
    run.earlier_keys.push_back(std::move(earlier.key));
  }
}

Expansion expand(const Grid& grid, const Catalogue& catalogue) {
  return Expander(grid, catalogue).run();
}

}  // namespace approx
