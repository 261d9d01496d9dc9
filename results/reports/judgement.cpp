// The answers: whether a method is worth using, and whether two stores agree.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "base/error.h"
#include "core/experiment/iso_time.h"
#include "results/reports/advice.h"
#include "results/reports/compare.h"
#include "results/reports/contents.h"
#include "results/reports/report.h"
#include "results/reports/rows.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

// --- advice ---

// Where and when the runs of a row were made.
struct Provenance {
  std::string machine, commit, since;  // since: the newest run's start
};

// `machines` gets the ids of hosts: two may have one name.
void add_provenance(const Row& row, Provenance& provenance, std::set<int64_t>& machines) {
  for (const auto* cell : row.cells) {
    const Run* run = cell->run();
    if (run == nullptr || !run->result()) continue;
    machines.insert(run->host_id);
    provenance.machine = run->host;
    if (run->started_utc > provenance.since) {
      provenance.since = run->started_utc;
      provenance.commit = run->git_sha.substr(0, 12);
    }
  }
}

struct Advice {
  std::string worth, reason;  // "yes", "no", "undecided"
};

// None for the recipe of another version of the program.
std::optional<Recipe> recipe_of(const Cell& cell) {
  const Json json = Json::parse(cell.recipe, nullptr, /*allow_exceptions=*/false);
  Recipe recipe;
  try {
    from_json(json, recipe);
  } catch (const Error&) {
    return std::nullopt;
  }
  return recipe;
}

// Whether two cells differ in nothing but method and recipe.
bool same_but_recipe(const Cell& a, const Cell& b) {
  const auto others = [](const Cell& cell) {
    Settings settings;
    for (const auto& setting : cell.settings) {
      const auto& specs = recipe_specs();
      const bool of_recipe = std::any_of(
          specs.begin(), specs.end(), [&](const auto& spec) { return spec.name == setting.first; });
      if (!of_recipe) settings.push_back(setting);
    }
    return settings;
  };
  return a.network == b.network && a.dataset == b.dataset && others(a) == others(b);
}

// The control of a row: dense training that is as short as the row is fast. One serves all methods
// that leave it the same epochs, so it goes by its recipe and not by the name in its label.
const Row* iso_time_control(const RowSet& set, const Row& row) {
  const auto recipe = recipe_of(*row.first);
  if (row.speedup.n == 0 || !recipe) return nullptr;
  const Recipe wanted = shortened(*recipe, iso_time_epochs(recipe->epochs, row.speedup.ratio));
  for (const auto& other : set.rows()) {
    const Cell& cell = *other.first;
    if (cell.method_label.starts_with(kIsoTimePrefix) && other.accuracy.n > 0 &&
        same_but_recipe(cell, *row.first) && recipe_of(cell) == wanted) {
      return &other;
    }
  }
  return nullptr;
}

Advice advise(const Row& row, const NonInferiorityTest& test, double margin) {
  const std::string points = shortest(margin) + " points";
  const bool slower = row.speedup.hi && *row.speedup.hi < 1;
  const bool faster = row.speedup.lo && *row.speedup.lo > 1;
  if (slower) return {"no", "slower than dense"};
  if (test.verdict == NonInferiority::kInferior) return {"no", "loses more than " + points};
  if (row.speedup.n == 0) return {"undecided", "its speed was not measured"};
  if (row.loss.n == 0) return {"undecided", "its accuracy was not measured beside dense"};
  const bool no_gain = row.speedup.hi && *row.speedup.hi < 1 + kLeastEffect;
  if (no_gain) return {"no", "no gain of 2 % or more"};
  if (!faster) return {"undecided", "its speedup cannot be told from 1"};
  if (test.verdict == NonInferiority::kInconclusive) {
    return {"undecided", row.loss.n < 6
                             ? fmt::format("faster, but {} {} cannot bound the loss", row.loss.n,
                                           row.loss.n == 1 ? "seed" : "seeds")
                             : "faster, but the loss may be above " + points};
  }
  return {"yes", "faster, and loses no more than " + points};
}

// --- comparison ---

// A row of one store as the other one knows it too.
struct RowKey {
  std::string network, dataset, setting, schedule, method;

  auto operator<=>(const RowKey&) const = default;
};

