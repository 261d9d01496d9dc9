#include "core/experiment/run_choice.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/params.h"
#include "base/text.h"

namespace approx {
namespace {

constexpr size_t kMaxPattern = 1000;

// Not std::regex, which goes down a call for each character and leaves the stack on long labels.
class Pattern {
 public:
  Pattern(const char* flag, std::string text) : flag_(flag), text_(std::move(text)) {
    if (text_.empty()) throw usage_error("{}: an empty pattern", flag_);
    if (text_.size() > kMaxPattern) {
      throw usage_error("{}: a pattern of more than {} characters", flag_, kMaxPattern);
    }
    const int failure = regcomp(&compiled_, text_.c_str(), REG_EXTENDED | REG_NOSUB);
    if (failure == 0) return;
    std::array<char, 200> why{};
    regerror(failure, &compiled_, why.data(), why.size());
    throw usage_error("{}: {} is not a regular expression (as of grep -E): {}", flag_, quote(text_),
                      why.data());
  }
  ~Pattern() { regfree(&compiled_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  const char* flag() const { return flag_; }
  const std::string& text() const { return text_; }
  bool matches(const std::string& name) const {
    return regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  const char* flag_;
  std::string text_;
  regex_t compiled_{};
};

using Patterns = std::vector<std::unique_ptr<Pattern>>;

Patterns compile(const char* flag, const std::vector<std::string>& texts) {
  Patterns patterns;
  for (const auto& text : texts) patterns.push_back(std::make_unique<Pattern>(flag, text));
  return patterns;
}

bool any_matches(const Patterns& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& pattern) { return pattern->matches(name); });
}

// The parts of a run's name that every run has.
std::vector<SettingText> axes_of(const PlannedRun& run) {
  std::vector<SettingText> axes = {{"method", run.method_label}};
  if (!run.schedule_label.empty()) axes.emplace_back("schedule", run.schedule_label);
  axes.insert(axes.end(), {{"network", run.network_label},
                           {"dataset", run.config.dataset},
                           {"purpose", std::string(name(run.config.purpose))},
                           {"seed", fmt::format("{}", run.config.seed)}});
  return axes;
}

// What a run's name says by a label.
bool is_axis(const std::string& setting) {
  return setting == "method" || setting == "schedule" || setting == "network" ||
         setting == "dataset";
}

// A word that was meant: a label, or a setting with its value.
std::string meant(const std::string& word, const std::vector<PlannedRun>& runs) {
  std::set<std::string> words;
  for (const auto& run : runs) {
    for (const auto& [key, value] : axes_of(run)) {
      words.insert(value);
      words.insert(key + "=" + value);
    }
  }
  return did_you_mean(word, {words.begin(), words.end()});
}

}  // namespace

std::vector<std::string> settings_apart(const std::vector<PlannedRun>& runs) {
  // A timing has settings that no accuracy run has: they tell apart runs of one purpose.
  using Key = std::pair<Purpose, std::string>;
  std::vector<std::vector<SettingText>> settings;
  std::map<Key, std::set<std::string>> values;
  std::map<Key, size_t> seen;
  std::map<Purpose, size_t> of_purpose;
  for (const auto& run : runs) {
    const Purpose purpose = run.config.purpose;
    ++of_purpose[purpose];
    auto& own = settings.emplace_back(settings_in_effect(run.config));
    own.emplace_back("threads", fmt::format("{}", run.config.threads));
    std::erase_if(own, [](const SettingText& setting) { return is_axis(setting.first); });
    for (const auto& [key, value] : own) {
      values[{purpose, key}].insert(value);
      ++seen[{purpose, key}];
    }
  }
  std::vector<std::string> texts;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Purpose purpose = runs[i].config.purpose;
    std::vector<std::string> parts;
    for (const auto& [name, value] : settings[i]) {
      const Key key{purpose, name};
      if (values[key].size() > 1 || seen[key] != of_purpose[purpose]) {
        parts.push_back(name + "=" + value);
      }
    }
    texts.push_back(fmt::format("{}", fmt::join(parts, " ")));
  }
  return texts;
}

std::vector<std::string> run_names(const std::vector<PlannedRun>& runs) {
  const auto apart = settings_apart(runs);
  std::vector<std::string> names;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : axes_of(runs[i])) parts.push_back(key + "=" + value);
    if (!apart[i].empty()) parts.push_back(apart[i]);
    names.push_back(fmt::format("{}", fmt::join(parts, " ")));
  }
  return names;
}

void choose_runs(Experiment& experiment, const RunPatterns& patterns) {
  if (patterns.only.empty() && patterns.skip.empty()) return;
  auto* trainings = std::get_if<Trainings>(&experiment.work);
  if (trainings == nullptr) {
    throw usage_error("--only, --skip: {} is not a grid of runs to choose from", experiment.id);
  }
  auto& runs = trainings->runs;
  const Patterns only = compile("--only", patterns.only), skip = compile("--skip", patterns.skip);
  const auto names = run_names(runs);
  for (const auto* list : {&only, &skip}) {
    for (const auto& pattern : *list) {
      if (std::any_of(names.begin(), names.end(),
                      [&](const auto& name) { return pattern->matches(name); })) {
        continue;
      }
      throw usage_error("{}: {} matches none of {} runs{}; the first is \"{}\"", pattern->flag(),
                        quote(pattern->text()), runs.size(), meant(pattern->text(), runs),
                        names.empty() ? "" : names.front());
    }
  }
  std::vector<PlannedRun> chosen;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!only.empty() && !any_matches(only, names[i])) continue;
    if (!any_matches(skip, names[i])) chosen.push_back(std::move(runs[i]));
  }
  if (chosen.empty()) {
    throw usage_error("--only, --skip: none of {} runs is left", runs.size());
  }
  runs = std::move(chosen);
}

}  // namespace approx
