#include "results/reports/paper_study.h"

#include <filesystem>

#include "base/error.h"
#include "results/reports/paper_line.h"
#include "results/store/database.h"

namespace approx {
namespace {

// What the paper prints, a line for each of its quantities: a study's table has columns of its own.
std::vector<std::string> printed_notes(const ItemReport& paper) {
  std::vector<std::string> notes;
  for (const auto& value : paper.values) {
    std::string line;
    for (size_t row = 0; row < value.paper.size(); ++row) {
      for (const auto& number : value.paper[row]) {
        if (number.printed.empty()) continue;
        line += line.empty() ? "" : ", ";
        if (row < paper.labels.size()) line += paper.labels[row] + " ";
        line += number.printed;
      }
    }
    if (line.empty()) continue;
    notes.push_back(fmt::format("printed in the paper: {} ({}): {}",
                                value.definition.empty() ? value.quantity : value.definition,
                                value.basis, line));
  }
  return notes;
}

void add_cell(const Json& cell, std::vector<Field>& values, std::vector<std::string>& texts) {
  if (cell.is_number_integer()) {
    values.emplace_back(cell.get<int64_t>());
    texts.push_back(cell.dump());
  } else if (cell.is_number()) {
    values.emplace_back(cell.get<double>());
    texts.push_back(fmt::format("{:.4g}", cell.get<double>()));
  } else if (cell.is_string()) {
    values.emplace_back(cell.get<std::string>());
    texts.push_back(cell.get<std::string>());
  } else {
    values.emplace_back();
    texts.emplace_back("–");
  }
}

// Adds what a study computed: its columns are data, and told by nothing else.
void add_content(const Json& content, Table& table) {
  for (const auto& column : content.value("columns", Json::array())) {
    table.columns.push_back(column.is_string() ? column.get<std::string>() : column.dump());
  }
  table.text_columns = table.columns;
  for (const auto& line : content.value("rows", Json::array())) {
    auto& values = table.rows.emplace_back();
    auto& texts = table.text_rows.emplace_back();
    for (const auto& cell : line) add_cell(cell, values, texts);
  }
}

// Of a study that is not in the store.
Columns<PaperLine> missing_columns() {
  return {{.name = "item", .value = &PaperLine::item},
          {.name = "verdict",
           .value = [](const PaperLine& line) { return verdict_text(line.judgement); }},
          {.name = "reason", .value = [](const PaperLine& line) { return line.judgement.reason; }}};
}

}  // namespace

Table paper_study_table(const std::string& db, const Experiment& layout, const Experiment& shown) {
  Table table = paper_table(item_title(shown));
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
          add_content(content, table);
          add_notes(table, {fmt::format("measured on {} with {}", text_at(row, 1),
                                        text_at(row, 2).substr(0, 12))});
        },
        shown.id);
  }
  if (!found) {
    PaperLine missing{.item = shown.item};
    missing.judgement = {Verdict::kNotRun, "the study is not in the store"};
    fill(table, missing_columns(), std::vector{missing});
  }
  add_notes(table, finding_notes(layout, shown));
  add_notes(table, printed_notes(layout.paper));
  return table;
}

}  // namespace approx
