// Curves, layers, time to target, fronts and profiles: the reports that go beyond the main table.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "results/reports/contents.h"
#include "results/reports/report.h"
#include "results/reports/rows.h"
#include "results/stats/pareto.h"
#include "results/stats/profile.h"
#include "results/stats/time_to_target.h"

namespace approx {
namespace {

using Group = std::tuple<std::string, std::string, std::string>;  // network, data set, setting

Group group_of(const Row& row) {
  return {row.first->network, row.first->dataset, row.first->setting};
}

// The first columns of every table here.
std::vector<std::string> row_columns(std::vector<std::string> more) {
  std::vector<std::string> columns = {"network", "dataset", "setting", "schedule", "method"};
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

std::vector<Field> row_fields(const RowSet& set, const Row& row) {
  const Cell& cell = *row.first;
  return {cell.network_label, cell.dataset, set.setting(row), cell.schedule_label,
          cell.method_label};
}

void append(std::vector<Field>& fields, std::vector<Field> more) {
  fields.insert(fields.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

// --- time to target ---

struct TargetChoice {
  double share = 0;
  std::string origin;
};

// The share that the runs of a group are to reach.
std::optional<TargetChoice> choose_target(const RowSet& set, const Row& row,
                                          const ReportOptions& options) {
  if (options.target) return TargetChoice{*options.target, "given"};
  if (row.target) return TargetChoice{*row.target, "the experiment's"};
  if (row.dense == nullptr) return std::nullopt;
  std::vector<double> best;
  for (const auto& [cell, run] : accuracy_runs(*row.dense, /*diverged=*/false)) {
    double highest = 0;
    for (const auto& evaluation : set.judged(*cell, *run)) {
      highest = std::max(highest, evaluation.value);
    }
    best.push_back(highest);
  }
  if (best.empty()) return std::nullopt;
  const double share = quantile(best, 0.5) - options.margin / 100;
  return TargetChoice{share,
                      fmt::format("median best of {} dense {} less {} points", best.size(),
                                  best.size() == 1 ? "run" : "runs", shortest(options.margin))};
}

// What the runs of a row took to reach a target.
struct Efforts {
  std::vector<Attempt> seconds;
  std::map<const Cell*, TargetEffort> reached;
  std::vector<double> joules;  // of the runs that reached it, where they were counted
  // For how long every run that finished was trained, s; none where none did.
  std::optional<double> watched;
  // Positions of runs that diverged: they would never have arrived, so they count for the whole
  // budget and not only for as long as they lasted.
  std::vector<size_t> diverged;
};

Efforts efforts_of(const RowSet& set, const Row& row, double share) {
  Efforts efforts;
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/true)) {
    const auto& evaluations = set.judged(*cell, *run);
    if (evaluations.empty()) continue;
    const auto found =
        std::find_if(evaluations.begin(), evaluations.end(),
                     [share](const CurvePoint& each) { return each.value >= share; });
    const bool reached = found != evaluations.end();
    if (run->finished()) {
      const double whole = static_cast<double>(evaluations.back().train_ns) / kNsPerSecond;
      efforts.watched = std::min(efforts.watched.value_or(whole), whole);
    }
    const auto& at = reached ? *found : evaluations.back();
    const double seconds = static_cast<double>(at.train_ns) / kNsPerSecond;
    const auto steps = static_cast<double>(at.step);
    if (!reached && !run->finished()) efforts.diverged.push_back(efforts.seconds.size());
    efforts.seconds.push_back({seconds, reached});
    if (reached) {
      const auto counted = set.contents().joules.find(run->run_id);
      if (counted != set.contents().joules.end() && counted->second.contains(at.step)) {
        efforts.joules.push_back(counted->second.at(at.step));
      }
    }
    if (reached && seconds > 0 && steps > 0) efforts.reached[cell] = {steps, seconds};
  }
  return efforts;
}

struct TargetRow {
  const Row* row = nullptr;
  TargetChoice target;
  Efforts efforts;
  TargetTime time;
  double budget = 0;  // s, the same in all rows of a group
  Ratio steps, step_time, speedup;
  std::string step_time_source;
};

std::vector<TargetRow> target_rows(const RowSet& set, const ReportOptions& options) {
  std::vector<TargetRow> rows;
  // How far every row of a group was watched: of its runs that finished, since one that diverged
  // was not cut short. A group in which none did is watched as far as its longest run.
  std::map<Group, double> budgets, longest;
  for (const auto& row : set.rows()) {
    const auto target = choose_target(set, row, options);
    if (!target) continue;
    TargetRow next{.row = &row, .target = *target, .efforts = efforts_of(set, row, target->share)};
    if (next.efforts.seconds.empty()) continue;
    const Group group = group_of(row);
    for (const auto& attempt : next.efforts.seconds) {
      longest[group] = std::max(longest[group], attempt.time);
    }
    if (next.efforts.watched) {
      const auto [at, added] = budgets.emplace(group, *next.efforts.watched);
      if (!added) at->second = std::min(at->second, *next.efforts.watched);
    }
    rows.push_back(std::move(next));
  }
  rows.erase(
      std::remove_if(rows.begin(), rows.end(),
                     [&](const TargetRow& next) { return longest.at(group_of(*next.row)) <= 0; }),
      rows.end());
  for (auto& next : rows) {
    const Group group = group_of(*next.row);
    next.budget = budgets.contains(group) ? budgets.at(group) : longest.at(group);
    for (const size_t at : next.efforts.diverged) {
      next.efforts.seconds[at].time = std::max(next.efforts.seconds[at].time, next.budget);
    }
    next.time = time_to_target(next.efforts.seconds, next.budget);
    const Row* dense = next.row->dense;
    if (dense == nullptr || dense == next.row) continue;
    std::vector<TargetEffort> theirs, ours;
    const auto reference = efforts_of(set, *dense, next.target.share);
    for (const auto& [cell, effort] : next.efforts.reached) {
      const auto found = reference.reached.find(partner(dense, *cell));
      if (found == reference.reached.end()) continue;
      theirs.push_back(found->second);
      ours.push_back(effort);
    }
    const TargetSpeedup parts = target_speedup(theirs, ours);
    next.steps = parts.steps;
    if (next.row->speedup.n > 0) {
      next.step_time = next.row->speedup;
      next.step_time_source = "timing runs";
      if (next.steps.n > 0) next.speedup = product_of_ratios(next.steps, next.step_time);
    } else if (parts.time.n > 0) {
      next.step_time = parts.step_time;
      next.step_time_source = "the accuracy runs, not isolated";
      next.speedup = parts.time;
    }
  }
  return rows;
}

constexpr const char* kNotIsolated =
    "seconds are those of the accuracy runs, which may have shared the machine; only the "
    "step-time ratios of timing runs are isolated";

std::string seconds_text(const std::optional<double>& value) {
  return value ? fixed(*value, 1) + " s" : "–";
}

}  // namespace

Table report_curves(const std::string& db, const ReportOptions& options) {
  const RowSet set(db, options);
  Table table;
  table.name = "curves";
  table.title = options.experiment;
  table.columns =
      row_columns({"metric", "split", "epoch", "step", "n", "mean", "lo", "hi", "min", "max"});
  const std::pair<const char*, const Curves*> metrics[] = {{"accuracy", &set.contents().accuracy},
                                                           {"loss", &set.contents().loss}};
  struct Values {
    double epoch = 0;
    std::vector<double> list;
  };
  for (const auto& row : set.rows()) {
    std::map<std::tuple<std::string, std::string, int64_t>, Values> values;
    for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/true)) {
      for (const auto& [metric, curves] : metrics) {
        const auto first = curves->lower_bound({run->run_id, ""});
        for (auto curve = first; curve != curves->end() && curve->first.first == run->run_id;
             ++curve) {
          for (const auto& point : curve->second) {
            auto& [epoch, list] = values[{metric, curve->first.second, point.step}];
            epoch = point.epoch;
            list.push_back(point.value);
          }
        }
      }
    }
    for (const auto& [key, value] : values) {
      const auto& [metric, split, step] = key;
      const auto& [epoch, list] = value;
      const Summary summary = summarize(list);
      const auto [least, most] = std::minmax_element(list.begin(), list.end());
      auto fields = row_fields(set, row);
      append(fields, {metric, split, epoch, step, summary.n, summary.mean,
                      summary.half ? Field(summary.mean - *summary.half) : Field(),
                      summary.half ? Field(summary.mean + *summary.half) : Field(), *least, *most});
      table.rows.push_back(std::move(fields));
    }
  }
  return table;
}

