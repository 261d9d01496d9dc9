// A table or figure of a paper that is made of trainings.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "results/papers/cells.h"
#include "results/papers/line.h"
#include "results/papers/table.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

// --- whether a run of ours was made in the way that the paper made its own, as the item's file at
// full scale says: without that, a loss against dense is that of another experiment ---

// A recipe's settings that came later are not among a run's where they are at their defaults.
std::string value_in(const Settings& settings, std::string_view name) {
  static const Json defaults = every_setting(Recipe());
  auto value = setting_of(settings, name);
  if (value.empty() && defaults.contains(name)) {
    const Json& fallback = defaults.at(name);
    value = fallback.is_string() ? fallback.get<std::string>() : fallback.dump();
  }
  return name == "train_examples" && value == "0" ? "all" : value;
}

void add_difference(std::string& text, std::string_view what, const std::string& ours,
                    const std::string& paper) {
  if (ours == paper) return;
  text += fmt::format("{}{}={}, not {}", text.empty() ? "" : "; ", what, ours, paper);
}

void add_settings(std::string& text, const RunConfig& ours, const RunConfig& paper,
                  std::initializer_list<std::string_view> names) {
  const Settings mine = settings_of(ours), theirs = settings_of(paper);
  for (const auto name : names)
    add_difference(text, name, value_in(mine, name), value_in(theirs, name));
}

bool names(const std::vector<std::string>& labels, const std::string& label) {
  return labels.empty() || std::count(labels.begin(), labels.end(), label) > 0;
}

// What a run approximates: "method=zero, not topk_position:k=1"; "" where network, method and
// schedule agree.
std::string other_method(const RunConfig& ours, const RunConfig& paper) {
  std::string text;
  add_difference(text, "network", ours.network, paper.network);
  add_difference(text, "method", ours.method, paper.method);
  if (schedule_text(ours.schedule) != schedule_text(paper.schedule)) {
    text += fmt::format("{}another schedule", text.empty() ? "" : "; ");
  }
  return text;
}

// What decides a loss: the above, the optimizer with its settings, and the length of the training.
// "optimizer=sgd, not adam; epochs=4, not 500"; "" where all agree. The learning rate is not in it:
// papers tune it or leave it out, and so do we.
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
    add_settings(text, ours, paper,
                 {"weight_decay", "decay_norm", "decay_form", "norm_bias_rate", "clip_norm", "ema",
                  "lookahead_every", "lookahead_decay"});
  }
  add_settings(text, ours, paper, {"batch_size", "epochs", "train_examples"});
  return text;
}

// What the file itself says of a run at full scale that the paper's runs had otherwise ([[report.
// departs]]); "" without such a remark.
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

// --- the quantities that the table shows, and how people read them ---

struct ShownValue {
  ReportedValue value;
  bool is_difference = false;  // from dense
  bool derived = false;        // not printed by the paper as such
};

// The losses against dense that the paper's accuracies make; none where it prints no two of them.
std::optional<ReportedValue> derived_loss(const PaperGrid& grid, const ReportedValue& accuracy) {
  ReportedValue loss = accuracy;
  loss.quantity = PaperQuantity::kAccuracyLoss;
  loss.unit = "pp";
  loss.tolerance.reset();  // that of accuracies; a difference is judged by the item's margin
  loss.note.clear();
  for (auto& row : loss.paper) {
    for (auto& number : row) number = {};
  }
  bool any = false;
  for (size_t row = 0; row < grid.rows().size(); ++row) {
    for (size_t column = 0; column < grid.columns().size(); ++column) {
      const Place at{row, column};
      const auto base = grid.baseline(at);
      if (!base || *base == at) continue;
      const auto dense = PaperGrid::reported(accuracy, *base).value;
      const auto own = PaperGrid::reported(accuracy, at).value;
      if (!dense || !own) continue;
      // The difference has as many decimals as the paper prints.
      const double difference = std::round(1000 * (*dense - *own)) / 1000;
      loss.paper[row][column] = {fixed(difference, 2), difference};
      any = true;
    }
  }
  return any ? std::optional(loss) : std::nullopt;
}

// Where the paper has both a speed and a saving of work: how much of the one became the other.
std::optional<ReportedValue> derived_realisation(const std::vector<ReportedValue>& values) {
  const auto has = [&values](auto is) { return std::find_if(values.begin(), values.end(), is); };
  const auto speed = has([](const ReportedValue& value) { return is_speed(value.quantity); });
  const auto work = has([](const ReportedValue& value) {
    return value.quantity == PaperQuantity::kComputeReduction;
  });
  if (speed == values.end() || work == values.end()) return std::nullopt;
  ReportedValue value = *speed;
  value.quantity = PaperQuantity::kRealisation;
  value.definition = {};
  value.unit.clear();
  value.note.clear();
  value.basis = Basis::kEndToEnd;
  for (auto& row : value.paper) {
    for (auto& number : row) number = {};
  }
  return value;
}

int digits_of(const ReportedValue& value) {
  return value.quantity == PaperQuantity::kTime        ? 3
         : value.quantity == PaperQuantity::kTimeSaved ? 1
                                                       : 2;
}

