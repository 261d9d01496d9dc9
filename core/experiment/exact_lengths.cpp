#include "core/experiment/exact_lengths.h"

#include <set>
#include <utility>

#include "core/config/dense.h"
#include "core/experiment/iso_time.h"

namespace approx {
namespace {

// What exact and approximate runs that stand beside each other have in common, as one text. A
// learning rate may be tuned for each arm.
std::string beside(RunConfig config) {
  config.method = kDense;
  config.schedule.clear();
  config.selection.clear();
  config.recipe.learning_rate = Recipe().learning_rate;
  return Json(config).dump();
}

// "dense for 4.2 epochs".
std::string length_label(const Recipe& recipe) {
  const double epochs = length_in_epochs(recipe);
  return fmt::format("{}{:.7g} {}", kLengthPrefix, epochs, epochs == 1 ? "epoch" : "epochs");
}

bool may_have_lengths(const PlannedRun& run) {
  return run.excluded.empty() && run.config.purpose == Purpose::kAccuracy && is_exact(run.config) &&
         !is_prefix_of_longer(run.config.recipe);
}

}  // namespace

void add_exact_lengths(std::vector<PlannedRun>& runs, const std::vector<double>& shares,
                       const std::function<std::string(const std::string&)>& checksum,
                       const Catalogue& catalogue) {
  std::set<std::string> approximated, keys;
  for (const auto& run : runs) {
    if (!run.excluded.empty()) continue;
    keys.insert(run.key);
    if (!is_exact(run.config)) approximated.insert(beside(run.config));
  }
  std::vector<PlannedRun> all;
  for (auto& run : runs) {
    const bool has_lengths = may_have_lengths(run) && approximated.contains(beside(run.config));
    const PlannedRun exact = run;
    all.push_back(std::move(run));
    if (!has_lengths) continue;
    for (const double share : shares) {
      PlannedRun shorter = exact;
      shorter.config.recipe = shortened(exact.config.recipe, share, /*steps_per_epoch=*/0);
      shorter.config.stop_at = 0;  // where it ends is what is asked
      shorter.config.patience = 0;
      shorter.shortened_from = exact.config.recipe;
      shorter.method_label = length_label(shorter.config.recipe);
      set_keys(shorter, checksum(shorter.config.dataset), catalogue);
      if (keys.insert(shorter.key).second) all.push_back(std::move(shorter));
    }
  }
  runs = std::move(all);
}

}  // namespace approx
