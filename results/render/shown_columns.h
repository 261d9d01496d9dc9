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

// Rows that stand together, and the values that they share and other groups do not.
struct RowGroup {
  SharedValues shared;
  size_t rows = 0;
};

// A table as it is shown: some of its columns, and the shared values of others.
struct ShownTable {
  TableText text;
  std::vector<std::string> names;  // of the text's columns, as in text_names()
  SharedValues shared;
  size_t left_out = 0;           // columns that are neither shown nor shared
  std::vector<RowGroup> groups;  // of all rows, in their order; none if there is one
};

// Chooses the columns `names`. Without any, it chooses all columns if `all` is set or if the table
// names none (Table::screen); else results, and keys in which rows differ. A column is shared if at
// least two rows have only one value there; with a single row, keys are shared. Results and columns
// named by `names` stay columns. The first column stays where no other would.
ShownTable shown_columns(const Table& table, const std::vector<std::string>& names, bool all);

// Chooses all columns, for a page. Network, data set and setting stand above the group of rows that
// share them. A group's rows keep their order; groups follow the order of their first rows. Parts
// of settings that all groups share ("batch_size=128") go above the table. There are no groups if
// each would have one row.
ShownTable shown_in_groups(const Table& table);

}  // namespace approx
