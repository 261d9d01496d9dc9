#include "results/reports/paper_report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "results/reports/contents.h"
#include "results/reports/rows.h"
#include "results/reports/stored_items.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

constexpr int64_t kSeedsForAVerdict = 6;  // fewer can never show a difference at 5 %

// What timing runs measure: steps of a method against exact ones.
bool is_speed(const std::string& quantity) {
  return quantity == "speedup" || quantity == "time_saved";
}

bool is_timing(const std::string& quantity) {
  return is_speed(quantity) || quantity == "time" || quantity == "time_to_target";
}

// A time or a speed against that of the exact training, which is its own reference.
bool is_against_dense(const std::string& quantity) {
  return is_speed(quantity) || quantity == "accuracy_loss";
}

int digits_of(const ReportedValue& value) {
  return value.quantity == "time" ? 3 : value.quantity == "time_saved" ? 1 : 2;
}

// --- the axes of the table ---

std::string label_of(const PlannedRun& run, const std::string& axis) {
  if (axis == "method") return run.method_label;
  if (axis == "network") return run.network_label;
  if (axis == "schedule") return run.schedule_label;
  return run.config.dataset;
}

std::string label_of(const Cell& cell, const std::string& axis) {
  if (axis == "method") return cell.method_label;
  if (axis == "network") return cell.network_label;
  if (axis == "schedule") return cell.schedule_label;
  return cell.dataset;
}

// The labels along an axis in the order of the file. Dense runs have no schedule.
std::vector<std::string> labels_along(const Experiment& layout, const std::string& axis) {
  if (axis.empty()) return {""};
  std::vector<std::string> labels;
  for (const auto& run : layout.runs) {
    const std::string label = label_of(run, axis);
    if (label.empty() || std::find(labels.begin(), labels.end(), label) != labels.end()) continue;
    labels.push_back(label);
  }
  return labels;
}

// Whether a cell stands at (row, column). A dense cell has no schedule and stands at the first.
template <typename C>
bool stands_at(const C& cell, const std::string& axis, const std::string& label, bool first) {
  if (axis.empty()) return true;
  const std::string own = label_of(cell, axis);
  return own == label || (axis == "schedule" && own.empty() && first);
}

std::string verdict_text(const Judgement& judgement) {
  return judgement.verdict ? std::string(name(*judgement.verdict)) : std::string();
}

std::string not_run_text() { return std::string(name(Verdict::kNotRun)); }

// --- footnotes ---

// Letters for remarks, given out in the order of their first use.
class Footnotes {
 public:
  std::string letter(const std::string& text) {
    const auto found = std::find(texts_.begin(), texts_.end(), text);
    const auto at = static_cast<size_t>(found - texts_.begin());
    if (found == texts_.end()) texts_.push_back(text);
    std::string letters(1, static_cast<char>('a' + at % 26));
    if (at >= 26) letters.insert(0, 1, static_cast<char>('a' + at / 26 - 1));
    return letters;
  }

  void append_to(std::vector<std::string>& notes) {
    for (const auto& text : std::vector<std::string>(texts_)) {
      notes.push_back(letter(text) + ": " + text);
    }
  }

 private:
  std::vector<std::string> texts_;
};

// --- measured values ---

class PaperTable {
 public:
  PaperTable(const Experiment& layout, const Experiment& shown, Contents contents,
             const PaperOptions& options)
      : layout_(layout),
        shown_(shown),
        set_(std::move(contents), options.include_tainted),
        rows_(labels_along(layout, layout.paper.rows)),
        columns_(labels_along(layout, layout.paper.columns)) {}

  Table make();

 private:
  struct Place {
    size_t row = 0, column = 0;
  };

  // What the paper prints there; nothing where its list is shorter.
  static ReportedNumber reported(const ReportedValue& value, Place at) {
    if (at.row >= value.paper.size() || at.column >= value.paper[at.row].size()) return {};
    return value.paper[at.row][at.column];
  }

  template <typename C>
  bool stands(const C& cell, Place at) const {
    const auto& paper = layout_.paper;
    return stands_at(cell, paper.rows, rows_[at.row], at.row == 0) &&
           stands_at(cell, paper.columns, columns_[at.column], at.column == 0);
  }

  // What a cell has of settings that a planned run has otherwise, "epochs=4". Not the threads:
  // where a file leaves them open they are those of whatever machine reads it.
  static std::string differing(const Cell& cell, const RunConfig& config) {
    const Settings wanted = settings_of(config);
    std::string text;
    for (const auto& setting : cell.settings) {
      const auto& [key, value] = setting;
      if (key == "threads" || std::count(wanted.begin(), wanted.end(), setting) > 0) continue;
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
    }
    return text;
  }

