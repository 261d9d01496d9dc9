// The learning rate of each arm, chosen before anything is compared: every candidate is tried by
// seeds that no evaluation uses, and judged on held-out images. An arm is what differs in anything
// but seed and purpose. Where the best of an arm's candidates is the lowest or the highest, the
// next one beyond is tried, half or twice as high, until the best is enclosed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"

namespace approx {

// What stands behind the id of what is tuned, in that of its tuning runs.
inline constexpr const char* kTuneSuffix = ":tune";

// A text that a run has in common with all trials of its arm, whatever their length, and with no
// other run: how a report finds them.
std::string arm_name(const RunConfig& config);

// What the trials of one arm reached: by learning rate, by seed, the share of held-out images at
// the end, 0 of a trial that diverged.
using Trials = std::map<double, std::map<int64_t, double>>;

// How many seeds' own best rates must be enclosed as well as the mean's: one seed cannot choose
// among rates that are some tenths of a point apart.
inline constexpr int64_t kSeedsToEnclose = 2;

// How often the candidates of a file are halved or doubled at each end before the search gives up.
inline constexpr int64_t kMostWidenings = 6;

// Where a rate stands among those that were tried.
enum class RatePlace {
  kEnclosed,  // best by the mean, lower and higher ones are worse, by two seeds' own best as well
  kLowest,    // best by the mean, no lower one was tried
  kHighest,   // best by the mean, no higher one was tried
  kFewSeeds,  // best by the mean, and lower and higher ones are worse, but by fewer than two seeds
  kNotBest,   // another one is better by the mean
  kUntried,   // not among them
  kDiverges,  // every trial of every rate diverged
};

// Place of `rate` among the trials of its arm. Of rates whose means are alike the lowest is best.
RatePlace place_of(double rate, const Trials& trials);

// For people, why a rate is not enclosed: "0.4 is the highest that was tried"; "" where it is.
std::string why_open(double rate, const Trials& trials);

// The rate that comes next for an arm of which all `trials` are known, half of the lowest or twice
// the highest; none where the best is enclosed, where no seed asks for more, or where the search
// gives up. `first`: the candidates of the file, not empty.
std::optional<double> next_rate(const Trials& trials, const std::vector<double>& first);

// The held-out accuracy at the end of a finished run of that key; 0 where it diverged, nothing
// where it has not ended.
using HeldOutAccuracy = std::function<std::optional<double>(const std::string& key)>;

// The runs that tune `experiment`, as an experiment of its own, "ID:tune": accuracy runs of every
// arm with every tuning seed, split = "holdout", at every candidate, and where `accuracy` has all
// of these, at each rate that next_rate() asks for up to the first that is not in it. So a sweep
// that has run them asks again, until there is nothing new. `experiment.tuning` must be there.
Experiment tuning_runs(const Experiment& experiment, const HeldOutAccuracy& accuracy,
                       const Catalogue& catalogue,
                       const std::function<std::string(const std::string&)>& checksum);

// Why a run of an arm that was not tuned is left out.
inline constexpr const char* kNotTuned = "its learning rate is not tuned yet: sweep --tune first";
inline constexpr const char* kDivergesEverywhere =
    "it diverges at every learning rate that was tried";

// Gives every run of `experiment` the rate that was best for its arm, of two alike the lower one,
// and the key that follows; a training of `exact_lengths` has that of the whole training.
// Excluded, with the reason, are runs of arms that lack a trial of the file's candidates, and of
// arms whose every trial diverged. Returns a line for each arm: which rate it has, how good it and
// the next best were, and where it is not enclosed why, with the rate that `sweep --tune` tries
// next. An experiment without tuning is left as it is.
std::vector<std::string> take_tuned_rates(
    Experiment& experiment, const HeldOutAccuracy& accuracy, const Catalogue& catalogue,
    const std::function<std::string(const std::string&)>& checksum);

}  // namespace approx