RowKey key_of(const Row& row) {
  const Cell& cell = *row.first;
  return {cell.network, cell.dataset, cell.setting, cell.schedule, cell.method};
}

std::map<int64_t, double> accuracies(const RowSet& set, const Row& row) {
  std::map<int64_t, double> values;  // by seed
  for (const auto* cell : row.cells) {
    if (const auto value = set.final_accuracy(*cell)) values[cell->seed] = *value;
  }
  return values;
}

std::vector<double> without_seeds(const std::map<int64_t, double>& by_seed) {
  std::vector<double> values;
  for (const auto& [seed, value] : by_seed) values.push_back(value);
  return values;
}

// Equal runs give equal numbers: where there are too few for an interval, the seeds that both
// stores have still show whether they are equal.
std::string seeds_verdict(const std::map<int64_t, double>& a, const std::map<int64_t, double>& b) {
  bool any = false;
  for (const auto& [seed, value] : a) {
    const auto found = b.find(seed);
    if (found == b.end()) continue;
    any = true;
    if (found->second != value) return "differs";
  }
  return any ? "same" : "undecided";
}

// The difference of two independent log-ratios, b against a, as a ratio: above 1 where B is faster.
Ratio ratio_of_ratios(const Ratio& a, const Ratio& b) {
  Ratio ratio;
  if (a.n == 0 || b.n == 0) return ratio;
  ratio.n = std::min(a.n, b.n);
  const double log = std::log(b.ratio / a.ratio);
  ratio.ratio = std::exp(log);
  if (a.lo && b.lo) {
    const double down = std::hypot(std::log(b.ratio / *b.lo), std::log(*a.hi / a.ratio));
    const double up = std::hypot(std::log(*b.hi / b.ratio), std::log(a.ratio / *a.lo));
    ratio.lo = std::exp(log - down), ratio.hi = std::exp(log + up);
  }
  return ratio;
}

// A case of a kernel benchmark; all as text, which is also the order that its rows have.
struct KernelKey {
  std::string op, shape, method, variant, precision, threads, device;

  auto operator<=>(const KernelKey&) const = default;
};

struct KernelRatio {
  std::string what;  // shown
  Ratio ratio;       // against the exact product
};

std::map<KernelKey, KernelRatio> kernel_ratios(const std::string& path) {
  std::map<KernelKey, KernelRatio> kernels;
  auto db = open_snapshot(path);
  for_each_row(db,
               "SELECT op, shape, label, method, variant, precision, threads, device, ratio, "
               "ratio_lo, ratio_hi, n FROM v_kernel WHERE ratio IS NOT NULL AND method <> 'dense' "
               "ORDER BY kernel_run_id",
               [&](SQLite::Statement& row) {
                 const KernelKey key{text_at(row, 0), text_at(row, 1), text_at(row, 3),
                                     text_at(row, 4), text_at(row, 5), text_at(row, 6),
                                     text_at(row, 7)};
                 auto& kernel = kernels[key];  // the last run of a case counts
                 const std::string label = text_at(row, 2);
                 kernel.what =
                     fmt::format("{} {} {}", key.op, label.empty() ? key.shape : label, key.method);
                 kernel.ratio = {row.getColumn(11).getInt64(), row.getColumn(8).getDouble(),
                                 optional_real(row.getColumn(9)), optional_real(row.getColumn(10))};
               });
  return kernels;
}

std::string speed_verdict(const Ratio& ratio) {
  if (ratio.n == 0 || !ratio.lo) return "";
  switch (speed_change(ratio)) {
    case SpeedChange::kFaster:
      return "faster";
    case SpeedChange::kSlower:
      return "slower";
    case SpeedChange::kSame:
      return "same";
    case SpeedChange::kUndecided:
      break;
  }
  return "undecided";
}

}  // namespace

