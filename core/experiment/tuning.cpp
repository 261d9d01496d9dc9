#include "core/experiment/tuning.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"
#include "core/config/run_key.h"
#include "core/experiment/iso_time.h"

namespace approx {
namespace {

// The arm that a run belongs to: what a run of any purpose has in common with its trials, with seed
// and learning rate left open.
RunConfig arm_of(RunConfig config) {
  const RunConfig plain;
  config.purpose = Purpose::kAccuracy;
  config.split = SplitKind::kHoldout;
  config.blocks = plain.blocks;
  config.block_steps = plain.block_steps;
  config.timed_against.clear();
  config.stop_at = plain.stop_at;  // a rate is judged by where it leads
  config.patience = plain.patience;
  config.seed = 0;
  config.recipe.learning_rate = plain.recipe.learning_rate;
  return config;
}

double mean_of(const std::map<int64_t, double>& by_seed) {
  double sum = 0;
  for (const auto& [seed, accuracy] : by_seed) sum += accuracy;
  return by_seed.empty() ? 0 : sum / static_cast<double>(by_seed.size());
}

// The rates from the best to the worst by the mean; of two alike the lower comes first.
std::vector<double> by_mean(const Trials& trials) {
  std::vector<double> rates;
  for (const auto& [rate, by_seed] : trials) rates.push_back(rate);
  std::ranges::stable_sort(
      rates, [&](double a, double b) { return mean_of(trials.at(a)) > mean_of(trials.at(b)); });
  return rates;
}

// How many seeds have their own best inside of the range, and at its ends. An end that is as good
// as the best inside encloses nothing.
struct SeedsBest {
  int64_t inside = 0, lowest = 0, highest = 0;
};

SeedsBest seeds_best(const Trials& trials) {
  struct Best {
    double lowest = 0, inside = 0, highest = 0;
  };
  std::map<int64_t, Best> best;
  for (const auto& [rate, by_seed] : trials) {
    for (const auto& [seed, accuracy] : by_seed) {
      auto& [lowest, inside, highest] = best[seed];
      double& part = rate == trials.begin()->first    ? lowest
                     : rate == trials.rbegin()->first ? highest
                                                      : inside;
      part = std::max(part, accuracy);
    }
  }
  SeedsBest count;
  for (const auto& [seed, of] : best) {
    ++(of.inside > std::max(of.lowest, of.highest) ? count.inside
       : of.highest > of.lowest                    ? count.highest
                                                   : count.lowest);
  }
  return count;
}

RatePlace place_of_best(const Trials& trials) {
  const double best = by_mean(trials).front();
  if (mean_of(trials.at(best)) == 0) return RatePlace::kDiverges;
  if (best == trials.begin()->first) return RatePlace::kLowest;
  if (mean_of(trials.rbegin()->second) >= mean_of(trials.at(best))) return RatePlace::kHighest;
  return seeds_best(trials).inside >= kSeedsToEnclose ? RatePlace::kEnclosed : RatePlace::kFewSeeds;
}

}  // namespace

std::string arm_name(const RunConfig& config) {
  RunConfig arm = arm_of(config);
  arm.recipe = shortened_like(arm.recipe, Recipe{.epochs = 1});
  // A decay an epoch that was scaled twice is rounded otherwise than one that was scaled once.
  constexpr double kDigits = 1e9;
  arm.recipe.decay = std::round(arm.recipe.decay * kDigits) / kDigits;
  return Json(arm).dump();
}

std::string trial_name(const RunConfig& config) { return Json(arm_of(config)).dump(); }

RatePlace place_of(double rate, const Trials& trials) {
  if (!trials.contains(rate)) return RatePlace::kUntried;
  const RatePlace best = place_of_best(trials);
  if (best == RatePlace::kDiverges) return best;
  return by_mean(trials).front() == rate ? best : RatePlace::kNotBest;
}

std::string why_open(double rate, const Trials& trials) {
  const std::string text = shortest(rate);
  switch (place_of(rate, trials)) {
    case RatePlace::kEnclosed:
      return "";
    case RatePlace::kLowest:
      return text + " is the lowest that was tried";
    case RatePlace::kHighest:
      if (rate == trials.rbegin()->first) return text + " is the highest that was tried";
      return fmt::format("{}, the highest that was tried, did as well as {}",
                         shortest(trials.rbegin()->first), text);
    case RatePlace::kFewSeeds:
      return fmt::format("{} is the best inside of the range by fewer than {} tuning seeds", text,
                         kSeedsToEnclose);
    case RatePlace::kNotBest:
      return fmt::format("{} did better than {}", shortest(by_mean(trials).front()), text);
    case RatePlace::kUntried:
      return text + " was not tried";
    case RatePlace::kDiverges:
      return "every rate that was tried diverged or ended no better than by guessing";
  }
  return "";
}

std::optional<double> next_rate(const Trials& trials, const std::vector<double>& first) {
  const RatePlace place = place_of_best(trials);
  const SeedsBest seeds = seeds_best(trials);
  const bool by_seeds = place == RatePlace::kFewSeeds && seeds.lowest + seeds.highest > 0;
  if (place == RatePlace::kEnclosed || (place == RatePlace::kFewSeeds && !by_seeds)) {
    return std::nullopt;
  }
  const bool downward = by_seeds ? seeds.lowest > seeds.highest : place != RatePlace::kHighest;
  const auto [least, most] = std::ranges::minmax(first);
  const double reach = std::exp2(static_cast<double>(kMostWidenings));
  const double next = downward ? trials.begin()->first / 2 : trials.rbegin()->first * 2;
  const bool in_reach = next >= least / reach && next <= most * reach && next <= kMostLearningRate;
  return in_reach ? std::optional(next) : std::nullopt;
}

namespace {

// The arm as trials have it, which may be shorter.
RunConfig trial_of(const RunConfig& config, const Tuning& tuning) {
  RunConfig trial = arm_of(config);
  if (tuning.length < 1) {
    trial.recipe = shortened(trial.recipe, tuning.length, /*steps_per_epoch=*/0);
  }
  return trial;
}

// The search for the rate of one arm: what is known, and what it wants next.
struct Search {
  Trials known;                // whole rates alone: with every tuning seed
  std::vector<double> wanted;  // rates that lack a seed: of the file, else the next one beyond
  bool tuned = false;          // every candidate of the file is known
};

Search search(const RunConfig& arm, const Tuning& tuning,
              const std::function<std::optional<double>(const RunConfig&)>& accuracy) {
  Search found;
  const auto look_at = [&](double rate) {
    std::map<int64_t, double> by_seed;
    for (const auto seed : tuning.seeds) {
      RunConfig trial = arm;
      trial.recipe.learning_rate = rate;
      trial.seed = seed;
      if (const auto reached = accuracy(trial)) by_seed[seed] = *reached;
    }
    const bool whole = by_seed.size() == tuning.seeds.size();
    if (whole) {
      found.known[rate] = std::move(by_seed);
    } else {
      found.wanted.push_back(rate);
    }
    return whole;
  };
  for (const double rate : tuning.learning_rates) look_at(rate);
  found.tuned = found.wanted.empty();
  while (found.wanted.empty()) {
    const auto next = next_rate(found.known, tuning.learning_rates);
    if (!next || !look_at(*next)) break;
  }
  return found;
}

// Looks up trials by their keys; also by those of earlier programs.
std::function<std::optional<double>(const RunConfig&)> accuracy_by_key(
    const HeldOutAccuracy& accuracy, const Catalogue& catalogue,
    const std::function<std::string(const std::string&)>& checksum) {
  return [&](const RunConfig& config) {
    const auto sha256 = checksum(config.dataset);
    auto reached = accuracy(run_key(config, sha256, catalogue));
    if (reached) return reached;
    for (const auto& key : earlier_run_keys(config, sha256, catalogue)) {
      reached = accuracy(key);
      if (reached) break;
    }
    return reached;
  };
}

std::string name_of(const PlannedRun& run) {
  return fmt::format("{} on {}", row_text(run.labels()), run.network_label);
}

std::string line_of(const Search& search, const Tuning& tuning) {
  if (!search.tuned) return "not tuned yet";
  const auto rates = by_mean(search.known);
  const auto percent = [&](double rate) { return 100 * mean_of(search.known.at(rate)); };
  const auto seeds = tuning.seeds.size();
  const double best = rates.front();
  std::string line =
      fmt::format("learning rate {}, {:.2f} % of held-out images ({} {})", shortest(best),
                  percent(best), seeds, seeds == 1 ? "seed" : "seeds");
  if (rates.size() > 1) {
    line += fmt::format("; next {}, {:.2f} %", shortest(rates[1]), percent(rates[1]));
  }
  const std::string open = why_open(best, search.known);
  if (open.empty()) return line;
  line += "; not enclosed: " + open;
  if (!search.wanted.empty()) {
    line += fmt::format("; sweep --tune goes on with {}", shortest(search.wanted.front()));
  } else if (static_cast<int64_t>(seeds) < kSeedsToEnclose) {
    line += fmt::format("; give tune.seeds {} seeds", kSeedsToEnclose);
  }
  return line;
}

}  // namespace

Experiment tuning_runs(const Experiment& experiment, const HeldOutAccuracy& accuracy,
                       const Catalogue& catalogue,
                       const std::function<std::string(const std::string&)>& checksum) {
  const Tuning& tuning = *experiment.tuning;
  Experiment made = experiment;
  made.id += kTuneSuffix;
  made.title += ", learning rates";
  made.tuning.reset();
  made.target.reset();
  made.report = nullptr;
  made.paper = {};
  const auto accuracy_of = accuracy_by_key(accuracy, catalogue, checksum);
  std::map<std::string, std::vector<double>> rates_of_arms;
  const auto rates_of = [&](const RunConfig& arm) -> const std::vector<double>& {
    const auto [at, is_new] = rates_of_arms.try_emplace(Json(arm).dump());
    if (is_new) {
      const Search found = search(arm, tuning, accuracy_of);
      std::set<double> rates(found.wanted.begin(), found.wanted.end());
      for (const auto& [rate, by_seed] : found.known) rates.insert(rate);
      at->second.assign(rates.begin(), rates.end());
    }
    return at->second;
  };
  std::vector<PlannedRun> runs;
  std::set<std::string> keys;
  for (const auto seed : tuning.seeds) {
    for (const auto& run : experiment.runs()) {
      if (!run.tuned || run.shortened_from) continue;  // it takes the rate of the whole training
      const RunConfig arm = trial_of(run.config, tuning);
      // What cannot run is listed once for each candidate of the file, as it would be run.
      const auto& rates = run.excluded.empty() ? rates_of(arm) : tuning.learning_rates;
      for (const double rate : rates) {
        PlannedRun trial = run;
        trial.config = arm;
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
  const auto accuracy_of = accuracy_by_key(accuracy, catalogue, checksum);
  std::map<std::string, Search> known;  // by arm
  for (auto& run : trainings->runs) {
    if (!run.excluded.empty() || !run.tuned) continue;
    RunConfig whole = run.config;
    if (run.shortened_from) whole.recipe = *run.shortened_from;
    const RunConfig arm = trial_of(whole, tuning);
    const auto [at, is_new] = known.try_emplace(Json(arm).dump());
    Search& found = at->second;
    if (is_new) {
      found = search(arm, tuning, accuracy_of);
      lines.push_back(fmt::format("{}: {}", name_of(run), line_of(found, tuning)));
    }
    if (!found.tuned) {
      run.excluded = kNotTuned;
      continue;
    }
    const double best = by_mean(found.known).front();
    if (place_of(best, found.known) == RatePlace::kDiverges) {
      run.excluded = kDivergesEverywhere;
      continue;
    }
    run.config.recipe.learning_rate = best;
    set_keys(run, checksum(run.config.dataset), catalogue);
  }
  return lines;
}

}  // namespace approx
