// What the cards of the methods (docs/methods/) can say, and what they need before they can.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "core/config/catalogue.h"
#include "results/records/kernels.h"
#include "results/render/column.h"
#include "results/reports/report.h"
#include "results/rows/rows.h"
#include "results/rows/target_rows.h"

namespace approx {
namespace {

constexpr int64_t kSeedsForACard = 6;  // fewer can never show a loss at 5 %

struct Card {
  std::string method;  // its name, without parameters
  std::string paper;
  int64_t shapes = 0;     // of benchmarks of its products
  int64_t processes = 0;  // of its best timing
  int64_t seeds = 0;      // beside dense, of its best row
  bool to_target = false, clean = false, original = false;
  std::set<std::string> faster, slower, open;  // "resnet20, Schedule 1", by timings that may judge

  // What is still to be measured, in the order in which a card tells it.
  std::vector<std::string> needs() const {
    std::vector<std::string> needs;
    if (shapes == 0) needs.emplace_back("a benchmark of its products");
    if (processes < kProcessesForAVerdict) {
      needs.push_back(
          fmt::format("a timing of {} processes (has {})", kProcessesForAVerdict, processes));
    }
    if (seeds < kSeedsForACard) {
      needs.push_back(fmt::format("{} seeds beside dense (has {})", kSeedsForACard, seeds));
    }
    if (!to_target) needs.emplace_back("a time to target beside dense");
    if (!original) needs.emplace_back("runs on data that never went through JPEG");
    if (!clean) needs.emplace_back("runs of committed sources");
    return needs;
  }
};

using Cards = std::map<std::string, Card>;

// A schedule that names several is no method of its own.
bool is_method(const Cell& cell) {
  return !is_dense(cell) && cell.config.selection.empty() &&
         !is_mixed(parse_spec(cell.method).name);
}

Card& card_of(Cards& cards, const std::string& method) {
  const std::string name = parse_spec(method).name;
  Card& card = cards[name];
  card.method = name;
  return card;
}

void add_row(Cards& cards, const Row& row) {
  const Cell& cell = *row.first;
  Card& card = card_of(cards, cell.method);
  card.processes = std::max(card.processes, row.speedup.n);
  card.seeds = std::max(card.seeds, row.loss.n);
  const bool measured = row.speedup.n > 0 || row.loss.n > 0;
  card.clean |= measured && !row.notes[kDirty];
  card.original |= measured && !row.notes[kLossy];
  if (!speedup_obstacle(row).empty()) return;
  const std::string where = cell.schedule_label.empty()
                                ? cell.network_label
                                : cell.network_label + ", " + cell.schedule_label;
  switch (speed_change(row.speedup)) {
    case SpeedChange::kFaster:
      card.faster.insert(where);
      break;
    case SpeedChange::kSlower:
      card.slower.insert(where);
      break;
    case SpeedChange::kSame:
    case SpeedChange::kUndecided:
      card.open.insert(where);
      break;
  }
}

template <typename Texts>
std::string joined(const Texts& texts) {
  return fmt::format("{}", fmt::join(texts, "; "));
}

Columns<Card> card_columns() {
  const auto places = [](const char* name, const char* header, std::set<std::string> Card::*of) {
    return Column<Card>{
        name, header, [of](const Card& card) { return joined(card.*of); },
        [of](const Card& card) { return (card.*of).empty() ? "–" : joined(card.*of); }};
  };
  return {{.name = "method", .header = "method", .value = &Card::method},
          {.name = "paper", .header = "paper", .value = &Card::paper},
          places("faster", "its steps are faster", &Card::faster),
          places("slower", "slower", &Card::slower),
          places("no_change", "neither was shown", &Card::open),
          {.name = "shapes", .header = "shapes", .value = &Card::shapes},
          {.name = "processes", .header = "processes", .value = &Card::processes},
          {.name = "seeds", .header = "seeds", .value = &Card::seeds},
          {"needs", "its card needs", [](const Card& card) { return joined(card.needs()); },
           [](const Card& card) {
             const auto needs = card.needs();
             return needs.empty() ? "nothing" : joined(needs);
           }}};
}

// One row for each method of the store, and for those of options.catalogue that it has nothing
// of: where its steps were faster and slower than exact ones and where that is open, what was
// measured of it, and what is missing.
Table report_cards(const Snapshot& snapshot, const ReportOptions& options) {
  Cards cards;
  std::map<std::string, std::set<std::string>> shapes;  // by method, with its parameters
  for (const auto& line : snapshot.kernels()) {
    if (line.is_usual() && line.speedup()) shapes[line.method].insert(line.shape_text);
  }
  for (const auto& [method, benched] : shapes) {
    Card& card = card_of(cards, method);
    card.shapes = std::max(card.shapes, static_cast<int64_t>(benched.size()));
  }
  const auto rows_there = rows_of(snapshot, options);
  const RowSet& set = *rows_there;
  for (const auto& row : set.rows()) {
    if (is_method(*row.first)) add_row(cards, row);
  }
  for (const auto& target : target_rows(set, options)) {
    if (!is_method(*target.row->first) || target.pairs == 0) continue;
    card_of(cards, target.row->first->method).to_target = true;
  }
  if (options.catalogue != nullptr && !cards.empty()) {
    for (const auto& info : options.catalogue->methods) {
      card_of(cards, info.name).paper = info.paper;
    }
  }
  std::vector<Card> lines;
  for (auto& [name, card] : cards) lines.push_back(std::move(card));
  Table table = table_of(options.experiment, card_columns(), lines);
  if (lines.empty()) return table;
  table.notes = {fmt::format(
      "faster, slower: by timings of at least {} processes, from 2 % on. The last column says what "
      "is missing before a card can say where the method pays and where not",
      kProcessesForAVerdict)};
  return table;
}

REGISTER_REPORT("cards", report_cards)
    .at(11)
    .about("Where each method pays, where not, and which results are missing");

}  // namespace
}  // namespace approx