  // Whether the scale shown plans the runs of a row there. A store also keeps those of an earlier
  // text of the file, and those that flags made of it.
  bool as_planned(const Row& row, Place at) const {
    const Cell& cell = *row.first;
    return std::any_of(shown_.runs.begin(), shown_.runs.end(), [&](const PlannedRun& run) {
      return stands(run, at) && run.config.method == cell.method &&
             run.config.network == cell.network && run.config.dataset == cell.dataset &&
             Json(run.config.schedule).dump() == cell.schedule &&
             differing(cell, run.config).empty();
    });
  }

  // The row of the store there: one that is planned before others, of several the one with most
  // results.
  const Row* find(Place at) const {
    const Row* best = nullptr;
    std::pair<bool, int64_t> best_rank;
    for (const auto& row : set_.rows()) {
      if (!stands(*row.first, at)) continue;
      const std::pair rank{row.finished > 0 && as_planned(row, at), row.finished};
      if (best == nullptr || rank > best_rank) best = &row, best_rank = rank;
    }
    return best;
  }

  // Why a row is not the item's: what differs from what the scale shown plans there; "" if nothing
  // does.
  std::string other_settings(const Row& row, Place at) const {
    if (as_planned(row, at)) return "";
    const auto* run = planned(shown_, at);
    const std::string text = run == nullptr ? "" : differing(*row.first, run->config);
    return text.empty() ? "made with other settings than the item's"
                        : "made with other settings than the item's: " + text;
  }

  // The planned run there, of the item at full scale or of the scale shown.
  const PlannedRun* planned(const Experiment& experiment, Place at) const {
    for (const auto& run : experiment.runs) {
      if (stands(run, at)) return &run;
    }
    return nullptr;
  }

  // The scale of what is measured there: a smaller one may leave some runs as the paper has them.
  Scale scale_at(Place at) const {
    const auto *full = planned(layout_, at), *run = planned(shown_, at);
    const bool same = full != nullptr && run != nullptr && full->key == run->key;
    return same ? Scale::kFull : shown_.scale;
  }

  // Where the exact training stands that a cell is compared with: in the same row or column if
  // networks or data sets are told apart there, else the first of the table. A row without one of
  // its own has that of another row with its network and data.
  std::optional<Place> baseline(Place at) const {
    const auto& paper = layout_.paper;
    const auto tells_apart = [](const std::string& axis) {
      return axis == "network" || axis == "dataset";
    };
    const auto* own = planned(layout_, at);
    std::optional<Place> elsewhere;
    for (size_t row = 0; row < rows_.size(); ++row) {
      for (size_t column = 0; column < columns_.size(); ++column) {
        const auto* run = planned(layout_, {row, column});
        if (run == nullptr || run->config.method != "dense") continue;
        const bool beside = (!tells_apart(paper.rows) || row == at.row) &&
                            (!tells_apart(paper.columns) || column == at.column);
        if (beside) return Place{row, column};
        const bool same = own != nullptr && run->config.network == own->config.network &&
                          run->config.dataset == own->config.dataset;
        if (same && !elsewhere) elsewhere = Place{row, column};
      }
    }
    return elsewhere;
  }

  std::string why_none(Place at, const ReportedValue& value) const {
    if (!value.not_run.empty()) return value.not_run;
    const auto* full = planned(layout_, at);
    if (full == nullptr) return "the paper has no such cell";
    const auto* run = planned(shown_, at);
    if (run == nullptr) return fmt::format("not part of the {} scale", name(shown_.scale));
    if (!run->excluded.empty()) return run->excluded;
    const bool timed = is_speed(value.quantity);
    const Row* row = find(at);
    const Ends ends = row == nullptr ? Ends{} : ends_of(*row, timed ? "timing" : "accuracy");
    if (ends.finished == 0) {
      if (ends.diverged > 0) return timed ? "its timing runs diverged" : "its runs diverged";
      if (ends.failed > 0) return timed ? "its timing runs failed" : "its runs failed";
      return timed ? "no timing run in the store" : "no finished run in the store";
    }
    if (timed) {
      return row->notes[kTainted] ? "its timing was disturbed: sweep --rerun tainted times it again"
                                  : "its timing runs have no pair of blocks";
    }
    if (value.quantity == "accuracy_loss") return "no dense run of its seeds to compare with";
    if (value.quantity == "time_to_target") {
      return row->target ? "no run reached the target" : "the experiment has no target";
    }
    return "its runs did not record it";
  }

