// Chooses the columns of a table that are shown, and finds the values that all its rows share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/render/table.h"

namespace approx {

enum class TableReader { kPerson, kProgram };

// A table of the columns `names` only, in this order: of its text for a person, of its values for a
// program. A person may also name a column for programs, if each row of text matches one row of
// values. A name is one of text_names() or Table::columns, or a header; blanks and "_" are equal.
// The beginning of a name, up to a blank or "_", also works: "loss" for "loss_pp". Throws
// Error(kUsage), which lists the names, for a name that no column has and for a name given twice.
Table with_columns(const Table& table, const std::vector<std::string>& names, TableReader reader);

// Headers of columns, each with the value that all rows have there. They go above a table.
using SharedValues = std::vector<std::pair<std::string, std::string>>;

// Shared values as text: "network resnet20 · data set cifar10"; "" for none.
std::string shared_text(const SharedValues& shared);

// Rows that stand together, and what these have alike and other groups have otherwise.
struct RowGroup {
  SharedValues shared;
  size_t rows = 0;
};

// A table as it is shown: some of its columns, and in place of others the value that all rows have.
struct ShownTable {
  TableText text;
  std::vector<std::string> names;  // of the text's columns, as in text_names()
  SharedValues shared;
  size_t left_out = 0;           // columns that are neither here nor shared
  std::vector<RowGroup> groups;  // of all rows, in their order; none where they are one
};

// Chooses the columns for print: all, or `names`. A column is shared if at least two rows have only
// one value there; with a single row, keys are shared (Table::screen). Results and columns named by
// `names` stay columns. The first column stays where no other would.
ShownTable shown_in_print(const Table& table, const std::vector<std::string>& names);

// On a page: the same, and network, data set and setting stand above the rows that have them alike.
// Rows of a group are together, in their order, groups in the order of their first rows. What the
// settings of all groups have alike ("batch_size=128") stands above the table. No groups where each
// would have one row.
ShownTable shown_in_groups(const Table& table);

// On a screen: the same as in print, but without `names` and without `all`, only keys in which rows
// differ and results.
ShownTable shown_on_screen(const Table& table, const std::vector<std::string>& names, bool all);

}  // namespace approx
