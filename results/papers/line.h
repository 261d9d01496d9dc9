// A number of a paper beside ours: a line of every table of a paper's item, for programs.
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
  ReportedNumber number;                 // the paper's, at that row and column
  Measured measured;
  Judgement judgement;
  std::string notes;  // remarks that the reader of our number needs
};

// Columns for programs only; people see such lines in the paper's layout.
Columns<PaperLine> paper_columns();

// The title of an item with its scale: "Table 5 (reduced scale)".
std::string item_title(const Experiment& shown);

// Notes: how the item departs from its full setting, the paper's finding, and remarks on its
// numbers.
std::vector<std::string> finding_notes(const Experiment& layout, const Experiment& shown);

// An empty table with the title `title`.
Table paper_table(std::string title);

// Remarks under a table, referred to by letters. Letters are given in the order of first use: a to
// z, then aa, ab and so on.
class Footnotes {
 public:
  // The letter of a remark; equal texts have one letter.
  std::string letter(const std::string& text);

  // The mark of a remark: " [a]"; "" for no text.
  std::string mark(const std::string& text) {
    return text.empty() ? "" : " [" + letter(text) + "]";
  }

  // A line "a: ..." for each remark.
  std::vector<std::string> lines() const;

 private:
  std::vector<std::string> texts_;
};

void add_notes(Table& table, const std::vector<std::string>& notes);

}  // namespace approx
