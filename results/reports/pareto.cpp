// Speedup against loss.
#include "results/stats/pareto.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/enum_text.h"
#include "base/error.h"
#include "results/reports/beside_front.h"
#include "results/reports/report.h"
#include "results/reports/worth.h"
#include "results/rows/row_columns.h"
#include "results/rows/target_rows.h"

namespace approx {
namespace {

bool is_baseline(const Row& row) { return row.dense == &row; }

// Whether a row may be held against others: no verdict rests on some speedups, and the mean of
// those runs that did not diverge flatters.
bool has_place(const Row& row) {
  return is_baseline(row) || (unsound_speedup(row).empty() && !row.notes[kDiverged]);
}

// What a line is about.
enum class Kind { kMethod, kExact, kShorter, kSmaller };

constexpr auto enum_texts(Kind) {
  return std::to_array<EnumText<Kind>>({{Kind::kMethod, "method"},
                                        {Kind::kExact, "exact"},
                                        {Kind::kShorter, "shorter"},
                                        {Kind::kSmaller, "smaller"}});
}

struct FrontLine {
  Kind kind = Kind::kMethod;
  const Row* row = nullptr;  // of what stands beside the front, that of its exact training
  std::string label;         // of what stands beside the front
  Notes notes = {};
  Ratio speedup;
  PairedDifference loss;
  ParetoPoint point;
  std::optional<ParetoPlace> place;  // of a row that has one
  std::string timed_on;              // where there is more than one machine: that of its front