  // How the runs of a row for one purpose ended.
  struct Ends {
    int64_t finished = 0, diverged = 0, failed = 0;
  };

  static Ends ends_of(const Row& row, std::string_view purpose) {
    Ends ends;
    for (const auto* cell : row.cells) {
      const Run* run = cell->run();
      if (cell->purpose != purpose || run == nullptr) continue;
      ends.finished += run->finished();
      ends.diverged += run->state == RunState::kDiverged;
      ends.failed += run->state == RunState::kFailed;
    }
    return ends;
  }

  Measured of_summary(const Summary& summary, const Row& row) const {
    Measured measured;
    measured.n = summary.n;
    measured.value = summary.mean;
    measured.lossy = row.notes[kLossy];
    if (summary.half) {
      measured.lo = summary.mean - *summary.half;
      measured.hi = summary.mean + *summary.half;
    }
    return measured;
  }

  Measured loss_at(Place at, bool best) const {
    const Row* row = find(at);
    const auto base = baseline(at);
    const Row* dense = base ? find(*base) : nullptr;
    Measured measured;
    if (row == nullptr) return measured;
    if (dense == row) return measured;
    if (dense == nullptr) {
      measured.why_none = "no dense run to compare with";
      return measured;
    }
    return of_summary(paired_difference(set_.losses(*row, *dense, best)), *row);
  }

  Measured measure(const ReportedValue& value, Place at) const {
    Measured measured;
    const Row* row = find(at);
    const bool best = value.definition.starts_with("best");
    if (row != nullptr && value.not_run.empty()) {
      if (value.quantity == "accuracy") {
        measured = of_summary(best ? row->best : row->accuracy, *row);
      } else if (value.quantity == "accuracy_loss") {
        measured = loss_at(at, best);
      } else if (is_speed(value.quantity)) {
        measured = speedup_of(*row, value.quantity == "time_saved");
      } else if (value.quantity == "compute_reduction") {
        measured = of_summary(compute_reduction(*row, is_of_approximated(value)), *row);
      } else if (value.quantity == "density") {
        measured = of_summary(density(*row), *row);
      } else if (value.quantity == "loss") {
        measured = of_summary(train_loss(*row), *row);
      } else if (value.quantity == "time_to_target") {
        measured = of_summary(row->time_to_target, *row);
      }
    }
    if (measured.n == 0 && measured.why_none.empty()) measured.why_none = why_none(at, value);
    return measured;
  }

  static Measured speedup_of(const Row& row, bool saved) {
    Measured measured;
    measured.n = row.timing_runs;
    measured.pairs = row.speedup.n;
    if (measured.n == 0) return measured;
    const auto as = [saved](double ratio) { return saved ? 100 * (1 - 1 / ratio) : ratio; };
    measured.value = as(row.speedup.ratio);
    if (row.speedup.lo) measured.lo = as(*row.speedup.lo), measured.hi = as(*row.speedup.hi);
    return measured;
  }

  static bool is_of_approximated(const ReportedValue& value) {
    return value.definition == "of the approximated layers";
  }

