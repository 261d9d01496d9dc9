#include "cli/sweep/rerun.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "cli/text.h"

namespace approx {
namespace {

constexpr std::string_view kTaintedWord = "tainted";
constexpr std::string_view kOlderWord = "older";
constexpr std::string_view kStaleWord = "stale";  // as other tools call it

}  // namespace

bool Rerun::has(RunState state) const {
  return std::find(states.begin(), states.end(), state) != states.end();
}

Rerun parse_rerun(std::string_view text) {
  std::vector<std::string> known;
  for (const RunState state : kEndStates) known.emplace_back(name(state));
  known.emplace_back(kTaintedWord);
  known.emplace_back(kOlderWord);
  Rerun rerun;
  for (const auto& word : split_list(text)) {
    const auto state = find_named<RunState>(word);
    if (word == kStaleWord) {
      throw usage_error(
          "--rerun: runs by an earlier version of a method, a network or the data are always done "
          "again, and \"older\" is for other commits; known: {}",
          fmt::join(known, ", "));
    }
    if (word == kTaintedWord) {
      rerun.tainted = true;
    } else if (word == kOlderWord) {
      rerun.older = true;
    } else if (state && *state != RunState::kRunning) {
      rerun.states.push_back(*state);
    } else {
      throw usage_error("--rerun: unknown state \"{}\"{}; known: {}", printable(word),
                        did_you_mean(word, known), fmt::join(known, ", "));
    }
  }
  if (rerun.states.empty() && !rerun.tainted && !rerun.older) {
    throw usage_error("--rerun: no state; known: {}", fmt::join(known, ", "));
  }
  return rerun;
}

bool is_older(const CellStatus& status, std::string_view commit) {
  if (!status.state || !is_result(*status.state)) return false;
  const bool known = !commit.empty() && !status.commit.empty() && status.commit != "unknown";
  return known && status.commit != commit;
}

bool needs_run(const CellStatus& status, const Rerun& rerun, std::string_view commit) {
  if (!status.state) return true;
  const RunState state = *status.state;
  return is_done_again(state) || rerun.has(state) || (status.tainted && rerun.tainted) ||
         (rerun.older && is_older(status, commit));
}

}  // namespace approx