namespace {

// Positions of layers in a network, from 1: as the catalogue has them, further ones by name.
std::map<std::string, int64_t> layer_positions(const std::set<std::string>& layers,
                                               const std::string& network,
                                               const Catalogue* catalogue) {
  std::map<std::string, int64_t> positions;
  if (catalogue != nullptr) {
    const std::string name = parse_spec(network).name;
    for (const auto& info : catalogue->networks) {
      if (info.name != name) continue;
      for (const auto& layer : info.layers) {
        positions.emplace(layer.name, static_cast<int64_t>(positions.size()) + 1);
      }
    }
  }
  for (const auto& layer : layers) {
    positions.emplace(layer, static_cast<int64_t>(positions.size()) + 1);
  }
  return positions;
}

}  // namespace

Table report_layers(const std::string& db, const ReportOptions& options) {
  const RowSet set(db, options);
  Table table;
  table.name = "layers";
  table.title = options.experiment;
  table.columns = row_columns({"layer_index", "layer", "product", "calls", "exact_calls",
                               "macs_dense", "macs_done", "density", "n"});
  struct Sums {
    double calls = 0, exact = 0, dense = 0, done = 0, density = 0;
    int64_t with_density = 0;
    std::set<int64_t> runs;
  };
  for (const auto& row : set.rows()) {
    std::map<std::pair<std::string, std::string>, Sums> sums;
    for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/true)) {
      const auto found = set.contents().layers.find(run->run_id);
      if (found == set.contents().layers.end()) continue;
      for (const auto& count : found->second) {
        Sums& sum = sums[{count.layer, count.product}];
        sum.runs.insert(run->run_id);
        sum.calls += static_cast<double>(count.calls);
        sum.exact += static_cast<double>(count.exact_calls);
        sum.dense += static_cast<double>(count.macs_dense);
        sum.done += static_cast<double>(count.macs_done);
        if (count.density) sum.density += *count.density, ++sum.with_density;
      }
    }
    std::set<std::string> layers;
    for (const auto& [key, sum] : sums) layers.insert(key.first);
    const auto positions = layer_positions(layers, row.first->network, options.catalogue);
    std::map<std::pair<int64_t, std::string>, std::pair<std::string, const Sums*>> ordered;
    for (const auto& [key, sum] : sums) {
      ordered[{positions.at(key.first), key.second}] = {key.first, &sum};
    }
    for (const auto& [place, named] : ordered) {
      const auto& [layer, found] = named;
      const Sums& sum = *found;
      const auto n = static_cast<double>(sum.runs.size());
      auto fields = row_fields(set, row);
      append(fields,
             {place.first, layer, place.second, sum.calls / n, sum.exact / n, sum.dense / n,
              sum.done / n,
              sum.with_density > 0 ? Field(sum.density / static_cast<double>(sum.with_density))
                                   : Field(),
              static_cast<int64_t>(sum.runs.size())});
      table.rows.push_back(std::move(fields));
    }
  }
  return table;
}