Table report_advice(const std::string& db, const ReportOptions& options) {
  const RowSet set(db, options);
  Table table;
  table.name = "advice";
  table.title = options.experiment;
  table.columns = {
      "network",       "dataset",          "setting",   "machine",    "schedule",     "method",
      "worth",         "reason",           "speedup",   "speedup_lo", "speedup_hi",   "loss_pp",
      "loss_pp_lower", "loss_pp_upper",    "n",         "margin_pp",  "measured_utc", "commit",
      "iso_time_pp",   "iso_time_pp_half", "iso_time_n"};
  table.text_columns = {"network",          "data set",  "machine",
                        "method, schedule", "worth it?", "speedup",
                        "loss, pp",         "measured",  "why"};
  if (set.settings_differ()) table.text_columns.insert(table.text_columns.begin() + 2, "setting");
  bool lossy = false;
  for (const auto& row : set.rows()) {
    if (row.dense == &row || row.first->method == "dense") continue;
    if (row.speedup.n == 0 && row.loss.n == 0) continue;
    Provenance provenance;
    std::set<int64_t> machines;
    add_provenance(row, provenance, machines);
    if (row.dense != nullptr) add_provenance(*row.dense, provenance, machines);
    if (machines.size() > 1) provenance.machine = fmt::format("{} machines", machines.size());
    NonInferiorityTest test;
    if (row.dense != nullptr) {
      test = non_inferiority(set.losses(row, *row.dense, /*best=*/false), options.margin);
    }
    Advice advice = advise(row, test, options.margin);
    if (row.notes[kDiverged]) advice = {"no", "runs diverged"};
    // A shorter exact training is the method to beat.
    const Row* control = iso_time_control(set, row);
    PairedDifference against;  // the control minus the method, points
    if (control != nullptr) {
      against = paired_difference(set.losses(row, *control, /*best=*/false));
      const bool no_better = against.half && against.mean - *against.half > 0;
      const bool better = against.half && against.mean + *against.half < 0;
      const std::string result =
          fmt::format("dense in the same time: {} points", with_interval(against, 2));
      if (no_better && advice.worth != "no") advice = {"no", result + " above it"};
      if (!better && advice.worth == "yes") advice = {"undecided", result + " against it"};
      if (better && advice.worth == "yes") advice.reason += "; " + result + " against it";
    }
    lossy |= row.notes[kLossy];
    const Cell& cell = *row.first;
    table.rows.push_back({cell.network_label,
                          cell.dataset,
                          set.setting(row),
                          provenance.machine,
                          cell.schedule_label,
                          cell.method_label,
                          advice.worth,
                          advice.reason,
                          row.speedup.n > 0 ? Field(row.speedup.ratio) : Field(),
                          field(row.speedup.lo),
                          field(row.speedup.hi),
                          row.loss.n > 0 ? Field(row.loss.mean) : Field(),
                          field(test.lower),
                          field(test.upper),
                          row.loss.n,
                          options.margin,
                          provenance.since,
                          provenance.commit,
                          against.n > 0 ? Field(against.mean) : Field(),
                          field(against.half),
                          against.n});
    std::vector<std::string> texts = {cell.network_label, cell.dataset};
    if (set.settings_differ()) texts.push_back(set.setting(row));
    std::string loss = with_interval(row.loss, 2);
    if (row.loss.half) loss += fmt::format(" (n={})", row.loss.n);
    for (const auto& text :
         {provenance.machine, method_text(cell), advice.worth, ratio_text(row.speedup), loss,
          provenance.since.substr(0, 10), advice.reason}) {
      texts.push_back(text);
    }
    table.text_rows.push_back(std::move(texts));
  }
  if (!table.rows.empty()) {
    table.notes.push_back(fmt::format(
        "yes: its speedup's 95 % interval lies above 1, and the one-sided 95 % bound of its loss "
        "below {} points; no: slower, no gain of 2 %, or surely a larger loss; else undecided",
        shortest(options.margin)));
    table.notes.emplace_back("for the networks, data, settings and machines in the lines alone");
    if (lossy) table.notes.emplace_back("some of the data went through JPEG");
  }
  return table;
}

REGISTER_REPORT("advice", report_advice)
    .at(7)
    .about("Whether each method is worth using, and at what risk");

