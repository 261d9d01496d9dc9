#include "results/reports/page_summary.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "core/experiment/iso_time.h"
#include "results/records/items.h"
#include "results/render/shown_columns.h"
#include "results/reports/advice.h"
#include "results/reports/worth.h"
#include "results/rows/rows.h"

namespace approx {
namespace {

constexpr const char* kNoVerdict = "–";  // of exact training

// "4: resnet20; resnet14; AlexNet; ResNet-18"; the first of them where there are many.
std::string counted(const std::vector<std::string>& names) {
  constexpr size_t kMostNamed = 12;
  const auto end = names.begin() + static_cast<int64_t>(std::min(names.size(), kMostNamed));
  const std::vector<std::string> named(names.begin(), end);
  std::string text = fmt::format("{}", fmt::join(named, "; "));
  if (names.size() > named.size())
    text += fmt::format("; and {} more", names.size() - named.size());
  return names.size() > 1 ? fmt::format("{}: {}", names.size(), text) : text;
}

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

// Whether a label is of a training that a sweep made to hold a method against (`--controls`).
bool is_control(const std::string& label) {
  return is_exact_control(label) ||
         (label.starts_with("random") && label.find(" in place of ") != label.npos);
}

// Methods by their labels; exact training is what they are compared with.
void add_methods(const RowSet& set, HtmlAttributes& compared) {
  std::vector<std::string> methods;
  int64_t controls = 0;
  std::set<std::string> control_labels;
  for (const auto& row : set.rows()) {
    const auto& label = row.first->method_label;
    if (is_control(label)) {
      controls += control_labels.insert(label).second;
    } else if (!is_dense(*row.first)) {
      add_new(methods, label);
    }
  }
  std::string text = methods.empty() ? "none: exact training alone" : counted(methods);
  if (controls > 0) {
    text += fmt::format("; beside {} {} of the same time or the same density", controls,
                        controls == 1 ? "control" : "controls");
  }
  compared.emplace_back("methods", text);
}

std::string date_of(const std::string& utc) {
  return utc.substr(0, std::string("2026-01-31").size());
}

void add_machines(const Snapshot& snapshot, HtmlAttributes& compared) {
  std::vector<std::string> machines;
  for_each_row(snapshot.db(),
               "SELECT DISTINCT cpu_model, gpu_model, n_cores FROM host WHERE host_id IN (SELECT "
               "host_id FROM run UNION SELECT host_id FROM kernel_run UNION SELECT host_id FROM "
               "study_run) ORDER BY host_id",
               [&](SQLite::Statement& row) {
                 const std::string gpu = text_at(row, 1);
                 add_new(machines, fmt::format("{}{} ({} cores)", gpu.empty() ? "" : gpu + " and ",
                                               text_at(row, 0), text_at(row, 2)));
               });
  if (!machines.empty()) compared.emplace_back("machines", counted(machines));
}

// The commits that the program was built from, the newest run's first.
void add_commits(const Snapshot& snapshot, HtmlAttributes& compared) {
  std::vector<std::string> commits;
  for_each_row(snapshot.db(),
               "SELECT b.git_sha, max(b.dirty), max(r.started_utc) FROM run r JOIN build b "
               "USING(build_id) GROUP BY b.git_sha ORDER BY 3 DESC",
               [&](SQLite::Statement& row) {
                 const bool dirty = row.getColumn(1).getInt() != 0;
                 commits.push_back(text_at(row, 0).substr(0, 12) +
                                   (dirty ? " with uncommitted changes" : ""));
               });
  if (!commits.empty()) compared.emplace_back("commits", counted(commits));
}

void add_runs(const Snapshot& snapshot, HtmlAttributes& compared) {
  int64_t all = 0;
  std::vector<std::string> ends;
  for_each_row(snapshot.db(), "SELECT state, count(*) FROM run GROUP BY state ORDER BY 2 DESC, 1",
               [&](SQLite::Statement& row) {
                 all += row.getColumn(1).getInt64();
                 ends.push_back(fmt::format("{} {}", text_at(row, 1), text_at(row, 0)));
               });
  if (all == 0) return;
  std::string text = ends.size() > 1 ? fmt::format("{} ({})", all, fmt::join(ends, ", ")) : ends[0];
  for_each_row(snapshot.db(), "SELECT min(started_utc), max(started_utc) FROM run",
               [&](SQLite::Statement& row) {
                 const auto first = date_of(text_at(row, 0)), last = date_of(text_at(row, 1));
                 text += first == last ? ", on " + first : fmt::format(", {} to {}", first, last);
               });
  compared.emplace_back("runs", text);
}

HtmlAttributes compared_of(const Snapshot& snapshot, const RowSet& set) {
  HtmlAttributes compared;
  std::vector<std::string> networks, datasets;
  for (const auto& row : set.rows()) {
    add_new(networks, row.first->network_label);
    add_new(datasets, row.first->config.dataset);
  }
  if (!networks.empty()) compared.emplace_back("networks", counted(networks));
  if (!datasets.empty()) compared.emplace_back("data sets", counted(datasets));
  if (!set.rows().empty()) add_methods(set, compared);
  add_machines(snapshot, compared);
  add_commits(snapshot, compared);
  add_runs(snapshot, compared);
  return compared;
}

// Without " [a,b]" at its end, letters of notes that stand below another table.
std::string without_marks(const std::string& text) {
  const size_t at = text.rfind(" [");
  if (at == std::string::npos || !text.ends_with(']')) return text;
  const auto marks = std::string_view(text).substr(at + 2, text.size() - at - 3);
  const bool letters =
      std::ranges::all_of(marks, [](char c) { return (c >= 'a' && c <= 'z') || c == ','; });
  return letters ? text.substr(0, at) : text;
}

// The rows of report_table that have a verdict, with what it rests on.
Table verdicts_of(const Table& table) {
  const auto names = text_names(table);
  std::vector<std::string> shown;
  for (const char* name : {"network", "dataset", "setting", "schedule", "method", "verdict",
                           "speedup", "loss_pp", "accuracy_pct"}) {
    if (std::ranges::find(names, name) != names.end()) shown.emplace_back(name);
  }
  Table verdicts = with_columns(table, shown, TableReader::kPerson);
  const auto column = static_cast<size_t>(std::ranges::find(shown, "verdict") - shown.begin());
  std::erase_if(verdicts.text_rows, [&](const std::vector<std::string>& row) {
    return column >= row.size() || row[column] == kNoVerdict;
  });
  for (auto& row : verdicts.text_rows) {
    for (auto& cell : row) cell = without_marks(cell);
  }
  verdicts.name = "verdicts";
  verdicts.title = "Is it worth using?";
  verdicts.notes.clear();
  verdicts.screen.keys = {"network", "dataset", "setting", "schedule"};
  verdicts.screen.results = {"method", "verdict", "speedup", "loss_pp", "accuracy_pct"};
  return verdicts;
}

// What one experiment lacks, and the words of the command that makes it.
struct Lack {
  std::string what;
  std::vector<std::string> words;
};

std::vector<Lack> lacks_of_experiment(const Snapshot& snapshot, const ReportOptions& options) {
  const auto rows = rows_of(snapshot, options);
  int64_t missing = 0, failed = 0, cut_off = 0, planned = 0, disturbed = 0, undecided = 0;
  for (const auto& row : rows->rows()) {
    planned += row.planned();
    missing += row.missing;
    failed += row.failed;
    cut_off += row.cut_off;
    disturbed += row.notes[kTainted] && row.speedup.n == 0;
  }
  const auto sweep = sweep_command(snapshot, options.experiment);
  const auto with = [&](std::vector<std::string> flags) {
    auto words = sweep;
    if (!words.empty()) words.insert(words.end(), flags.begin(), flags.end());
    return words;
  };
  std::vector<Lack> lacks;
  if (missing > 0) {
    lacks.push_back({fmt::format("results of {} of {} runs", missing, planned), sweep});
  }
  if (failed > 0) {
    lacks.push_back({fmt::format("results of {}, which failed",
                                 failed == 1 ? "a run" : fmt::format("{} runs", failed)),
                     with({"--rerun", "failed,oom"})});
  }
  if (cut_off > 0) {
    lacks.push_back({fmt::format("results of {}, which --timeout cut off",
                                 cut_off == 1 ? "a run" : fmt::format("{} runs", cut_off)),
                     with({"--rerun", "timeout"})});
  }
  if (disturbed > 0) {
    lacks.push_back({fmt::format("timings of {}, which were all disturbed",
                                 disturbed == 1 ? "a row" : fmt::format("{} rows", disturbed)),
                     with({"--rerun", "tainted"})});
  }
  const auto worths = worths_of(*rows, snapshot, options);
  for (const auto& [row, worth] : worths) undecided += worth.answer == Answer::kUndecided;
  const auto deciding = deciding_command(worths, snapshot, options);
  const std::string needs = lacks_text(worths);
  if (!needs.empty()) {
    lacks.push_back({fmt::format("to decide {}: {}{}",
                                 undecided == 1 ? "a row" : fmt::format("{} rows", undecided),
                                 undecided == 1 ? "" : "up to ", needs),
                     deciding});
  }
  return lacks;
}

}  // namespace

PageSummary page_summary(
    const Snapshot& snapshot, const ReportOptions& options, const Table& table,
    const std::function<std::string(const std::vector<std::string>&)>& command) {
  PageSummary summary;
  summary.sentence = table.screen.headline;
  summary.compared = compared_of(snapshot, *rows_of(snapshot, options));
  summary.verdicts = verdicts_of(table);
  summary.missing = {.name = "missing",
                     .title = "What is missing?",
                     .text_columns = {"experiment", "what is missing", "command"},
                     .text_names = {"experiment", "missing", "command"}};
  summary.missing.screen.results = {"experiment", "missing", "command"};
  for (const auto& [name, item] : snapshot.items().all()) {
    if (name.ends_with(":tune")) continue;  // learning rates, which no verdict is on
    ReportOptions of_one = options;
    of_one.experiment = name;
    for (const auto& lack : lacks_of_experiment(snapshot, of_one)) {
      const std::string typed = lack.words.empty() ? "" : command(lack.words);
      summary.missing.text_rows.push_back({name, lack.what, typed.empty() ? "–" : typed});
      if (summary.next.empty()) summary.next = typed;
    }
  }
  return summary;
}

}  // namespace approx