Table report_tta(const std::string& db, const ReportOptions& options) {
  const RowSet set(db, options);
  Table table;
  table.name = "tta";
  table.title = options.experiment;
  table.columns = row_columns({"target_pct",
                               "target_origin",
                               "runs",
                               "reached",
                               "fraction",
                               "fraction_lo",
                               "fraction_hi",
                               "median_s",
                               "restricted_mean_s",
                               "restricted_mean_se",
                               "budget_s",
                               "restart_s",
                               "steps_ratio",
                               "steps_ratio_lo",
                               "steps_ratio_hi",
                               "step_time_ratio",
                               "step_time_ratio_lo",
                               "step_time_ratio_hi",
                               "step_time_source",
                               "speedup",
                               "speedup_lo",
                               "speedup_hi",
                               "joules_to_target",
                               "joules_runs",
                               "notes"});
  table.text_columns = {
      "network",           "data set", "schedule",        "method",        "target",
      "reached",           "median",   "restricted mean", "with restarts", "steps ratio",
      "× step-time ratio", "= speedup"};
  if (set.settings_differ()) table.text_columns.insert(table.text_columns.begin() + 2, "setting");
  bool composed = false, shared = false;
  std::set<std::string> origins;
  const auto rows = target_rows(set, options);
  const bool has_joules = std::any_of(
      rows.begin(), rows.end(), [](const TargetRow& row) { return !row.efforts.joules.empty(); });
  if (has_joules) table.text_columns.emplace_back("energy to target");
  std::vector<const Row*> shown;
  for (const auto& next : rows) shown.push_back(next.row);
  // Behind a and b; neither throughput nor differences of accuracies stand here.
  const NoteLetters letters(shown, 'c', {kShared, kUnpaired});
  for (const auto& next : rows) {
    const auto& time = next.time;
    auto fields = row_fields(set, *next.row);
    append(fields,
           {std::round(next.target.share * 1e12) / 1e10,  // not 48.370000000000005
            next.target.origin,
            time.n,
            time.reached,
            field(time.fraction),
            time.fraction_interval.lo,
            time.fraction_interval.hi,
            field(time.median),
            field(time.restricted_mean),
            field(time.restricted_error),
            next.budget,
            field(time.expected_with_restarts),
            ratio_field(next.steps),
            field(next.steps.lo),
            field(next.steps.hi),
            ratio_field(next.step_time),
            field(next.step_time.lo),
            field(next.step_time.hi),
            next.step_time_source,
            ratio_field(next.speedup),
            field(next.speedup.lo),
            field(next.speedup.hi),
            next.efforts.joules.empty() ? Field() : Field(summarize(next.efforts.joules).mean),
            static_cast<int64_t>(next.efforts.joules.size()),
            letters.names(*next.row)});
    table.rows.push_back(std::move(fields));
    const Cell& cell = *next.row->first;
    std::vector<std::string> texts = {cell.network_label, cell.dataset};
    if (set.settings_differ()) texts.push_back(set.setting(*next.row));
    std::string step_time = ratio_text(next.step_time);
    if (next.step_time_source.starts_with("the accuracy")) {
      step_time += " [b]";
      shared = true;
    } else if (!next.step_time_source.empty()) {
      composed = true;
      if (next.speedup.n > 0) step_time += " [a]";
    }
    origins.insert(fmt::format("{} %: {}", fixed(100 * next.target.share, 2), next.target.origin));
    for (const auto& text : {cell.schedule_label, cell.method_label + letters.marks(*next.row),
                             fixed(100 * next.target.share, 2) + " %",
                             fmt::format("{}/{} ({}–{} %)", time.reached, time.n,
                                         fixed(100 * time.fraction_interval.lo, 0),
                                         fixed(100 * time.fraction_interval.hi, 0)),
                             seconds_text(time.median),
                             time.restricted_mean ? seconds_text(time.restricted_mean) + " to " +
                                                        fixed(next.budget, 0) + " s"
                                                  : "–",
                             seconds_text(time.expected_with_restarts), ratio_text(next.steps),
                             step_time, ratio_text(next.speedup)}) {
      texts.push_back(text);
    }
    if (has_joules) {
      const auto joules = summarize(next.efforts.joules);
      texts.push_back(
          joules.n > 0 ? fmt::format("{} kJ (n={})", fixed(joules.mean / 1000, 2), joules.n) : "–");
    }
    table.text_rows.push_back(std::move(texts));
  }
  if (has_joules) {
    table.notes.emplace_back(
        "energy: of whole processors and GPUs while training, over the runs that reached the "
        "target");
  }
  for (const auto& origin : origins) table.notes.push_back("target " + origin);
  if (composed) {
    table.notes.emplace_back(
        "a: the speedup is composed: steps from accuracy runs, step times from timing runs");
  }
  if (shared) {
    table.notes.emplace_back(
        "b: step times of the accuracy runs, which may have shared the machine");
  }
  for (const auto& line : letters.lines()) table.notes.push_back(line);
  if (!table.rows.empty()) {
    table.notes.emplace_back(
        "reached: with Wilson's 95 % interval; median: Kaplan and Meier's; restricted mean: of "
        "min(time, the time that all rows were watched for); with restarts: all time over "
        "successes");
    table.notes.emplace_back(kNotIsolated);
  }
  return table;
}