Table report_compare(const std::string& a, const std::string& b, const ReportOptions& options,
                     std::vector<std::string>* failures) {
  const RowSet before(a, options), after(b, options);
  Table table;
  table.name = "compare";
  table.title = "B against A";
  table.columns = {"what",      "quantity",  "a",       "b",   "change",
                   "change_lo", "change_hi", "verdict", "n_a", "n_b"};
  table.text_columns = {"what", "quantity", "A", "B", "B against A", "verdict"};
  const auto fail = [&](const std::string& verdict) {
    const bool bad = verdict == "slower" || verdict == "inferior" || verdict == "differs";
    if (bad && failures != nullptr) failures->push_back(verdict);
  };
  std::map<RowKey, const Row*> known;
  for (const auto& row : before.rows()) known[key_of(row)] = &row;
  int64_t only_a = static_cast<int64_t>(known.size()), only_b = 0;
  for (const auto& row : after.rows()) {
    const auto found = known.find(key_of(row));
    if (found == known.end()) {
      ++only_b;
      continue;
    }
    --only_a;
    const Row& old = *found->second;
    const Cell& cell = *row.first;
    std::string what = cell.network_label + ", " + cell.dataset;
    if (!cell.schedule_label.empty()) what += ", " + cell.schedule_label;
    what += ", " + cell.method_label;
    if (const auto text = after.setting(row); !text.empty()) what += ", " + text;
    const auto our_seeds = accuracies(after, row), their_seeds = accuracies(before, old);
    const auto ours = without_seeds(our_seeds), theirs = without_seeds(their_seeds);
    if (!ours.empty() && !theirs.empty()) {
      const auto welch = welch_difference(ours, theirs);
      std::string verdict;
      if (welch.half) {
        const double lo = welch.difference - *welch.half, hi = welch.difference + *welch.half;
        verdict = hi < -options.margin                          ? "inferior"
                  : lo > options.margin                         ? "better"
                  : lo > -options.margin && hi < options.margin ? "same"
                                                                : "undecided";
      } else {
        verdict = seeds_verdict(their_seeds, our_seeds);
      }
      fail(verdict);
      table.rows.push_back({what, std::string("accuracy_pct"), summarize(theirs).mean,
                            summarize(ours).mean, welch.difference,
                            welch.half ? Field(welch.difference - *welch.half) : Field(),
                            welch.half ? Field(welch.difference + *welch.half) : Field(), verdict,
                            welch.n_b, welch.n_a});
      table.text_rows.push_back(
          {what, "accuracy, %", with_interval(summarize(theirs), 2),
           with_interval(summarize(ours), 2),
           fixed(welch.difference, 2) + (welch.half ? " ± " + fixed(*welch.half, 2) : ""),
           verdict});
    }
    const Ratio change = ratio_of_ratios(old.speedup, row.speedup);
    if (change.n > 0) {
      const std::string verdict = speed_verdict(change);
      fail(verdict);
      table.rows.push_back({what, std::string("speedup"), old.speedup.ratio, row.speedup.ratio,
                            change.ratio, field(change.lo), field(change.hi), verdict,
                            old.speedup.n, row.speedup.n});
      table.text_rows.push_back({what, "speedup over dense", ratio_text(old.speedup),
                                 ratio_text(row.speedup), ratio_text(change), verdict});
    }
  }
  const auto old_kernels = kernel_ratios(a);
  for (const auto& [key, kernel] : kernel_ratios(b)) {
    const auto found = old_kernels.find(key);
    if (found == old_kernels.end()) continue;
    const Ratio change = ratio_of_ratios(found->second.ratio, kernel.ratio);
    const std::string verdict = speed_verdict(change);
    fail(verdict);
    table.rows.push_back({kernel.what, std::string("kernel_speedup"), found->second.ratio.ratio,
                          kernel.ratio.ratio, change.ratio, field(change.lo), field(change.hi),
                          verdict, found->second.ratio.n, kernel.ratio.n});
    table.text_rows.push_back({kernel.what, "kernel speedup", ratio_text(found->second.ratio),
                               ratio_text(kernel.ratio), ratio_text(change), verdict});
  }
  table.notes.push_back(fmt::format(
      "speeds are compared through their own dense baselines, so A and B may come from different "
      "machines; {} rows only in A, {} only in B",
      only_a, only_b));
  table.notes.push_back(fmt::format(
      "accuracy: Welch's 95 % interval against a margin of {} points; speed: faster or slower "
      "from 2 % on, the same if the whole interval lies within 2 %",
      shortest(options.margin)));
  return table;
}

}  // namespace approx
