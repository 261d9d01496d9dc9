// Tuning of the learning rate of each arm, before methods are compared. An arm is all runs that
// differ only in seed and purpose. Every candidate is tried with seeds that no evaluation uses, and
// judged on held-out images. If the best of an arm's candidates is the lowest or the highest, the
// next one beyond, half or twice as high, is tried. This goes on until the best is enclosed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"

namespace approx {

// Suffix of an experiment's id for its tuning runs.
inline constexpr const char* kTuneSuffix = ":tune";

// A text that a run shares with all trials of its arm, whatever their length, and with no other
// run. Reports find the trials by it.
std::string arm_name(const RunConfig& config);

// As arm_name(), with the length. Trials of one name can be compared with each other.
std::string trial_name(const RunConfig& config);

// The results of one arm's trials, by learning rate and by seed. A result is the share of held-out
// images that are right at the end. It is 0 if the trial diverged or learnt nothing.
using Trials = std::map<double, std::map<int64_t, double>>;

// The number of seeds whose own best rate must be enclosed, in addition to that of the mean. One
// seed cannot choose between rates that are some tenths of a point apart.
inline constexpr int64_t kSeedsToEnclose = 2;

// How often the candidates of a file may be halved or doubled at each end before the search gives
// up.
inline constexpr int64_t kMostWidenings = 6;

// The position of a rate among the rates that were tried.
enum class RatePlace {
  kEnclosed,  // best by the mean, with worse ones on both sides, also by two seeds' own best
  kLowest,    // best by the mean, no lower one was tried
  kHighest,   // best by the mean, no higher one was tried, or the highest is as good
  kFewSeeds,  // best by the mean and enclosed, but by fewer than two seeds' own best
  kNotBest,   // another one is better by the mean
  kUntried,   // not tried
  kDiverges,  // every trial of every rate diverged or learnt nothing
};

// The position of `rate` among the trials of its arm. Among rates with equal means the lowest is
// best.
RatePlace place_of(double rate, const Trials& trials);

// For people, why a rate is not enclosed: "0.4 is the highest that was tried"; "" if it is.
std::string why_open(double rate, const Trials& trials);

// The next rate for an arm with these results, half of the lowest or twice the highest. Nothing if
// the best is enclosed, if no seed asks for more, or if the search gives up. `first`: the
// candidates of the file, not empty.
std::optional<double> next_rate(const Trials& trials, const std::vector<double>& first);

// A training has learnt something if it is right this many times as often as by guessing.
// Accuracies below that are noise, and the largest of them says nothing of its rate.
inline constexpr double kAboveGuessing = 1.2;

// The held-out accuracy at the end of the run with that key. 0 if it diverged or learnt nothing,
// nothing if it has not ended.
using HeldOutAccuracy = std::function<std::optional<double>(const std::string& key)>;

// The runs that tune `experiment`, as an experiment of its own, "ID:tune". They are accuracy runs
// of every arm with every tuning seed and split = "holdout", at every candidate. If `accuracy` has
// all of these, there are also runs at each rate from next_rate(), up to the first without results.
// A sweep that has done these runs calls it again, until there is nothing new. `experiment.tuning`
// must be set.
Experiment tuning_runs(const Experiment& experiment, const HeldOutAccuracy& accuracy,
                       const Catalogue& catalogue,
                       const std::function<std::string(const std::string&)>& checksum);

// Why a run is left out whose arm is not tuned.
inline constexpr const char* kNotTuned = "its learning rate is not tuned yet: sweep --tune first";
inline constexpr const char* kDivergesEverywhere =
    "it diverges or learns nothing at every learning rate that was tried";

// Gives every run of `experiment` the rate that was best for its arm, and the key that follows. The
// lower of two equal rates is used. A training of `exact_lengths` has the rate of the whole
// training. Excludes runs, with the reason, of two kinds of arms. One lacks a trial of the file's
// candidates, in the other every trial diverged or learnt nothing. An experiment without tuning is
// not changed.
//
// Returns a line for each arm: its rate, the accuracy of that and of the next best. If the rate is
// not enclosed, the line says why, and which rate `sweep --tune` tries next.
std::vector<std::string> take_tuned_rates(
    Experiment& experiment, const HeldOutAccuracy& accuracy, const Catalogue& catalogue,
    const std::function<std::string(const std::string&)>& checksum);

}  // namespace approx