Table report_pareto(const std::string& db, const ReportOptions& options) {
  const RowSet set(db, options);
  Table table;
  table.name = "pareto";
  table.title = options.experiment;
  table.columns = row_columns(
      {"speedup", "speedup_lo", "speedup_hi", "loss_pp", "loss_pp_lo", "loss_pp_hi", "n", "front"});
  table.text_columns = {"network", "data set", "schedule", "method",
                        "speedup", "loss, pp", "n",        "on the front"};
  if (set.settings_differ()) table.text_columns.insert(table.text_columns.begin() + 2, "setting");
  std::map<Group, std::vector<const Row*>> groups;
  std::vector<Group> order;
  for (const auto& row : set.rows()) {
    const bool dense = row.dense == &row;
    if (!dense && (row.speedup.n == 0 || row.loss.n == 0)) continue;
    if (dense && row.accuracy.n == 0) continue;
    auto& group = groups[group_of(row)];
    if (group.empty()) order.push_back(group_of(row));
    group.push_back(&row);
  }
  for (const auto& key : order) {
    const auto& rows = groups.at(key);
    // An exact training alone, such as that of a smaller network, is no front.
    if (rows.size() == 1 && order.size() > 1 && rows[0]->dense == rows[0]) continue;
    std::vector<ParetoPoint> points;
    for (const auto* row : rows) {
      ParetoPoint point{.speedup = {1, 1, 1}, .loss = {0, 0, 0}};
      if (row->dense != row) {
        point.speedup = {row->speedup.ratio, row->speedup.lo, row->speedup.hi};
        point.loss = {row->loss.mean, std::nullopt, std::nullopt};
        if (row->loss.half) {
          point.loss.lo = row->loss.mean - *row->loss.half;
          point.loss.hi = row->loss.mean + *row->loss.half;
        }
      }
      points.push_back(point);
    }
    const auto places = pareto_places(points);
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::string front = places[i].on_front             ? "yes"
                                : places[i].perhaps_on_front() ? "perhaps"
                                                               : "no";
      const Cell& cell = *rows[i]->first;
      const bool dense = rows[i]->dense == rows[i];
      const int64_t n = dense ? rows[i]->accuracy.n : rows[i]->loss.n;
      auto& texts =
          table.text_rows.emplace_back(std::vector<std::string>{cell.network_label, cell.dataset});
      if (set.settings_differ()) texts.push_back(set.setting(*rows[i]));
      for (const auto& text :
           {cell.schedule_label, cell.method_label, dense ? "1" : ratio_text(rows[i]->speedup),
            dense ? "0" : with_interval(rows[i]->loss, 2), std::to_string(n), front}) {
        texts.push_back(text);
      }
      auto fields = row_fields(set, *rows[i]);
      append(fields,
             {points[i].speedup.mid, field(points[i].speedup.lo), field(points[i].speedup.hi),
              points[i].loss.mid, field(points[i].loss.lo), field(points[i].loss.hi), n, front});
      table.rows.push_back(std::move(fields));
    }
  }
  table.notes.emplace_back(
      "dense stands at speedup 1 and loss 0; front: by the means, perhaps "
      "where the intervals leave it open");
  return table;
}

