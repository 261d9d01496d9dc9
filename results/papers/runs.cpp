#include "results/papers/runs.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "results/papers/cells.h"
#include "results/papers/comparable.h"
#include "results/papers/footnotes.h"
#include "results/papers/line.h"
#include "results/papers/quantities.h"
#include "results/papers/values.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

// Adds `piece` behind what is there.
void add_piece(std::string& text, const char* between, const std::string& piece) {
  if (piece.empty()) return;
  if (!text.empty()) text += between;
  text += piece;
}

constexpr const char* kNotThePapers = "not trained as in the paper: ";

class RunsTable {
 public:
  RunsTable(const PaperGrid& grid, const PaperCells& cells)
      : grid_(grid), cells_(cells), values_(shown_values(grid)) {}

  Table make() {
    std::vector<std::string> headers = {grid_.layout().paper.rows};
    for (size_t column = 0; column < grid_.columns().size(); ++column) {
      for (const auto& value : values_) headers.push_back(value_header(grid_, value, column));
    }
    measure();
    std::vector<std::vector<std::string>> texts;
    for (size_t row = 0; row < grid_.rows().size(); ++row) {
      texts.push_back({grid_.rows()[row]});
      for (size_t column = 0; column < grid_.columns().size(); ++column) {
        for (size_t i = 0; i < values_.size(); ++i) {
          texts.back().push_back(add_line(i, {row, column}));
        }
      }
    }
    Table table = paper_table(item_title(grid_.shown()));
    fill(table, paper_columns(), lines_);
    table.text_columns = std::move(headers);
    table.text_rows = std::move(texts);
    table.notes = finding_notes(grid_.layout(), grid_.shown());
    add_notes(table, footnotes_.lines());
    if (!table.rows.empty()) {
      add_notes(table, {"±, [ ]: 95 % intervals. REPRODUCED: all of the interval lies within the "
                        "tolerance of the paper's number; DIFFERS: none of it does"});
    }
    if (losses_ > 0) add_notes(table, {holm_note(losses_)});
    add_notes(table, cells_.excluded());
    return table;
  }

 private:
  // Before any line is made: the p of a loss is adjusted over all losses of the table.
  void measure() {
    std::vector<Measured*> losses;
    std::vector<double> p;
    for (size_t i = 0; i < values_.size(); ++i) {
      const ReportedValue& value = values_[i].value;
      for (size_t row = 0; row < grid_.rows().size(); ++row) {
        for (size_t column = 0; column < grid_.columns().size(); ++column) {
          const Place at{row, column};
          // The reference's own time says what noise looks like.
          if (is_reference(value, at) && !is_speed(value.quantity)) continue;
          Measured& measured = measured_[{i, row, column}] = cells_.measure(value, at);
          if (!measured.p) continue;
          losses.push_back(&measured);
          p.push_back(*measured.p);
        }
      }
    }
    const auto adjusted = holm(p);
    for (size_t i = 0; i < losses.size(); ++i) losses[i]->p_holm = adjusted[i];
    losses_ = static_cast<int64_t>(losses.size());
  }

  // The line of a quantity at a place, if there is one; returns what people read there.
  std::string add_line(size_t index, Place at) {
    const ShownValue& shown = values_[index];
    const ReportedValue& value = shown.value;
    const ReportedNumber number = PaperGrid::reported(value, at);
    if (grid_.planned_in_full(at) == nullptr && number.printed.empty()) return "";
    const bool reference = is_reference(value, at);
    PaperLine line{.item = grid_.shown().item,
                   .scale = grid_.shown().scale,
                   .row = grid_.rows()[at.row],
                   .column = grid_.columns()[at.column],
                   .value = &value,
                   .number = number};
    const auto measured = measured_.find({index, at.row, at.column});
    if (measured != measured_.end()) line.measured = measured->second;
    if (!reference) {
      line.judgement = judge(value, number.value, line.measured, circumstances(shown, at));
    }
    const std::string marks = line.measured.n > 0 ? add_remarks(line, shown, at) : "";
    std::string text = text_of_line(line, marks, reference);
    lines_.push_back(std::move(line));
    return text;
  }

  Circumstances circumstances(const ShownValue& shown, Place at) const {
    Circumstances around{.scale = grid_.scale_at(at),
                         .is_difference = shown.is_difference,
                         .margin = grid_.layout().paper.margin};
    const auto* ours = grid_.planned_as_shown(at);
    const auto* full = grid_.planned_in_full(at);
    if (ours == nullptr || full == nullptr) return around;
    around.departs = shown.is_difference ? loss_departs(*ours, *full, at)
                                         : other_method(ours->config, full->config);
    if (!around.departs.empty()) around.departs = kNotThePapers + around.departs;
    return around;
  }

