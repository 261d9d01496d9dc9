#include "results/papers/comparable.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/error.h"
#include "results/records/contents.h"

namespace approx {
namespace {

std::string value_in(const Settings& settings, std::string_view name) {
  const auto value = setting_of(settings, name);
  return name == "train_examples" && value == "0" ? "all" : value;
}

void add(std::string& text, std::string_view what, const std::string& ours,
         const std::string& paper) {
  if (ours == paper) return;
  text += fmt::format("{}{}={}, not {}", text.empty() ? "" : "; ", what, ours, paper);
}

void add_settings(std::string& text, const RunConfig& ours, const RunConfig& paper,
                  std::initializer_list<std::string_view> names) {
  const Settings mine = settings_of(ours), theirs = settings_of(paper);
  for (const auto name : names) add(text, name, value_in(mine, name), value_in(theirs, name));
}

bool names(const std::vector<std::string>& labels, const std::string& label) {
  return labels.empty() || std::count(labels.begin(), labels.end(), label) > 0;
}

}  // namespace

std::string other_method(const RunConfig& ours, const RunConfig& paper) {
  std::string text;
  add(text, "network", ours.network, paper.network);
  add(text, "method", ours.method, paper.method);
  if (schedule_text(ours.schedule) != schedule_text(paper.schedule)) {
    text += fmt::format("{}another schedule", text.empty() ? "" : "; ");
  }
  return text;
}

std::string other_training(const RunConfig& ours, const RunConfig& paper) {
  std::string text = other_method(ours, paper);
  add_settings(text, ours, paper, {"optimizer"});
  // The settings of another rule have no counterpart.
  if (ours.recipe.optimizer == paper.recipe.optimizer) {
    if (ours.recipe.optimizer == UpdateRule::kSgd) {
      add_settings(text, ours, paper, {"momentum", "nesterov"});
    } else {
      add_settings(text, ours, paper, {"beta1", "beta2", "epsilon"});
    }
    add_settings(text, ours, paper, {"weight_decay", "decay_norm", "clip_norm", "ema"});
  }
  add_settings(text, ours, paper, {"batch_size", "epochs", "train_examples"});
  return text;
}

std::string stated_departure(const ItemReport& item, const PlannedRun& full) {
  for (const auto& departure : item.departures) {
    if (names(departure.methods, full.method_label) &&
        names(departure.schedules, full.schedule_label) &&
        names(departure.networks, full.network_label)) {
      return departure.reason;
    }
  }
  return "";
}

}  // namespace approx