  // Percent of the multiply-accumulates that were left out: of all layers and products, or of those
  // alone that are approximated.
  Summary compute_reduction(const Row& row, bool approximated) const {
    std::vector<double> values;
    for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
      const auto counts = set_.contents().layers.find(run->run_id);
      if (counts == set_.contents().layers.end()) continue;
      double dense = 0, done = 0;
      for (const auto& count : counts->second) {
        if (approximated && count.method == "dense") continue;
        dense += static_cast<double>(count.macs_dense);
        done += static_cast<double>(count.macs_done);
      }
      if (dense > 0) values.push_back(100 * (1 - done / dense));
    }
    return summarize(values);
  }

  // Of the entries of all convolutions' gradients, as Ye et al. 2020 count them (section 6.2).
  Summary density(const Row& row) const {
    std::vector<double> values;
    for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
      const auto found = set_.contents().gradient_density.find(run->run_id);
      if (found != set_.contents().gradient_density.end()) values.push_back(found->second);
    }
    return summarize(values);
  }

  Summary train_loss(const Row& row) const {
    std::vector<double> values;
    for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
      const auto found = set_.contents().loss.find({run->run_id, "train"});
      if (found != set_.contents().loss.end()) values.push_back(found->second.back().value);
    }
    return summarize(values);
  }

  // An accuracy column of the paper also says how much each method loses against dense; that is
  // what can be judged on other data and at a smaller scale.
  struct Shown {
    ReportedValue value;
    bool is_difference = false;  // from dense
    bool derived = false;        // computed from the paper's accuracies
  };

  std::vector<Shown> shown_values() const {
    std::vector<Shown> shown;
    for (const auto& value : layout_.paper.values) {
      shown.push_back({value, value.quantity == "accuracy_loss", false});
      if (value.quantity != "accuracy" || !has_numbers(value)) continue;
      ReportedValue loss = value;
      loss.quantity = "accuracy_loss";
      loss.unit = "pp";
      loss.tolerance.reset();  // that of accuracies; a difference is judged by the item's margin
      loss.note.clear();
      for (auto& row : loss.paper) {
        for (auto& number : row) number = {};
      }
      bool any = false;
      for (size_t row = 0; row < rows_.size(); ++row) {
        for (size_t column = 0; column < columns_.size(); ++column) {
          const Place at{row, column};
          const auto base = baseline(at);
          if (!base || (base->row == row && base->column == column)) continue;
          const auto dense = reported(value, *base).value, own = reported(value, at).value;
          if (!dense || !own) continue;
          // As many decimals as the paper prints.
          const double difference = std::round(1000 * (*dense - *own)) / 1000;
          loss.paper[row][column] = {fixed(difference, 2), difference};
          any = true;
        }
      }
      const bool has_own =
          std::any_of(layout_.paper.values.begin(), layout_.paper.values.end(),
                      [](const ReportedValue& other) { return other.quantity == "accuracy_loss"; });
      if (any && !has_own) shown.push_back({loss, true, true});
    }
    return shown;
  }

  static bool has_numbers(const ReportedValue& value) {
    for (const auto& row : value.paper) {
      for (const auto& number : row) {
        if (number.value) return true;
      }
    }
    return false;
  }

  std::string header(const Shown& shown, size_t column) const {
    std::string text = shown.value.quantity;
    std::replace(text.begin(), text.end(), '_', ' ');
    if (shown.is_difference) text = "loss vs dense";
    if (shown.value.quantity == "accuracy" && shown.value.definition.starts_with("best")) {
      text = "best accuracy";
    }
    const auto& values = layout_.paper.values;
    const auto alike = std::count_if(values.begin(), values.end(), [&](const auto& other) {
      return other.quantity == shown.value.quantity && other.basis == shown.value.basis;
    });
    const bool named = text == "best accuracy" || shown.value.definition == "final";
    if (alike > 1 && !named && !shown.derived && !shown.value.definition.empty()) {
      text += ", " + shown.value.definition;
    }
    if (!shown.value.unit.empty()) text += ", " + shown.value.unit;
    if (shown.value.basis != "measured-e2e" && !shown.derived) {
      text += fmt::format(" ({})", shown.value.basis);
    }
    return columns_[column].empty() ? text : fmt::format("{}: {}", columns_[column], text);
  }

  static std::string measured_text(const Measured& measured, const ReportedValue& value) {
    const int digits = digits_of(value);
    std::string text = fixed(measured.value, digits);
    if (measured.lo && measured.hi) {
      if (is_timing(value.quantity)) {
        text += fmt::format(" [{}, {}]", fixed(*measured.lo, digits), fixed(*measured.hi, digits));
      } else {
        text += fmt::format(" ± {}", fixed((*measured.hi - *measured.lo) / 2, digits));
      }
    }
    if (measured.pairs == 0) return text + fmt::format(" (n={})", measured.n);
    return text + fmt::format(" ({} pairs of blocks{})", measured.pairs,
                              measured.n == 1 ? "" : fmt::format(" in {} runs", measured.n));
  }

  const Experiment& layout_;
  const Experiment& shown_;
  const RowSet set_;
  const std::vector<std::string> rows_, columns_;
};

const std::vector<std::string>& paper_columns() {
  static const std::vector<std::string> columns = {
      "item",  "scale",    "row",     "column",   "quantity",  "definition",  "unit",
      "basis", "hardware", "printed", "reported", "measured",  "measured_lo", "measured_hi",
      "n",     "verdict",  "reason",  "notes",    "paper_note"};
  return columns;
}

std::string item_title(const Experiment& shown) {
  std::string title = shown.title;
  title += fmt::format(" ({} scale{}{})", name(shown.scale), shown.scale_note.empty() ? "" : ": ",
                       shown.scale_note);
  return title;
}

void add_findings(const Experiment& layout, Table& table) {
  if (!layout.paper.finding.empty()) table.notes.push_back("the paper: " + layout.paper.finding);
  for (const auto& value : layout.paper.values) {
    if (!value.note.empty()) {
      table.notes.push_back(fmt::format("{}: {}", value.quantity, value.note));
    }
  }
}

