#include "results/records/trials.h"

#include <algorithm>

#include "results/records/items.h"
#include "results/store/sql.h"

namespace approx {

namespace {

constexpr double kRounding = 1e-9;  // epochs

// A rate that lacks a seed cannot be compared with one that has it.
void drop_incomplete(Trials& trials) {
  size_t most = 0;
  for (const auto& [rate, by_seed] : trials) most = std::max(most, by_seed.size());
  std::erase_if(trials, [most](const auto& trial) { return trial.second.size() < most; });
}

}  // namespace

ArmTrials read_trials(const Snapshot& snapshot) {
  std::map<std::string, std::map<std::string, TrialsOfLength>> by_name;
  const auto& held_out = snapshot.items().held_out();
  for_each_row(snapshot.db(),
               "SELECT DISTINCT c.cell_id, c.run_key, c.config FROM cell c "
               "JOIN experiment_cell USING(cell_id) JOIN experiment e USING(experiment_id) "
               "WHERE e.name LIKE '%:tune' ORDER BY c.cell_id",
               [&](SQLite::Statement& row) {
                 const auto accuracy = held_out(text_at(row, "run_key"));
                 if (!accuracy) return;
                 const RunConfig& config =
                     snapshot.config(integer_at(row, "cell_id"), text_at(row, "config"));
                 auto& found = by_name[arm_name(config)][trial_name(config)];
                 found.epochs = length_in_epochs(config.recipe);
                 found.trials[config.recipe.learning_rate][config.seed] = *accuracy;
               });
  ArmTrials trials;
  for (auto& [arm, by_length] : by_name) {
    auto& lengths = trials[arm];
    for (auto& [name, found] : by_length) {
      drop_incomplete(found.trials);
      lengths.push_back(std::move(found));
    }
    std::ranges::stable_sort(lengths, std::ranges::greater(), &TrialsOfLength::epochs);
  }
  return trials;
}

std::string why_rate_open(const RunConfig& config, const ArmTrials& trials) {
  const auto found = trials.find(arm_name(config));
  if (found == trials.end()) return "no other was tried for it";
  const double rate = config.recipe.learning_rate;
  const double epochs = length_in_epochs(config.recipe) + kRounding;
  const Trials* counts = nullptr;
  for (const auto& of_length : found->second) {
    if (of_length.epochs > epochs) continue;
    const bool has_it = of_length.trials.contains(rate);
    if (counts == nullptr || has_it) counts = &of_length.trials;
    if (has_it) break;
  }
  return counts == nullptr ? "no other was tried for it" : why_open(rate, *counts);
}

}  // namespace approx
