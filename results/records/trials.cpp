#include "results/records/trials.h"

#include "results/records/items.h"
#include "results/store/sql.h"

namespace approx {

ArmTrials read_trials(const Snapshot& snapshot) {
  ArmTrials trials;
  const auto& held_out = snapshot.items().held_out();
  for_each_row(snapshot.db(),
               "SELECT DISTINCT c.cell_id, c.run_key, c.config FROM cell c "
               "JOIN experiment_cell USING(cell_id) JOIN experiment e USING(experiment_id) "
               "WHERE e.name LIKE '%:tune'",
               [&](SQLite::Statement& row) {
                 const auto accuracy = held_out(text_at(row, "run_key"));
                 if (!accuracy) return;
                 const RunConfig& config =
                     snapshot.config(integer_at(row, "cell_id"), text_at(row, "config"));
                 trials[arm_name(config)][config.recipe.learning_rate][config.seed] = *accuracy;
               });
  return trials;
}

std::string why_rate_open(const RunConfig& config, const ArmTrials& trials) {
  const auto found = trials.find(arm_name(config));
  if (found == trials.end()) return "no other was tried for it";
  return why_open(config.recipe.learning_rate, found->second);
}

}  // namespace approx