Table PaperTable::make() {
  Table table;
  table.name = "paper";
  table.title = item_title(shown_);
  table.columns = paper_columns();
  const auto values = shown_values();
  Footnotes footnotes;
  table.text_columns = {layout_.paper.rows};
  for (size_t column = 0; column < columns_.size(); ++column) {
    for (const auto& shown : values) table.text_columns.push_back(header(shown, column));
  }
  for (size_t row = 0; row < rows_.size(); ++row) {
    auto& texts = table.text_rows.emplace_back();
    texts.push_back(rows_[row]);
    for (size_t column = 0; column < columns_.size(); ++column) {
      const Place at{row, column};
      const Row* found = find(at);
      const auto base = baseline(at);
      const bool is_base = base && base->row == row && base->column == column;
      for (const auto& [value, is_difference, derived] : values) {
        const ReportedNumber number = reported(value, at);
        const bool exists = planned(layout_, at) != nullptr;
        if (!exists && number.printed.empty()) {
          texts.emplace_back();
          continue;
        }
        const bool reference =
            is_base && (is_against_dense(value.quantity) || is_of_approximated(value));
        Measured measured;
        if (!reference || value.quantity == "speedup") measured = measure(value, at);
        Judgement judgement;
        if (!reference) {
          judgement = judge(value, number.value, measured, scale_at(at), is_difference,
                            layout_.paper.margin);
        }
        std::string notes, marks;
        if (found != nullptr && measured.n > 0) {
          std::string others = other_settings(*found, at);
          const Row* dense = base && is_difference ? find(*base) : nullptr;
          if (others.empty() && dense != nullptr) {
            others = other_settings(*dense, *base);
            if (!others.empty()) others = "its dense runs were " + others;
          }
          if (!others.empty() && judgement.verdict) {
            judgement = {Verdict::kNotComparable, others};
          } else if (!others.empty()) {
            notes = others;
            marks = footnotes.letter(others);
          }
          for (int note = 0; note < kNotes; ++note) {
            const bool about_time = note == kTainted || note == kShared || note == kOtherNetwork;
            if (!found->notes[note] || (about_time && !is_timing(value.quantity))) continue;
            if (note == kShared) continue;  // no throughput here
            notes += (notes.empty() ? "" : "; ") + std::string(kNoteNames[note]);
            marks += (marks.empty() ? "" : ",") + footnotes.letter(kNoteTexts[note]);
          }
        }
        table.rows.push_back({shown_.item, std::string(name(shown_.scale)), rows_[row],
                              columns_[column], value.quantity, value.definition, value.unit,
                              value.basis, value.hardware, number.printed, field(number.value),
                              measured.n > 0 ? Field(measured.value) : Field(), field(measured.lo),
                              field(measured.hi), measured.n, verdict_text(judgement),
                              judgement.reason, notes, value.note});
        std::string text;
        if (!number.printed.empty()) text = "paper " + number.printed;
        const auto add = [&](const std::string& piece) {
          if (!piece.empty()) text += (text.empty() ? "" : "; ") + piece;
        };
        if (measured.n > 0) {
          add("ours " + measured_text(measured, value) + (marks.empty() ? "" : " [" + marks + "]"));
        } else if (reference) {
          add("the reference");
        }
        if (judgement.verdict) {
          add(verdict_text(judgement) +
              (judgement.reason.empty() ? "" : " [" + footnotes.letter(judgement.reason) + "]"));
        }
        texts.push_back(text);
      }
    }
  }
  add_findings(layout_, table);
  footnotes.append_to(table.notes);
  if (!table.rows.empty()) {
    table.notes.emplace_back(
        "±, [ ]: 95 % intervals. REPRODUCED: all of the interval lies within the tolerance of the "
        "paper's number; DIFFERS: none of it does");
  }
  if (!set_.contents().excluded.empty()) {
    table.notes.insert(table.notes.end(), set_.contents().excluded.begin(),
                       set_.contents().excluded.end());
  }
  return table;
}

// --- items that are no trainings ---

// One method on one shape in a stored benchmark.
struct KernelResult {
  std::string method, verdict, reason;
  std::optional<double> ns, baseline_ns, plan_ns, ratio, lo, hi;
  int64_t n = 0;  // samples
};

