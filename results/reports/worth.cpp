#include "results/reports/worth.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/experiment/files.h"
#include "results/records/items.h"
#include "results/stats/stats.h"
#include "results/store/sql.h"

namespace approx {
namespace {

// What undecided rows lack, the most of any.
Worth lacks_of(const Worths& worths) {
  Worth all;
  for (const auto& [row, worth] : worths) {
    if (worth.answer != Answer::kUndecided) continue;
    all.timings = std::max(all.timings, worth.timings);
    all.seeds = std::max(all.seeds, worth.seeds);
    all.any_seeds |= worth.any_seeds;
    all.same_time |= worth.same_time;
  }
  return all;
}

// "5 more timings, more seeds"; "" where nothing countable is lacking.
std::string lacks_text(const Worth& worth) {
  std::vector<std::string> lacks;
  const auto more = [&](int64_t number, const char* one, const char* several) {
    if (number > 0) lacks.push_back(fmt::format("{} more {}", number, number == 1 ? one : several));
  };
  more(worth.timings, "timing", "timings");
  more(worth.seeds, "seed", "seeds");
  if (worth.any_seeds && worth.seeds == 0) lacks.emplace_back("more seeds");
  if (worth.same_time) lacks.emplace_back("exact training of the same time");
  return fmt::format("{}", fmt::join(lacks, ", "));
}

// The scale that a name in a store ends with ("wang2019:table5:reduced"), which is taken off it.
std::string take_scale(std::string& id) {
  for (const Scale scale : kAllScales) {
    const std::string end = fmt::format(":{}", name(scale));
    if (!id.ends_with(end)) continue;
    id.resize(id.size() - end.size());
    return std::string(name(scale));
  }
  return "";
}

}  // namespace

std::string worth_text(const Worth& worth) {
  switch (worth.answer) {
    case Answer::kYes:
      return drawn(worth.answer);
    case Answer::kNo:
      return drawn(worth.answer, worth.loses  ? "loses too much"
                                 : worth.slow ? "not faster"
                                              : "exact training is as good");
    case Answer::kUndecided:
      break;
  }
  const std::string lacks = lacks_text(worth);
  return lacks.empty() ? drawn(worth.answer) : drawn(worth.answer, "needs " + lacks);
}

std::string worth_sentence(const Worths& worths) {
  if (worths.empty()) return "";
  std::set<std::string> methods;
  int64_t yes = 0, loses = 0, slow = 0, beaten = 0, undecided = 0;
  for (const auto& [row, worth] : worths) {
    methods.insert(row->first->method_label);
    const bool no = worth.answer == Answer::kNo;
    yes += worth.answer == Answer::kYes;
    undecided += worth.answer == Answer::kUndecided;
    loses += no && worth.loses;
    slow += no && !worth.loses && worth.slow;
    beaten += no && !worth.loses && !worth.slow;
  }
  std::string text = fmt::format("{} {}", worths.size(), worths.size() == 1 ? "method" : "methods");
  if (methods.size() < worths.size()) {
    text = fmt::format("{} rows of {} {}", worths.size(), methods.size(),
                       methods.size() == 1 ? "method" : "methods");
  }
  text += yes == 0 ? ": none worth it" : fmt::format(": {} worth it", yes);
  const auto add = [&](int64_t number, const char* one, const char* several) {
    if (number > 0) text += fmt::format(", {} {}", number, number == 1 ? one : several);
  };
  add(loses, "loses too much", "lose too much");
  add(slow, "not faster", "not faster");
  add(beaten, "no better than shorter exact training", "no better than shorter exact training");
  add(undecided, "undecided", "undecided");
  const std::string lacks = lacks_text(lacks_of(worths));
  if (!lacks.empty()) {
    text += fmt::format(" ({} {})", undecided == 1 ? "needs" : "need up to", lacks);
  }
  return text + ".";
}

std::string lacks_text(const Worths& worths) { return lacks_text(lacks_of(worths)); }

std::vector<std::string> sweep_command(const Snapshot& snapshot, const std::string& experiment) {
  std::string id = experiment.starts_with('@') ? experiment.substr(1) : experiment;
  if (id.empty()) {
    const auto& items = snapshot.items().all();
    if (items.size() != 1) return {};
    id = items.begin()->first;
  }
  std::string file = id;
  const std::string scale = take_scale(file);
  std::vector<std::string> command = {"sweep"};
  const auto known = known_experiments();
  if (std::ranges::any_of(known, [&](const auto& each) { return each.first == file; })) {
    command.push_back("@" + file);
  } else {
    SQLite::Statement query(snapshot.db(), "SELECT source FROM experiment WHERE name = ?");
    query.bind(1, id);
    const std::string source = query.executeStep() ? text_at(query, 0) : std::string();
    if (!source.ends_with(".toml")) return {};
    command.push_back(source);
  }
  if (!scale.empty()) command.insert(command.end(), {"--scale", scale});
  return command;
}

std::vector<std::string> report_command(const std::string& report, const ReportOptions& options) {
  std::vector<std::string> command = {"report", report};
  if (!options.experiment.empty()) command.push_back(options.experiment);
  if (options.include_tainted) command.emplace_back("--include-tainted");
  return command;
}

std::vector<std::string> picture_command(const std::string& report, const ReportOptions& options) {
  auto command = report_command(report, options);
  command.insert(command.end(), {"--format", "svg", "--out", report + ".svg"});
  return command;
}

std::vector<std::string> deciding_command(const Worths& worths, const Snapshot& snapshot,
                                          const ReportOptions& options) {
  const Worth lacks = lacks_of(worths);
  std::vector<std::string> flags;
  if (lacks.timings > 0) {
    flags = {"--set", fmt::format("timing_seeds=0-{}", kProcessesForAVerdict - 1)};
  }
  int64_t seeds = lacks.seeds > 0 ? kSeedsForAVerdict : 0;
  if (lacks.any_seeds) {
    for (const auto& [row, worth] : worths) seeds = std::max(seeds, 2 * row->loss.n);
  }
  if (seeds > 0) {
    flags.emplace_back("--seeds");
    flags.push_back(fmt::format("0-{}", seeds - 1));
  }
  if (lacks.same_time) flags.insert(flags.end(), {"--controls", "iso-time"});
  auto command =
      flags.empty() ? std::vector<std::string>() : sweep_command(snapshot, options.experiment);
  if (command.empty()) return {};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

}  // namespace approx
