#include "results/papers/line.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "core/experiment/departures.h"

namespace approx {
namespace {

std::string letter_at(size_t index) {
  std::string letters(1, static_cast<char>('a' + index % 26));
  if (index >= 26) letters.insert(0, 1, static_cast<char>('a' + index / 26 - 1));
  return letters;
}

}  // namespace

Columns<PaperLine> paper_columns() {
  using Line = PaperLine;
  // An item that prints no numbers has nothing here.
  const auto of_value = [](auto... of) { return via(&Line::value, of...); };
  const auto if_value = [](auto... of) {
    return [=](const Line& line) { return line.value == nullptr ? Field() : via(of...)(line); };
  };
  const auto measured = [](auto of) { return via(&Line::measured, of); };
  return {{.name = "item", .value = &Line::item},
          {.name = "scale", .value = via(&Line::scale)},
          {.name = "row", .value = if_value(&Line::row)},
          {.name = "column", .value = if_value(&Line::column)},
          {.name = "quantity", .value = of_value(&ReportedValue::quantity)},
          {.name = "definition", .value = of_value(&ReportedValue::definition, &Definition::text)},
          {.name = "unit", .value = of_value(&ReportedValue::unit)},
          {.name = "basis", .value = of_value(&ReportedValue::basis)},
          {.name = "hardware", .value = of_value(&ReportedValue::hardware)},
          {.name = "printed", .value = if_value(&Line::number, &ReportedNumber::printed)},
          {.name = "reported", .value = via(&Line::number, &ReportedNumber::value)},
          {.name = "measured",
           .value =
               [](const Line& line) {
                 return line.measured.n > 0 ? Field(line.measured.value) : Field();
               }},
          {.name = "measured_lo", .value = measured(&Measured::lo)},
          {.name = "measured_hi", .value = measured(&Measured::hi)},
          {.name = "n", .value = measured(&Measured::n)},
          {.name = "verdict", .value = via(&Line::judgement, verdict_text)},
          {.name = "reason", .value = via(&Line::judgement, &Judgement::reason)},
          {.name = "notes", .value = if_value(&Line::notes)},
          {.name = "paper_note", .value = of_value(&ReportedValue::note)},
          {.name = "p", .value = measured(&Measured::p)},
          {.name = "p_holm", .value = measured(&Measured::p_holm)}};
}

std::string item_title(const Experiment& shown) {
  return fmt::format("{} ({} scale)", shown.title, name(shown.scale));
}

std::vector<std::string> finding_notes(const Experiment& layout, const Experiment& shown) {
  auto notes = departure_lines(layout, shown);
  if (!layout.paper.finding.empty()) notes.push_back("the paper: " + layout.paper.finding);
  for (const auto& value : layout.paper.values) {
    if (!value.note.empty())
      notes.push_back(fmt::format("{}: {}", name(value.quantity), value.note));
  }
  return notes;
}

Table paper_table(std::string title) {
  Table table;
  table.name = "paper";
  table.title = std::move(title);
  return table;
}

std::string Footnotes::letter(const std::string& text) {
  const auto found = std::find(texts_.begin(), texts_.end(), text);
  const auto index = static_cast<size_t>(found - texts_.begin());
  if (found == texts_.end()) texts_.push_back(text);
  return letter_at(index);
}

std::vector<std::string> Footnotes::lines() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < texts_.size(); ++i) lines.push_back(letter_at(i) + ": " + texts_[i]);
  return lines;
}

void add_notes(Table& table, const std::vector<std::string>& notes) {
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
}

}  // namespace approx