// What a benchmark has of a number of the paper: a speedup, or the time, in ms, of what the number
// defines as dense or approximated.
Measured of_kernel(const ReportedValue& value, const KernelResult& result) {
  Measured measured;
  const auto take = [&](const std::optional<double>& number, double unit) {
    if (!number) return;
    measured.n = 1;
    measured.pairs = result.n;
    measured.value = *number / unit;
  };
  if (value.quantity == "speedup") {
    take(result.ratio, 1);
    measured.lo = result.lo, measured.hi = result.hi;
  } else if (value.quantity == "time" && value.unit == "ms") {
    if (value.definition == "dense") take(result.baseline_ns, 1e6);
    if (value.definition == "approximated") take(result.ns, 1e6);
  }
  if (measured.n == 0) {
    measured.why_none = result.reason.empty() ? result.verdict : result.reason;
  }
  return measured;
}

// The last stored benchmark of the item, shape by shape, each time of the paper beside ours.
Table kernel_table(const std::string& db, const Experiment& layout, const Experiment& shown) {
  Table table;
  table.name = "paper";
  table.title = item_title(shown);
  table.columns = paper_columns();
  std::map<std::string, std::vector<KernelResult>> results;  // by the shape's label
  std::vector<std::string> order;
  if (std::filesystem::exists(db)) {
    auto store = open_snapshot(db);
    for_each_row(
        store,
        "SELECT label, method, verdict, reason, ns_median, baseline_ns_median, plan_ns, ratio, "
        "ratio_lo, ratio_hi, n, shape, variant FROM v_kernel WHERE method <> 'dense' AND "
        "kernel_run_id = "
        "(SELECT max(kernel_run_id) FROM kernel_run WHERE experiment = ?) ORDER BY kernel_case_id",
        [&](SQLite::Statement& row) {
          KernelResult result{text_at(row, 1) + ", " + text_at(row, 12),
                              text_at(row, 2),
                              text_at(row, 3),
                              optional_real(row.getColumn(4)),
                              optional_real(row.getColumn(5)),
                              optional_real(row.getColumn(6)),
                              optional_real(row.getColumn(7)),
                              optional_real(row.getColumn(8)),
                              optional_real(row.getColumn(9)),
                              row.getColumn(10).getInt64()};
          std::string label = text_at(row, 0);
          if (label.empty()) label = text_at(row, 11);
          if (!results.contains(label)) order.push_back(label);
          results[label].push_back(std::move(result));
        },
        shown.id);
  }
  const auto& paper = layout.paper;
  std::vector<std::string> labels = paper.labels;
  for (const auto& label : order) {
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
  }
  Footnotes footnotes;
  table.text_columns = {"shape"};
  for (const auto& value : paper.values) {
    std::string text = value.definition.empty() ? value.quantity : value.definition;
    if (!value.unit.empty()) text += ", " + value.unit;
    table.text_columns.push_back(text);
  }
  for (const auto* extra : {"ours: method", "ours: exact, ms", "ours: approximated, ms",
                            "ours: of it choosing, ms", "ours: speedup"}) {
    table.text_columns.emplace_back(extra);
  }
  const auto milliseconds = [](const std::optional<double>& ns) {
    return ns ? fixed(*ns / 1e6, 3) : std::string("–");
  };
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto found = results.find(labels[i]);
    const std::string why = "no benchmark of it in the store";
    const KernelResult* first = found == results.end() ? nullptr : &found->second.front();
    for (const auto& value : paper.values) {
      const ReportedNumber number =
          i < value.paper.size() && !value.paper[i].empty() ? value.paper[i][0] : ReportedNumber();
      Measured measured;
      if (first != nullptr && value.not_run.empty()) measured = of_kernel(value, *first);
      if (measured.n == 0 && measured.why_none.empty()) {
        measured.why_none = value.not_run.empty() ? why : value.not_run;
      }
      const Judgement judgement = number.value || measured.n > 0
                                      ? judge(value, number.value, measured, shown.scale,
                                              /*is_difference=*/false, paper.margin)
                                      : Judgement();
      table.rows.push_back({shown.item, std::string(name(shown.scale)), labels[i], std::string(),
                            value.quantity, value.definition, value.unit, value.basis,
                            value.hardware, number.printed, field(number.value),
                            measured.n > 0 ? Field(measured.value) : Field(), field(measured.lo),
                            field(measured.hi), measured.n, verdict_text(judgement),
                            judgement.reason, std::string(), value.note});
    }
    std::vector<std::string> paper_texts = {labels[i]};
    for (const auto& value : paper.values) {
      paper_texts.push_back(i < value.paper.size() && !value.paper[i].empty()
                                ? value.paper[i][0].printed
                                : std::string());
    }
    if (found == results.end()) {
      auto texts = paper_texts;
      texts.push_back(not_run_text() + " [" + footnotes.letter(why) + "]");
      texts.resize(table.text_columns.size());
      table.text_rows.push_back(std::move(texts));
      continue;
    }
    for (const auto& result : found->second) {
      auto texts = paper_texts;
      const std::string marks =
          result.reason.empty() ? "" : " [" + footnotes.letter(result.reason) + "]";
      texts.push_back(result.method);
      texts.push_back(milliseconds(result.baseline_ns));
      texts.push_back(milliseconds(result.ns));
      texts.push_back(milliseconds(result.plan_ns));
      texts.push_back(result.ratio && result.lo
                          ? fmt::format("{:.2f}× [{:.2f}, {:.2f}], {}{}", *result.ratio, *result.lo,
                                        *result.hi, result.verdict, marks)
                          : result.verdict + marks);
      table.text_rows.push_back(std::move(texts));
      paper_texts.assign(paper_texts.size(), "");
    }
  }
  add_findings(layout, table);
  footnotes.append_to(table.notes);
  table.notes.emplace_back(
      "ours: medians; speedup of one product with its 95 % interval, choosing included. Times of "
      "different machines are NOT COMPARABLE");
  return table;
}