// What the paper prints. An accuracy of it also says how much each method loses against dense,
// which can be judged on other data and at a smaller scale: that follows it, unless the paper
// prints losses of its own. Where it has both a speed and a saving of work, how much of the saving
// became time stands last.
std::vector<ShownValue> shown_values(const PaperGrid& grid) {
  const auto& values = grid.layout().paper.values;
  const bool prints_losses = std::any_of(values.begin(), values.end(), [](const auto& value) {
    return value.quantity == PaperQuantity::kAccuracyLoss;
  });
  std::vector<ShownValue> shown;
  for (const auto& value : values) {
    shown.push_back(
        {.value = value, .is_difference = value.quantity == PaperQuantity::kAccuracyLoss});
    if (value.quantity != PaperQuantity::kAccuracy || prints_losses) continue;
    if (auto loss = derived_loss(grid, value)) {
      shown.push_back({.value = std::move(*loss), .is_difference = true, .derived = true});
    }
  }
  if (auto value = derived_realisation(values)) {
    shown.push_back({.value = std::move(*value), .derived = true});
  }
  return shown;
}

// "90 %: best accuracy, %": the heading of a quantity in a column of the table.
std::string value_header(const PaperGrid& grid, const ShownValue& shown, size_t column) {
  const ReportedValue& value = shown.value;
  const bool best =
      value.quantity == PaperQuantity::kAccuracy && value.definition.measure == Measure::kBest;
  std::string text(name(value.quantity));
  std::replace(text.begin(), text.end(), '_', ' ');
  if (shown.is_difference) text = "loss vs dense";
  if (best) text = "best accuracy";
  const auto& values = grid.layout().paper.values;
  const auto alike = std::count_if(values.begin(), values.end(), [&](const auto& other) {
    return other.quantity == value.quantity && other.basis == value.basis;
  });
  const bool named =
      best || value.definition.measure == Measure::kFinal || value.definition.text.empty();
  if (alike > 1 && !named && !shown.derived) text += ", " + value.definition.text;
  if (!value.unit.empty()) text += ", " + value.unit;
  if (value.basis != Basis::kEndToEnd && !shown.derived) {
    text += fmt::format(" ({})", name(value.basis));
  }
  const std::string& label = grid.columns()[column];
  return label.empty() ? text : fmt::format("{}: {}", label, text);
}

// "91.20 ± 0.31 (n=6)", "1.09 [1.07, 1.11] (10 processes)"; of a loss, one of `losses` in the
// table, "0.31 ± 0.12 (n=6, p=0.031)".
std::string measured_text(const Measured& measured, const ReportedValue& value, int64_t losses) {
  const int digits = digits_of(value);
  std::string text = fixed(measured.value, digits);
  if (measured.lo && measured.hi) {
    if (is_timing(value.quantity)) {
      text += fmt::format(" [{}, {}]", fixed(*measured.lo, digits), fixed(*measured.hi, digits));
    } else {
      text += fmt::format(" ± {}", fixed((*measured.hi - *measured.lo) / 2, digits));
    }
  }
  if (is_of_processes(value)) {
    return text + fmt::format(" ({} {})", measured.n, measured.n == 1 ? "process" : "processes");
  }
  if (measured.missed > 0) {
    return text + fmt::format(" ({}/{} reached)", measured.n, measured.n + measured.missed);
  }
  const std::string p = loss_p_text(measured.p_holm, measured.n, losses);
  return text + fmt::format(" (n={}{}{})", measured.n, p.empty() ? "" : ", ", p);
}

// --- the table ---

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
    if (losses_ > 0) {
      add_notes(table, {holm_note(losses_ == 1 ? "the one loss of the table"
                                               : fmt::format("the {} losses of the table", losses_),
                                  losses_)});
    }
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
    // A speed or an accuracy against that of the exact training is its own reference.
    return grid_.baseline(at) == at &&
           (is_speed(value.quantity) || value.quantity == PaperQuantity::kAccuracyLoss ||
            is_of_approximated(value));
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
      const bool of_seconds = note == kTimesElsewhere || note == kShortSeconds || note == kInPython;
      if (of_seconds && shown.value.quantity != PaperQuantity::kTimeToTarget) continue;
      add_piece(line.notes, "; ", kNoteTexts[note].name);
      add_piece(marks, ",", footnotes_.letter(kNoteTexts[note].text));
    }
    return marks;
  }

  // "paper 92.0%; ours 91.90 ± 0.21 (n=6) [a]; REPRODUCED [b]".
  std::string text_of_line(const PaperLine& line, const std::string& marks, bool reference) {
    std::string text;
    if (!line.number.printed.empty()) text = "paper " + line.number.printed;
    if (line.measured.n > 0) {
      add_piece(text, "; ",
                "ours " + measured_text(line.measured, *line.value, losses_) +
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

Table paper_runs_table(const Snapshot& snapshot, const Experiment& layout, const Experiment& shown,
                       const ReportOptions& options) {
  const PaperGrid grid(layout, shown);
  const PaperCells cells(grid, read_item_contents(snapshot, shown, options.catalogue),
                         options.include_tainted);
  return RunsTable(grid, cells).make();
}

}  // namespace approx