  // The same of a difference from dense, which two trainings decide.
  std::string loss_departs(const PlannedRun& ours, const PlannedRun& full, Place at) const {
    std::string departs = other_training(ours.config, full.config);
    const auto base = grid_.baseline(at);
    if (departs.empty() && base) {
      const auto* our_base = grid_.planned_as_shown(*base);
      const auto* full_base = grid_.planned_in_full(*base);
      if (our_base != nullptr && full_base != nullptr) {
        departs = other_training(our_base->config, full_base->config);
      }
    }
    return departs.empty() ? stated_departure(grid_.layout().paper, full) : departs;
  }

  // Whether a cell is what others are compared with in this quantity: the exact training, or the
  // row that it names.
  bool is_reference(const ReportedValue& value, Place at) const {
    if (!value.against.empty()) return grid_.rows()[at.row] == value.against;
    return grid_.baseline(at) == at &&
           (is_against_dense(value.quantity) || is_of_approximated(value));
  }

  // Why the runs there are not those of the item, or the dense ones that they are compared with.
  std::string other_settings(const Row& row, const ShownValue& shown, Place at) const {
    std::string others = cells_.other_settings(row, at);
    const auto base = grid_.baseline(at);
    const Row* dense = base && shown.is_difference ? cells_.find(*base) : nullptr;
    if (!others.empty() || dense == nullptr) return others;
    others = cells_.other_settings(*dense, *base);
    return others.empty() ? "" : "its dense runs were " + others;
  }

  // What a measured line must be read with; where it is something else than the item, it is not
  // judged. Returns the letters of the footnotes, "a,b".
  std::string add_remarks(PaperLine& line, const ShownValue& shown, Place at) {
    std::string marks;
    const Row* row = cells_.find(at);
    if (row == nullptr) return marks;
    const std::string others = other_settings(*row, shown, at);
    if (!others.empty() && line.judgement.verdict) {
      line.judgement = {Verdict::kNotComparable, others};
    } else if (!others.empty()) {
      line.notes = others;
      marks = footnotes_.letter(others);
    }
    for (int note = 0; note < kNotes; ++note) {
      const bool of_time = note == kTainted || note == kOtherNetwork || note == kFewProcesses ||
                           note == kAboveCeiling || note == kEarlierRules || note == kTimedByBuilds;
      if (!row->notes[note] || (of_time && !is_timing(shown.value.quantity))) continue;
      if (note == kFew && is_of_processes(shown.value)) continue;  // it counts processes
      if (note == kAboveCeiling && shown.value.basis != Basis::kEndToEnd) continue;  // of steps
      if (note == kShared) continue;  // no throughput here
      const bool of_seconds = note == kTimesElsewhere || note == kShortSeconds;
      if (of_seconds && shown.value.quantity != PaperQuantity::kTimeToTarget) continue;
      add_piece(line.notes, "; ", kNoteNames[note]);
      add_piece(marks, ",", footnotes_.letter(kNoteTexts[note]));
    }
    return marks;
  }

  // "paper 92.0%; ours 91.90 ± 0.21 (n=6) [a]; REPRODUCED [b]".
  std::string text_of_line(const PaperLine& line, const std::string& marks, bool reference) {
    std::string text;
    if (!line.number.printed.empty()) text = "paper " + line.number.printed;
    if (line.measured.n > 0) {
      add_piece(text, "; ",
                "ours " + measured_text(line.measured, *line.value) +
                    (marks.empty() ? "" : " [" + marks + "]"));
    } else if (reference) {
      add_piece(text, "; ", "the reference");
    }
    if (line.judgement.verdict) {
      add_piece(text, "; ", verdict_text(line.judgement) + footnotes_.mark(line.judgement.reason));
    }
    return text;
  }

  const PaperGrid& grid_;
  const PaperCells& cells_;
  const std::vector<ShownValue> values_;
  std::map<std::tuple<size_t, size_t, size_t>, Measured> measured_;  // by value, row, column
  int64_t losses_ = 0;                                               // that have a p
  std::vector<PaperLine> lines_;
  Footnotes footnotes_;
};

}  // namespace

Table paper_runs_table(const PaperGrid& grid, Contents contents, bool include_tainted) {
  const PaperCells cells(grid, std::move(contents), include_tainted);
  return RunsTable(grid, cells).make();
}

}  // namespace approx