// What the paper prints, a line for each of its quantities: a study's table has columns of its own.
void add_reported(const Experiment& layout, Table& table) {
  for (const auto& value : layout.paper.values) {
    std::string line;
    for (size_t row = 0; row < value.paper.size(); ++row) {
      for (const auto& number : value.paper[row]) {
        if (number.printed.empty()) continue;
        line += line.empty() ? "" : ", ";
        if (row < layout.paper.labels.size()) line += layout.paper.labels[row] + " ";
        line += number.printed;
      }
    }
    if (line.empty()) continue;
    table.notes.push_back(fmt::format("printed in the paper: {} ({}): {}",
                                      value.definition.empty() ? value.quantity : value.definition,
                                      value.basis, line));
  }
}

// The last stored table of the item's study, as it is.
Table study_table(const std::string& db, const Experiment& layout, const Experiment& shown) {
  Table table;
  table.name = "paper";
  table.title = item_title(shown);
  bool found = false;
  if (std::filesystem::exists(db)) {
    auto store = open_snapshot(db);
    for_each_row(
        store,
        "SELECT content, hostname, git_sha FROM v_study JOIN host USING(host_id) JOIN build "
        "USING(build_id) WHERE experiment = ? ORDER BY study_run_id DESC LIMIT 1",
        [&](SQLite::Statement& row) {
          const Json content = Json::parse(text_at(row, 0), nullptr, /*allow_exceptions=*/false);
          if (!content.is_object()) return;
          found = true;
          for (const auto& name : content.value("columns", Json::array())) {
            table.columns.push_back(name.is_string() ? name.get<std::string>() : name.dump());
          }
          for (const auto& line : content.value("rows", Json::array())) {
            auto& fields = table.rows.emplace_back();
            auto& texts = table.text_rows.emplace_back();
            for (const auto& cell : line) {
              if (cell.is_number_integer()) {
                fields.emplace_back(cell.get<int64_t>());
                texts.push_back(cell.dump());
              } else if (cell.is_number()) {
                fields.emplace_back(cell.get<double>());
                texts.push_back(fmt::format("{:.4g}", cell.get<double>()));
              } else {
                fields.push_back(cell.is_string() ? Field(cell.get<std::string>()) : Field());
                texts.push_back(cell.is_string() ? cell.get<std::string>() : "–");
              }
            }
          }
          table.text_columns = table.columns;
          table.notes.push_back(fmt::format("measured on {} with {}", text_at(row, 1),
                                            text_at(row, 2).substr(0, 12)));
        },
        shown.id);
  }
  add_findings(layout, table);
  add_reported(layout, table);
  if (!found) {
    table.columns = {"item", "verdict", "reason"};
    table.rows = {{shown.item, not_run_text(), "the study is not in the store"}};
  }
  return table;
}

Table picture_table(const Experiment& layout) {
  Table table;
  table.name = "paper";
  table.title = layout.title;
  table.columns = {"network", "schedule", "rule", "layers", "steps", "method", "from", "until"};
  for (const auto& network : layout.networks) {
    for (const auto& schedule : layout.schedules) {
      int64_t number = 0;
      for (const auto& rule : schedule.rules) {
        table.rows.push_back({network.label, schedule.label, ++number, rule.layers, rule.steps,
                              rule.method.empty() ? std::string("the run's") : rule.method,
                              rule.from, rule.until});
      }
    }
  }
  add_findings(layout, table);
  table.notes.emplace_back("drawn layer by step by `approxtrain schedule show`");
  return table;
}