  bool is_beside() const { return kind == Kind::kShorter || kind == Kind::kSmaller; }
  int64_t n() const { return kind == Kind::kExact ? row->accuracy.n : loss.n; }
  // Whether enough processes and seeds were run to say where it stands.
  bool is_measured() const {
    return kind == Kind::kExact || (speedup.n >= kProcessesForATiming && point.loss.lo);
  }
  // "" of what stands beside the front.
  std::string front() const {
    if (is_beside()) return "";
    if (!place) return "perhaps";
    if (place->on_front) return is_measured() ? "yes" : "perhaps";
    return place->perhaps_on_front() ? "perhaps" : "no";
  }
};

// Exact training stands at speedup 1 and loss 0.
constexpr ParetoPoint kExactPoint = {.speedup = {1, 1.0, 1.0}, .loss = {0, 0.0, 0.0}};

ParetoPoint point_of(const Ratio& speedup, const PairedDifference& loss) {
  ParetoPoint point{.speedup = {speedup.ratio, speedup.lo, speedup.hi},
                    .loss = {loss.mean, std::nullopt, std::nullopt}};
  if (loss.half) point.loss.lo = loss.mean - *loss.half, point.loss.hi = loss.mean + *loss.half;
  return point;
}

ParetoPoint point_of(const Row& row) {
  return is_baseline(row) ? kExactPoint : point_of(row.speedup, row.loss);
}

// The machines that timed a row, and their name for people.
using Machines = std::set<int64_t>;

Machines machines_of(const Row& row) {
  Machines machines;
  for (const auto& [cell, run] : row.timings) machines.insert(run->host_id);
  return machines;
}

std::string name_of(const Row& row) {
  std::set<std::string> names;
  for (const auto& [cell, run] : row.timings) names.insert(run->cpu);
  return fmt::format("{}", fmt::join(names, " and "));
}

// The lines of a front: its rows, and behind them what stands beside it.
std::vector<FrontLine> front(const RowSet& set, const std::vector<const Row*>& rows,
                             const Machines& machines, const std::string& timed_on) {
  std::vector<ParetoPoint> held_together;
  for (const auto* row : rows) {
    if (has_place(*row)) held_together.push_back(point_of(*row));
  }
  const auto places = pareto_places(held_together);
  auto next = places.begin();
  std::vector<FrontLine> lines;
  for (const auto* row : rows) {
    lines.push_back({.kind = is_baseline(*row) ? Kind::kExact : Kind::kMethod,
                     .row = row,
                     .notes = row->notes,
                     .speedup = row->speedup,
                     .loss = row->loss,
                     .point = point_of(*row),
                     .timed_on = timed_on});
    if (has_place(*row)) lines.back().place = *next++;
  }
  const auto dense = std::ranges::find_if(rows, [](const Row* row) { return is_baseline(*row); });
  if (dense == rows.end()) return lines;
  const auto add = [&](Kind kind, const BesideFront& beside) {
    lines.push_back({.kind = kind,
                     .row = *dense,
                     .label = beside.label,
                     .notes = beside.notes,
                     .speedup = beside.speedup,
                     .loss = beside.loss,
                     .point = point_of(beside.speedup, beside.loss),
                     .timed_on = timed_on});
  };
  for (const auto& shorter : shorter_exact(set, rows)) add(Kind::kShorter, shorter);
  for (const auto& smaller : smaller_networks(set, **dense)) {
    if (machines_of(*smaller.row) == machines) add(Kind::kSmaller, smaller);
  }
  return lines;
}

// The lines of each group together, groups in the order of their first rows. Speedups of two
// machines are not held against each other: each machine has a front of its own, with dense in it.
std::vector<FrontLine> front_lines(const RowSet& set) {
  std::map<Group, std::vector<const Row*>> groups;
  std::vector<Group> order;
  for (const auto& row : set.rows()) {
    if (is_baseline(row) ? row.accuracy.n == 0 : row.speedup.n == 0 || row.loss.n == 0) continue;
    auto& group = groups[group_of(row)];
    if (group.empty()) order.push_back(group_of(row));
    group.push_back(&row);
  }
  std::vector<FrontLine> lines;
  const auto add = [&](const std::vector<FrontLine>& more) {
    lines.insert(lines.end(), more.begin(), more.end());
  };
  for (const auto& key : order) {
    const auto& rows = groups.at(key);
    // An exact training alone, such as that of a smaller network, is no front.
    if (rows.size() == 1 && order.size() > 1 && is_baseline(*rows[0])) continue;
    std::vector<Machines> machines;
    for (const auto* row : rows) {
      const auto timed_on = machines_of(*row);
      if (is_baseline(*row)) continue;
      if (std::ranges::find(machines, timed_on) == machines.end()) machines.push_back(timed_on);
    }
    if (machines.size() <= 1) {
      add(front(set, rows, machines.empty() ? Machines() : machines.front(), ""));
      continue;
    }
    std::set<std::string> names;  // two machines may have one name
    for (const auto& timed_on : machines) {
      std::vector<const Row*> here;
      std::string name;
      for (const auto* row : rows) {
        if (!is_baseline(*row) && machines_of(*row) != timed_on) continue;
        here.push_back(row);
        if (!is_baseline(*row)) name = name_of(*row);
      }
      while (!names.insert(name).second) name += ", another";
      add(front(set, here, timed_on, name));
    }
  }
  return lines;
}

// NAME, NAME_lo, NAME_hi; `text` for people.
Columns<FrontLine> estimate_columns(const std::string& name, const std::string& header,
                                    Estimate ParetoPoint::*of,
                                    std::string (*text)(const FrontLine&)) {
  const auto part = [of](auto end) { return via(&FrontLine::point, of, end); };
  return {{name, header, part(&Estimate::mid), text},
          {.name = name + "_lo", .value = part(&Estimate::lo)},
          {.name = name + "_hi", .value = part(&Estimate::hi)}};
}

std::string front_speedup_text(const FrontLine& line) {
  if (line.kind == Kind::kExact) return "1";
  return line.kind == Kind::kShorter ? fmt::format("{:.2f}×", line.speedup.ratio)
                                     : ratio_text(line.speedup);
}

std::string front_loss_text(const FrontLine& line) {
  return line.kind == Kind::kExact ? "0" : with_interval(line.loss, 2);
}

// What tells the lines apart. What stands beside the front has a name of its own.
Columns<FrontLine> what_columns(const RowSet& set, const NoteLetters& letters) {
  auto columns = row_columns<FrontLine>(set, &letters);
  const auto of_row = columns.method;
  columns.method.value = [of_row](const FrontLine& line) {
    return line.is_beside() ? Field(line.label) : of_row.value(line);
  };
  columns.method.text = [of_row, &letters](const FrontLine& line) {
    return line.is_beside() ? line.label + letters.marks(line.notes) : of_row.text(line);
  };
  return columns.all();
}

// The same without a value of what stands beside the front, which has no such step.
Columns<FrontLine> of_rows_alone(Columns<FrontLine> columns) {
  for (auto& column : columns) {
    column.value = [of = column.value](const FrontLine& line) {
      return line.is_beside() ? Field() : of(line);
    };
    if (!column.text) continue;
    column.text = [of = column.text](const FrontLine& line) {
      return line.is_beside() ? "–" : of(line);
    };
  }
  return columns;
}

// Which rows have one half of a point alone, "" where none has.
std::string halves(const RowSet& set, const char* what, bool (*is_half)(const Row&)) {
  constexpr size_t kMostNamed = 8;
  std::vector<std::string> names;
  for (const auto& row : set.rows()) {
    if (is_baseline(row) || !is_half(row)) continue;
    const Cell& cell = *row.first;
    names.push_back(row_text({cell.method_label, cell.schedule_label, cell.network_label}));
  }
  if (names.empty()) return "";
  const size_t more = names.size() - std::min(names.size(), kMostNamed);
  names.resize(names.size() - more);
  return fmt::format("left out, {}: {}{}", what, fmt::join(names, "; "),
                     more == 0 ? "" : fmt::format("; and {} more", more));
}

// "5 rows: 2 on the front, 1 perhaps, 2 not."; "" without any beside dense.
std::string front_sentence(const std::vector<FrontLine>& lines) {
  std::map<std::string, int64_t> rows;
  for (const auto& line : lines) {
    if (!is_baseline(*line.row)) ++rows[line.front()];
  }
  const int64_t all = rows["yes"] + rows["perhaps"] + rows["no"];
  if (all == 0) return "";
  return fmt::format("{} {}: {} on the front, {} perhaps, {} not.", all, all == 1 ? "row" : "rows",
                     rows["yes"], rows["perhaps"], rows["no"]);
}

// Speedup against loss: one row for each row of the store that has both, and whether it is on the
// front of its network, data set and settings (results/stats/pareto.h). Beside them what else saves
// time: exact trainings as short as the methods are fast, and smaller networks.
Table report_pareto(const Snapshot& snapshot, const ReportOptions& options) {
  const auto rows_there = rows_of(snapshot, options);
  const RowSet& set = *rows_there;
  const auto lines = front_lines(set);
  const bool several =
      std::ranges::any_of(lines, [](const FrontLine& line) { return !line.timed_on.empty(); });
  // Neither throughput nor seconds stand here.
  const auto letters = letters_of(lines, {kShared, kTimesElsewhere, kShortSeconds});
  auto columns = what_columns(set, letters);
  append(columns, {{.name = "timed_on",
                    .header = "timed on",
                    .value = &FrontLine::timed_on,
                    .shown = several}});
  append(columns, estimate_columns("speedup", "speedup vs exact", &ParetoPoint::speedup,
                                   front_speedup_text));
  append(columns, of_rows_alone(stock_columns<FrontLine>(set)));
  append(columns, estimate_columns("loss_pp", "loss, pp", &ParetoPoint::loss, front_loss_text));
  append(columns,
         {{.name = "n", .header = "n", .value = &FrontLine::n},
          {.name = "front",
           .header = "on the front",
           .value = &FrontLine::front,
           .text = [](const FrontLine& line) { return line.is_beside() ? "–" : line.front(); }},
          notes_column<FrontLine>(letters),
          {.name = "kind", .value = via(&FrontLine::kind)}});
  Table table = table_of(options.experiment, columns, lines);
  table.screen = {.keys = {"network", "dataset", "setting", "tuned_rate", "schedule", "timed_on"},
                  .results = {"method", "speedup", "loss_pp", "n", "front"},
                  .headline = front_sentence(lines)};
  if (!lines.empty()) table.screen.next = picture_command("pareto", options);
  table.notes = letters.lines();
  table.notes.emplace_back(fmt::format(
      "dense stands at speedup 1 and loss 0. A row is on the front by its means. It is "
      "perhaps on it if the intervals leave it open, or with fewer than {} processes or "
      "two seeds",
      kProcessesForATiming));
  table.notes.emplace_back(
      "rows with diverged runs, or with a speedup that no verdict rests on, are perhaps on the "
      "front. No other row is held against them");
  if (std::ranges::any_of(lines, &FrontLine::is_beside)) {
    table.notes.emplace_back(
        "exact training of fewer epochs is drawn at the speed of a method that takes as long. A "
        "smaller network is drawn at the speed of its step. Neither is held against the methods");
  }
  if (several) {
    table.notes.emplace_back(
        "a front for each machine that timed some of the rows: speedups of two machines are not "
        "held against each other");
  }
  const auto disturbed = [](const Row& row) {
    return row.loss.n > 0 && row.speedup.n == 0 && row.notes[kTainted];
  };
  const auto untimed = [](const Row& row) {
    return row.loss.n > 0 && row.speedup.n == 0 && !row.notes[kTainted];
  };
  const auto untrained = [](const Row& row) { return row.speedup.n > 0 && row.loss.n == 0; };
  for (const auto& note : {halves(set, "not timed", untimed),
                           halves(set, "timings disturbed (sweep --rerun tainted)", disturbed),
                           halves(set, "not trained beside dense", untrained), set.stock_note()}) {
    if (!note.empty()) table.notes.push_back(note);
  }
  return table;
}

REGISTER_REPORT("pareto", report_pareto)
    .at(3)
    .about("Speedup against loss, and which rows are on the front")
    .made_of("accuracy and timing runs of methods and of dense")
    .drawn_by("pareto");

}  // namespace
}  // namespace approx
