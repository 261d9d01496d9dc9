#include "core/experiment/departures.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/params.h"
#include "core/experiment/tuning.h"

namespace approx {
namespace {

// Settings with all the values that the runs of a cell have of them, in the order of first
// appearance.
class Values {
 public:
  void add(const std::string& setting, const std::string& value) {
    auto at = std::find_if(values_.begin(), values_.end(),
                           [&](const auto& known) { return known.first == setting; });
    if (at == values_.end()) at = values_.insert(at, {setting, {}});
    if (std::find(at->second.begin(), at->second.end(), value) == at->second.end()) {
      at->second.push_back(value);
    }
  }

  // "32, 64"; "" without any.
  std::string text(const std::string& setting) const {
    for (const auto& [known, values] : values_) {
      if (known == setting) return fmt::format("{}", fmt::join(values, ", "));
    }
    return "";
  }

  std::vector<std::string> settings() const {
    std::vector<std::string> names;
    for (const auto& [setting, values] : values_) names.push_back(setting);
    return names;
  }

  std::vector<Departure> from(const Values& full) const {
    std::vector<Departure> found;
    for (const auto& [setting, values] : values_) {
      Departure departure{setting, text(setting), full.text(setting)};
      const bool is_off = departure.full.empty() && departure.shown == "false";
      if (departure.shown != departure.full && !is_off) found.push_back(std::move(departure));
    }
    return found;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> values_;
};

// "0-5,7" of rising numbers.
std::string range_text(const std::set<int64_t>& numbers) {
  std::string text;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first;
    for (auto next = std::next(last); next != numbers.end() && *next == *last + 1; ++next) {
      last = next;
    }
    if (!text.empty()) text += ",";
    text += first == last ? fmt::format("{}", *first) : fmt::format("{}-{}", *first, *last);
    first = std::next(last);
  }
  return text;
}

void add_settings(const RunConfig& config, Values& values) {
  for (const auto& [setting, value] : settings_in_effect(config)) values.add(setting, value);
}

std::string tuned_text(const Tuning& tuning) {
  std::vector<std::string> rates;
  for (const double rate : tuning.learning_rates) rates.push_back(shortest(rate));
  return fmt::format("tuned for each row on held-out images (of {})", fmt::join(rates, ", "));
}

// The runs of one row and purpose that can be run, if not before they are tuned.
using Cells = std::map<std::pair<LabelKey, Purpose>, std::vector<const PlannedRun*>>;

Cells cells_of(const Experiment& experiment) {
  Cells cells;
  for (const auto& run : experiment.runs()) {
    const bool runs = run.excluded.empty() || run.excluded == kNotTuned;
    if (runs) cells[{run.labels(), run.config.purpose}].push_back(&run);
  }
  return cells;
}

Values values_of(const Experiment& experiment, const std::vector<const PlannedRun*>& runs) {
  Values values;
  std::set<int64_t> seeds;
  const bool timing = runs.front()->config.purpose == Purpose::kTiming;
  for (const auto* run : runs) {
    for (const auto& [setting, value] : settings_in_effect(run->config)) {
      const bool tuned = setting == "learning_rate" && experiment.tuning && run->tuned;
      values.add(setting, tuned ? tuned_text(*experiment.tuning) : value);
    }
    seeds.insert(run->config.seed);
    if (!timing) continue;
    values.add("threads", run->threads_of_machine ? "those of the machine"
                                                  : fmt::format("{}", run->config.threads));
  }
  values.add(timing ? "timing_seeds" : "seeds", range_text(seeds));
  if (!timing && experiment.target) {
    values.add("target", fmt::format("{:.6g} %", 100 * experiment.target->value));
  }
  return values;
}

using Labels = std::set<LabelKey>;

// The labels of one sort all of whose rows in `all` are among `some`, at least one of them in
// `rest`, which loses those rows.
std::string taken_by(std::string LabelKey::*label, const Labels& some, const Labels& all,
                     Labels& rest) {
  std::set<std::string> names;
  for (const auto& key : rest) names.insert(key.*label);
  for (const auto& key : all) {
    if (!some.contains(key)) names.erase(key.*label);
  }
  names.erase("");
  std::erase_if(rest, [&](const auto& key) { return names.contains(key.*label); });
  return fmt::format("{}", fmt::join(names, " and "));  // labels may have commas
}

// What `some` of `all` rows are called, by as few names as are whole; "" for all of them.
std::string where(const Labels& some, const Labels& all) {
  if (some.size() == all.size()) return "";
  static constexpr std::array kSorts = {&LabelKey::network, &LabelKey::method, &LabelKey::schedule};
  for (const auto label : kSorts) {
    Labels rest = some;
    auto names = taken_by(label, some, all, rest);
    if (rest.empty()) return names;
  }
  std::vector<std::string> parts;
  Labels rest = some;
  for (const auto label : kSorts) {
    auto names = taken_by(label, some, all, rest);
    if (!names.empty()) parts.push_back(std::move(names));
  }
  for (const auto& key : rest) {
    parts.push_back(fmt::format("{}{}{} on {}", key.method, key.schedule.empty() ? "" : ", ",
                                key.schedule, key.network));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

Labels labels_of(const Cells& cells) {
  Labels labels;
  for (const auto& [key, runs] : cells) labels.insert(key.first);
  return labels;
}

constexpr const char* kDeparts = "departs from the full setting";

std::vector<std::string> training_lines(const Experiment& full, const Experiment& shown) {
  const Cells full_cells = cells_of(full), shown_cells = cells_of(shown);
  const Labels shown_labels = labels_of(shown_cells);
  // In the order in which the first row has them.
  std::vector<std::pair<Departure, Labels>> found;
  Labels compared, untimed;
  for (const auto& [key, runs] : shown_cells) {
    const auto counterpart = full_cells.find(key);
    if (counterpart == full_cells.end()) continue;
    compared.insert(key.first);
    for (const auto& departure :
         values_of(shown, runs).from(values_of(full, counterpart->second))) {
      auto at = std::find_if(found.begin(), found.end(),
                             [&](const auto& known) { return known.first == departure; });
      if (at == found.end()) at = found.insert(at, {departure, {}});
      at->second.insert(key.first);
    }
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // by rows
  for (const auto& [departure, labels] : found) {
    const auto rows = where(labels, compared);
    auto at = std::find_if(groups.begin(), groups.end(),
                           [&](const auto& group) { return group.first == rows; });
    // What all rows have comes first.
    if (at == groups.end()) at = groups.insert(rows.empty() ? groups.begin() : at, {rows, {}});
    at->second.push_back(text_of(departure));
  }
  std::vector<std::string> lines;
  for (const auto& [rows, texts] : groups) {
    lines.push_back(fmt::format("{}{}{}: {}", kDeparts, rows.empty() ? "" : " for ", rows,
                                fmt::join(texts, "; ")));
  }
  Labels left_out;
  for (const auto& [key, runs] : full_cells) {
    if (!shown_labels.contains(key.first)) {
      left_out.insert(key.first);
    } else if (!shown_cells.contains(key)) {
      untimed.insert(key.first);
    }
  }
  const Labels all = labels_of(full_cells);
  if (!left_out.empty()) {
    const auto rows = where(left_out, all);
    lines.push_back(fmt::format("left out of the full setting: {}",
                                rows.empty() ? "all of its rows; others stand here" : rows));
  }
  if (!untimed.empty()) {
    const auto rows = where(untimed, shown_labels);
    lines.push_back(
        fmt::format("not timed, though the full setting is{}{}", rows.empty() ? "" : ": ", rows));
  }
  return lines;
}

Values values_of(const StudyItem& study) {
  Values values;
  values.add("study", study.name);
  for (const auto& method : study.methods) values.add("method", method);
  for (const auto& [name, value] : study.params) values.add(name, value);
  return values;
}

Values values_of(const KernelItem& kernels) {
  Values values;
  values.add("product", kernels.op);
  values.add("shapes", kernels.shapes.empty() ? "of its own" : kernels.shapes);
  for (const auto& shape : kernels.shape_texts) values.add("shape", shape);
  for (const auto& method : kernels.methods) values.add("method", method);
  values.add("threads", fmt::format("{}", kernels.threads));
  values.add("repetitions", fmt::format("{}", kernels.repetitions));
  return values;
}

template <typename Item>
std::vector<std::string> item_lines(const Item& full, const Item& shown) {
  const Values of_shown = values_of(shown), of_full = values_of(full);
  std::vector<std::string> texts;
  for (const auto& departure : of_shown.from(of_full)) texts.push_back(text_of(departure));
  for (const auto& setting : of_full.settings()) {
    if (!of_shown.text(setting).empty()) continue;
    texts.push_back(text_of({setting, "as by default", of_full.text(setting)}));
  }
  if (texts.empty()) return {};
  return {fmt::format("{}: {}", kDeparts, fmt::join(texts, "; "))};
}

// The parameters of one text of the grammar `name:key=value,...` that another of that name has
// otherwise; the text itself where the names differ or it is no such text.
std::string differing_part(const std::string& text, const std::string& other) {
  try {
    const Spec own = parse_spec(text), theirs = parse_spec(other);
    if (own.name != theirs.name) return text;
    std::vector<std::string> parts;
    for (const auto& argument : own.arguments) {
      const auto& known = theirs.arguments;
      if (std::find(known.begin(), known.end(), argument) == known.end()) {
        parts.push_back(fmt::format("{}={}", argument.first, argument.second));
      }
    }
    return fmt::format("{}:{}", own.name, fmt::join(parts, ","));
  } catch (const Error&) {
    return text;
  }
}

// A value as people say it: 0 stands for more than a number.
std::string value_words(const std::string& setting, const std::string& value) {
  if (value == "0" && setting == "train_examples") return "all";
  if (value == "0" && setting == "image_size") return "as the data are";
  if (value == "0" && setting == "eval_size") return "as in training";
  return value.empty() ? "none" : value;
}

}  // namespace

std::vector<Departure> departures(const RunConfig& full, const RunConfig& shown) {
  Values of_full, of_shown;
  add_settings(full, of_full);
  add_settings(shown, of_shown);
  return of_shown.from(of_full);
}

std::string text_of(const Departure& departure) {
  const auto& [setting, shown, full] = departure;
  if (full.empty()) return fmt::format("{} {}", setting, value_words(setting, shown));
  const bool has_grammar = setting == "network" || setting == "method";
  return fmt::format("{} {}, not {}", setting,
                     has_grammar ? differing_part(shown, full) : value_words(setting, shown),
                     has_grammar ? differing_part(full, shown) : value_words(setting, full));
}

std::vector<std::string> departure_lines(const Experiment& full, const Experiment& shown) {
  if (shown.scale == Scale::kFull) return {};
  std::vector<std::string> lines;
  if (full.as<Trainings>() && shown.as<Trainings>()) {
    lines = training_lines(full, shown);
  } else if (full.as<StudyItem>() && shown.as<StudyItem>()) {
    lines = item_lines(*full.as<StudyItem>(), *shown.as<StudyItem>());
  } else if (full.as<KernelItem>() && shown.as<KernelItem>()) {
    lines = item_lines(*full.as<KernelItem>(), *shown.as<KernelItem>());
  }
  if (lines.empty()) lines.emplace_back("nothing departs from the full setting");
  return lines;
}

}  // namespace approx
