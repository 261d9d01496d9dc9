#include "results/papers/line.h"

#include <utility>

#include "base/error.h"
#include "core/experiment/departures.h"

namespace approx {
namespace {

Field field_of(const std::string& text) { return text; }
Field field_of(const Definition& definition) { return definition.text; }

template <NamedEnum E>
Field field_of(E value) {
  return std::string(name(value));
}

}  // namespace

Columns<PaperLine> paper_columns() {
  using Line = PaperLine;
  // An item that prints no numbers has nothing here.
  const auto of_number = [](auto value) {
    return
        [value](const Line& line) { return line.value == nullptr ? Field() : Field(value(line)); };
  };
  const auto of_value = [](auto ReportedValue::*member) {
    return [member](const Line& line) {
      return line.value == nullptr ? Field() : field_of(line.value->*member);
    };
  };
  return {
      {.name = "item", .value = &Line::item},
      {.name = "scale", .value = [](const Line& line) { return std::string(name(line.scale)); }},
      {.name = "row", .value = of_number([](const Line& line) { return line.row; })},
      {.name = "column", .value = of_number([](const Line& line) { return line.column; })},
      {.name = "quantity", .value = of_value(&ReportedValue::quantity)},
      {.name = "definition", .value = of_value(&ReportedValue::definition)},
      {.name = "unit", .value = of_value(&ReportedValue::unit)},
      {.name = "basis", .value = of_value(&ReportedValue::basis)},
      {.name = "hardware", .value = of_value(&ReportedValue::hardware)},
      {.name = "printed", .value = of_number([](const Line& line) { return line.number.printed; })},
      {.name = "reported", .value = [](const Line& line) { return field(line.number.value); }},
      {.name = "measured",
       .value =
           [](const Line& line) {
             return line.measured.n > 0 ? Field(line.measured.value) : Field();
           }},
      {.name = "measured_lo", .value = [](const Line& line) { return field(line.measured.lo); }},
      {.name = "measured_hi", .value = [](const Line& line) { return field(line.measured.hi); }},
      {.name = "n", .value = [](const Line& line) { return line.measured.n; }},
      {.name = "verdict", .value = [](const Line& line) { return verdict_text(line.judgement); }},
      {.name = "reason", .value = [](const Line& line) { return line.judgement.reason; }},
      {.name = "notes", .value = of_number([](const Line& line) { return line.notes; })},
      {.name = "paper_note", .value = of_value(&ReportedValue::note)},
      {.name = "p", .value = [](const Line& line) { return field(line.measured.p); }},
      {.name = "p_holm", .value = [](const Line& line) { return field(line.measured.p_holm); }}};
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

void add_notes(Table& table, const std::vector<std::string>& notes) {
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
}

}  // namespace approx
