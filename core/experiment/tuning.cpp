#include "core/experiment/tuning.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "core/config/run_key.h"

namespace approx {
namespace {

// What an arm's runs have in common, as its tuning runs have it, but for the rate.
RunConfig arm_of(RunConfig config) {
  const RunConfig plain;
  config.purpose = Purpose::kAccuracy;
  config.split = SplitKind::kHoldout;
  config.blocks = plain.blocks;
  config.block_steps = plain.block_steps;
  config.timed_against.clear();
  config.stop_at = plain.stop_at;  // a rate is judged by where it leads
  config.seed = 0;
  config.recipe.learning_rate = plain.recipe.learning_rate;
  return config;
}

// The candidates of one arm, each with its mean over the seeds; nothing where a run is missing.
std::optional<std::vector<Candidate>> candidates_of(
    const RunConfig& arm, const Tuning& tuning,
    const std::function<std::optional<double>(const RunConfig&)>& accuracy) {
  std::vector<Candidate> candidates;
  for (const double rate : tuning.learning_rates) {
    Candidate& candidate = candidates.emplace_back(Candidate{.learning_rate = rate});
    for (const auto seed : tuning.seeds) {
      RunConfig config = arm;
      config.recipe.learning_rate = rate;
      config.seed = seed;
      const auto reached = accuracy(config);
      if (!reached) return std::nullopt;
      candidate.accuracy += *reached / static_cast<double>(tuning.seeds.size());
      ++candidate.seeds;
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.accuracy > b.accuracy; });
  return candidates;
}

std::string name_of(const PlannedRun& run) {
  return fmt::format("{} on {}", row_text(run.labels()), run.network_label);
}

std::string line_of(const std::vector<Candidate>& candidates, const Tuning& tuning) {
  const Candidate& best = candidates.front();
  std::string line = fmt::format("learning rate {}, {:.2f} % of held-out images ({} {})",
                                 shortest(best.learning_rate), 100 * best.accuracy, best.seeds,
                                 best.seeds == 1 ? "seed" : "seeds");
  if (candidates.size() > 1) {
    line += fmt::format("; next {}, {:.2f} %", shortest(candidates[1].learning_rate),
                        100 * candidates[1].accuracy);
  }
  const auto& rates = tuning.learning_rates;
  const bool lowest = best.learning_rate == rates.front();
  if (rates.size() > 1 && (lowest || best.learning_rate == rates.back())) {
    line += fmt::format("; the {} candidate: a better one may lie beyond",
                        lowest ? "lowest" : "highest");
  }
  return line;
}

}  // namespace

Experiment tuning_runs(const Experiment& experiment, const Catalogue& catalogue,
                       const std::function<std::string(const std::string&)>& checksum) {
  const Tuning& tuning = *experiment.tuning;
  Experiment made = experiment;
  made.id += kTuneSuffix;
  made.title += ", learning rates";
  made.tuning.reset();
  made.target.reset();
  made.report = nullptr;
  made.paper = {};
  std::vector<PlannedRun> runs;
  std::set<std::string> keys;
  for (const auto seed : tuning.seeds) {
    for (const auto& run : experiment.runs()) {
      if (!run.tuned) continue;
      for (const double rate : tuning.learning_rates) {
        PlannedRun trial = run;
        trial.config = arm_of(run.config);
        trial.config.seed = seed;
        trial.config.recipe.learning_rate = rate;
        if (trial.excluded.empty()) {
          set_keys(trial, checksum(trial.config.dataset), catalogue);
        }
        if (keys.insert(trial.key).second) runs.push_back(std::move(trial));
      }
    }
  }
  made.work = Trainings{std::move(runs)};
  return made;
}

std::vector<std::string> take_tuned_rates(
    Experiment& experiment, const HeldOutAccuracy& accuracy, const Catalogue& catalogue,
    const std::function<std::string(const std::string&)>& checksum) {
  std::vector<std::string> lines;
  auto* trainings = std::get_if<Trainings>(&experiment.work);
  if (!experiment.tuning || trainings == nullptr) return lines;
  const Tuning& tuning = *experiment.tuning;
  const auto accuracy_of = [&](const RunConfig& config) {
    const auto sha256 = checksum(config.dataset);
    auto reached = accuracy(run_key(config, sha256, catalogue));
    if (reached) return reached;
    for (const auto& key : earlier_run_keys(config, sha256, catalogue)) {
      reached = accuracy(key);
      if (reached) break;
    }
    return reached;
  };
  std::map<std::string, std::optional<std::vector<Candidate>>> known;  // by arm
  for (auto& run : trainings->runs) {
    if (!run.excluded.empty() || !run.tuned) continue;
    const RunConfig arm = arm_of(run.config);
    const auto [at, is_new] = known.try_emplace(Json(arm).dump());
    if (is_new) {
      at->second = candidates_of(arm, tuning, accuracy_of);
      lines.push_back(fmt::format("{}: {}", name_of(run),
                                  at->second ? line_of(*at->second, tuning) : "not tuned yet"));
    }
    if (!at->second) {
      run.excluded = kNotTuned;
      continue;
    }
    run.config.recipe.learning_rate = at->second->front().learning_rate;
    set_keys(run, checksum(run.config.dataset), catalogue);
  }
  return lines;
}

}  // namespace approx
