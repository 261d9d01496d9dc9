// A number of a paper beside ours: what every table of a paper's item says to programs.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/experiment.h"
#include "results/papers/judge.h"
#include "results/render/column.h"

namespace approx {

struct PaperLine {
  std::string item;
  Scale scale = Scale::kFull;
  std::string row, column;               // labels
  const ReportedValue* value = nullptr;  // nullptr for an item that prints no numbers
  ReportedNumber number;                 // of the value, at that row and column
  Measured measured;
  Judgement judgement;
  std::string notes;  // what ours must be read with
};

// For programs alone; people see such lines in the paper's layout.
Columns<PaperLine> paper_columns();

// "Table 5 (reduced scale)".
std::string item_title(const Experiment& shown);

// In what the item departs from its full setting, what the paper finds, and remarks on its numbers.
std::vector<std::string> finding_notes(const Experiment& layout, const Experiment& shown);

// An empty table of that title.
Table paper_table(std::string title);

// Remarks under a table, referred to by letters.
// Gives letters out in the order of their first use: a to z, then aa, ab and so on.
class Footnotes {
 public:
  // The letter of a remark, the same for the same text.
  std::string letter(const std::string& text);

  // " [a]"; "" for no text.
  std::string mark(const std::string& text) {
    return text.empty() ? "" : " [" + letter(text) + "]";
  }

  // "a: ..." for each.
  std::vector<std::string> lines() const;

 private:
  std::vector<std::string> texts_;
};

void add_notes(Table& table, const std::vector<std::string>& notes);

}  // namespace approx
