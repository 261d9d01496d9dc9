#include "cli/sweep/controls.h"

#include <set>

#include "base/error.h"
#include "cli/text.h"
#include "core/config/dense.h"
#include "core/config/run_key.h"
#include "core/experiment/iso_time.h"

namespace approx {
Controls parse_controls(const std::string& text) {
  Controls controls;
  for (const auto& piece : split_list(text)) {
    constexpr std::string_view kSmaller = "smaller-net";
    if (piece == "iso-time") {
      controls.iso_time = true;
    } else if (piece.starts_with(kSmaller) && piece.size() > kSmaller.size() + 1 &&
               piece[kSmaller.size()] == '=') {
      controls.smaller_net = piece.substr(kSmaller.size() + 1);
    } else {
      throw usage_error("--controls: \"{}\": known: iso-time, smaller-net=NETWORK",
                        printable(piece));
    }
  }
  if (!controls.iso_time && controls.smaller_net.empty()) {
    throw usage_error("--controls: an empty value; known: iso-time, smaller-net=NETWORK");
  }
  return controls;
}

std::vector<std::string> add_controls(
    Experiment& experiment, const Controls& controls, const std::map<LabelKey, double>& speedups,
    const Catalogue& catalogue, const std::function<std::string(const std::string&)>& checksum) {
  std::vector<std::string> left_out;
  std::set<std::string> said, keys;
  std::vector<PlannedRun> added;
  for (const auto& run : experiment.runs()) keys.insert(run.key);
  const auto add = [&](PlannedRun run) {
    run.key = run_key(run.config, checksum(run.config.dataset), catalogue);
    if (keys.insert(run.key).second) added.push_back(std::move(run));
  };
  const auto say = [&](const std::string& what) {
    if (said.insert(what).second) left_out.push_back(what);
  };
  for (const auto& run : experiment.runs()) {
    const bool timing = run.config.purpose == Purpose::kTiming;
    if (!run.excluded.empty() || (timing && !is_dense(run.config.method))) continue;
    PlannedRun control = run;
    control.config.method = kDense;
    control.config.schedule.clear();
    control.schedule_label.clear();
    if (is_dense(run.config.method)) {
      if (controls.smaller_net.empty()) continue;
      control.config.network = catalogue.network_params(controls.smaller_net).full_text();
      if (control.config.network == run.config.network) continue;
      control.network_label = controls.smaller_net;
      control.method_label = "a smaller network, exactly";
      if (timing) control.config.timed_against = run.config.network;
      add(std::move(control));
      continue;
    }
    if (!controls.iso_time) continue;
    const std::string what =
        run.method_label + (run.schedule_label.empty() ? "" : ", " + run.schedule_label);
    const auto speedup = speedups.find(run.labels());
    if (speedup == speedups.end()) {
      say(fmt::format("{} on {}: no timing run in the store yet; sweep with --purpose timing first",
                      what, run.network_label));
      continue;
    }
    const int64_t epochs = iso_time_epochs(run.config.recipe.epochs, speedup->second);
    if (speedup->second <= 1 || epochs >= run.config.recipe.epochs) {
      say(fmt::format("{} on {}: {:.2f}x of {} epochs saves less than half an epoch", what,
                      run.network_label, speedup->second, run.config.recipe.epochs));
      continue;
    }
    control.config.recipe = shortened(run.config.recipe, epochs);
    control.method_label = std::string(kIsoTimePrefix) + what;
    add(std::move(control));
  }
  if (auto* trainings = std::get_if<Trainings>(&experiment.work)) {
    trainings->runs.insert(trainings->runs.end(), std::make_move_iterator(added.begin()),
                           std::make_move_iterator(added.end()));
  }
  return left_out;
}

}  // namespace approx
