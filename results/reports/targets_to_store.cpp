#include "results/reports/targets_to_store.h"

#include "base/error.h"
#include "results/rows/derived_target.h"
#include "results/rows/target_rows.h"

namespace approx {
namespace {

std::string target_line(const RowSet& set, const DerivedTarget& target, const Margin& margin) {
  const Cell& first = *target.dense->first;
  std::string group = fmt::format("{} on {}", first.network_label, first.config.dataset);
  if (const auto setting = set.setting(*target.dense); !setting.empty()) group += ", " + setting;
  return fmt::format("{}: {} %, {}", group, fixed(shown_percent({target.share, ""}), 2),
                     target_origin(target.runs(), margin.text()));
}

}  // namespace

TargetsToStore targets_to_store(const Snapshot& snapshot, const std::string& experiment,
                                const Margin& margin, const Catalogue& catalogue) {
  const RowSet set(snapshot, {.experiment = experiment, .catalogue = &catalogue});
  auto targets = derive_targets(set, margin);
  if (targets.empty()) {
    throw usage_error("db target: no exact training has finished; train `dense` first");
  }
  std::erase_if(targets, [](const DerivedTarget& target) {
    return target.dense->target && target.dense->stored_target == nullptr;
  });
  if (targets.empty()) {
    throw usage_error("db target: the experiment says its target, which reports take");
  }
  TargetsToStore result{.record = target_record(targets, margin, experiment), .lines = {}};
  for (const auto& target : targets) {
    if (target.share <= 0) {
      throw usage_error("db target: --margin: {} leave no target of a median of {} %",
                        margin.text(), fixed(100 * target.median, 2));
    }
    result.lines.push_back(target_line(set, target, margin));
    result.few |= target.runs() < kDenseRunsForATarget;
  }
  return result;
}

}  // namespace approx