Table report_profile(const std::string& db, const ReportOptions& options) {
  const RowSet set(db, options);
  Table table;
  table.name = "profile";
  table.title = options.experiment;
  table.columns = {"method", "tau",       "share",          "lo",       "hi",
                   "score",  "workloads", "geometric_mean", "unreached"};
  auto rows = target_rows(set, options);
  // A workload is a group; a method is a (method, schedule) that ran in all of them. A group that
  // was only trained exactly, a control, is none.
  std::set<Group> approximated;
  for (const auto& next : rows) {
    if (!is_dense(*next.row->first)) approximated.insert(group_of(*next.row));
  }
  if (!approximated.empty()) {
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [&](const TargetRow& next) {
                                return !approximated.contains(group_of(*next.row));
                              }),
               rows.end());
  }
  std::vector<Group> workloads;
  std::map<std::string, std::map<Group, const TargetRow*>> methods;
  std::vector<std::string> order;
  for (const auto& next : rows) {
    const Group group = group_of(*next.row);
    if (std::find(workloads.begin(), workloads.end(), group) == workloads.end()) {
      workloads.push_back(group);
    }
    const std::string label = method_text(*next.row->first);
    if (!methods.contains(label)) order.push_back(label);
    methods[label][group] = &next;
  }
  WorkloadTimes times;
  std::vector<std::string> labels;
  std::vector<double> budgets;
  for (const auto& workload : workloads) {
    double budget = 0;
    std::set<int64_t> hosts;
    for (const auto& next : rows) {
      if (group_of(*next.row) != workload) continue;
      budget = std::max({budget, next.budget, next.time.longest});
      for (const auto& each : accuracy_runs(*next.row, /*diverged=*/true)) {
        hosts.insert(each.run->host_id);
      }
    }
    budgets.push_back(budget);
    if (hosts.size() > 1) {
      table.notes.push_back(fmt::format("{} on {}: times of {} machines are compared",
                                        std::get<0>(workload), std::get<1>(workload),
                                        hosts.size()));
    }
  }
  for (const auto& label : order) {
    const auto& cells = methods.at(label);
    if (cells.size() != workloads.size()) {
      table.notes.push_back(fmt::format("left out: {} ran on {} of {} workloads", label,
                                        cells.size(), workloads.size()));
      continue;
    }
    auto& line = times.emplace_back();
    labels.push_back(label);
    for (const auto& workload : workloads) {
      const auto& time = cells.at(workload)->time;
      // Half of its runs must reach the target for a method to have reached it.
      line.push_back(time.median && *time.median > 0 ? *time.median
                                                     : std::numeric_limits<double>::infinity());
    }
  }
  if (times.empty()) return table;
  const auto profiles = performance_profiles(times);
  const auto means = geometric_means(times, budgets);
  for (size_t i = 0; i < labels.size(); ++i) {
    for (const auto& step : profiles[i].steps) {
      table.rows.push_back(
          {labels[i], step.tau, step.rho, step.band ? Field(step.band->lo) : Field(),
           step.band ? Field(step.band->hi) : Field(), profiles[i].score,
           static_cast<int64_t>(workloads.size()), field(means[i].ratio), means[i].unreached});
    }
  }
  table.notes.push_back(fmt::format(
      "{} workloads; by the median time to target, infinite where fewer than half of the runs "
      "reached it; bands: resampled workloads; score: mean of the profile over tau from 1 to 4",
      workloads.size()));
  for (size_t i = 0; i < labels.size(); ++i) {
    if (means[i].ratio && means[i].unreached > 0) {
      table.notes.push_back(
          fmt::format("{}: geometric mean ≥ {:.2f}, with {} of {} workloads unreached", labels[i],
                      *means[i].ratio, means[i].unreached, means[i].workloads));
    }
  }
  table.notes.emplace_back(kNotIsolated);
  return table;
}

}  // namespace approx