Table not_run_table(const Experiment& layout) {
  Table table;
  table.name = "paper";
  table.title = layout.title;
  table.columns = paper_columns();
  table.text_columns = {"quantity", "printed in the paper", "ours"};
  for (const auto& value : layout.paper.values) {
    for (size_t row = 0; row < value.paper.size(); ++row) {
      for (const auto& number : value.paper[row]) {
        const std::string label =
            row < layout.paper.labels.size() ? layout.paper.labels[row] : std::string();
        table.rows.push_back({layout.item, std::string("full"), label, std::string(),
                              value.quantity, value.definition, value.unit, value.basis,
                              value.hardware, number.printed, field(number.value), Field(), Field(),
                              Field(), int64_t{0}, not_run_text(), layout.not_run, std::string(),
                              value.note});
        table.text_rows.push_back({(label.empty() ? "" : label + ": ") + value.quantity + " " +
                                       value.unit + " (" + value.basis + ")",
                                   number.printed, not_run_text()});
      }
    }
  }
  if (table.rows.empty()) {
    table.rows.push_back({layout.item, std::string("full"), Field(), Field(), Field(), Field(),
                          Field(), Field(), Field(), Field(), Field(), Field(), Field(), Field(),
                          int64_t{0}, not_run_text(), layout.not_run, Field(), Field()});
    table.text_rows.push_back({layout.paper.item, "–", not_run_text()});
  }
  add_findings(layout, table);
  table.notes.push_back("NOT RUN: " + layout.not_run);
  return table;
}

}  // namespace

Judgement judge(const ReportedValue& value, const std::optional<double>& reported,
                const Measured& measured, Scale scale, bool is_difference, double margin) {
  if (measured.n == 0) return {Verdict::kNotRun, measured.why_none};
  if (!reported) return {};
  const bool count = value.basis == "count" || value.quantity == "compute_reduction";
  if (scale == Scale::kSmoke) {
    return {Verdict::kNotComparable, "smoke scale: it only shows that the item runs"};
  }
  if (!value.hardware.empty() && is_timing(value.quantity)) {
    return {Verdict::kNotComparable, "measured on other hardware: " + value.hardware};
  }
  if (value.basis == "estimated") {
    return {Verdict::kNotComparable, "the paper's number is an estimate, ours is measured"};
  }
  if (!is_difference && !count) {
    if (scale != Scale::kFull) {
      return {Verdict::kNotComparable, "reduced scale: only differences from dense are judged"};
    }
    if (measured.lossy) {
      return {Verdict::kNotComparable, "lossy data: only differences from dense are judged"};
    }
  }
  const double tolerance = is_difference ? value.tolerance.value_or(margin)
                                         : value.tolerance.value_or(count ? 1.0 : 0.0);
  if (!count) {
    if (measured.n < kSeedsForAVerdict || !measured.lo || !measured.hi) {
      return {Verdict::kNotComparable,
              fmt::format("n = {}: fewer than {} seeds", measured.n, kSeedsForAVerdict)};
    }
    if (tolerance <= 0) {
      return {Verdict::kNotComparable, "no tolerance is declared for it"};
    }
  }
  const double lo = measured.lo.value_or(measured.value), hi = measured.hi.value_or(measured.value);
  const std::string within = fmt::format("{} {} around the paper's number", shortest(tolerance),
                                         value.unit.empty() ? "units" : value.unit);
  switch (agreement(lo, hi, *reported, tolerance)) {
    case Agreement::kAgrees:
      return {Verdict::kReproduced, "within " + within};
    case Agreement::kDiffers:
      return {Verdict::kDiffers, "outside " + within};
    case Agreement::kUnresolved:
      return {Verdict::kNotComparable, "the interval is too wide to tell: it crosses " + within};
  }
  return {};
}

Table report_paper(const std::string& db, const Experiment& layout, const Experiment& shown,
                   const PaperOptions& options) {
  switch (layout.kind) {
    case ItemKind::kKernels:
      return kernel_table(db, layout, shown);
    case ItemKind::kStudy:
      return study_table(db, layout, shown);
    case ItemKind::kPicture:
      return picture_table(layout);
    case ItemKind::kNotRun:
      return not_run_table(layout);
    case ItemKind::kRuns:
      break;
  }
  Contents contents;
  if (stored_items(db).contains(shown.id)) {
    contents =
        read_contents(db, {.experiment = shown.id, .include_tainted = options.include_tainted});
  }
  return PaperTable(layout, shown, std::move(contents), options).make();
}

}  // namespace approx
