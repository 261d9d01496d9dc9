// Which columns of a table are shown, and what all its rows have alike.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/render/table.h"

namespace approx {

enum class TableReader { kPerson, kProgram };

// A table of the columns `names` alone, in this order: of its text for a person, of its values for
// a program. A person may also ask for a column that programs alone have, where each row of text is
// one of values. A name is that of text_names() or Table::columns, or the header; blanks and "_"
// are the same. The beginning of a name serves too, up to a blank or "_": "loss" of "loss_pp".
// Throws Error(kUsage), which lists the names, for a name that no column has and for one given
// twice.
Table with_columns(const Table& table, const std::vector<std::string>& names, TableReader reader);

// What stands above a table: headers, and what all rows have there.
using SharedValues = std::vector<std::pair<std::string, std::string>>;

// "network resnet20 · data set cifar10"; "" for none.
std::string shared_text(const SharedValues& shared);

// A table as it is shown: some of its columns, and in place of others the value that all rows have.
struct ShownTable {
  TableText text;
  SharedValues shared;
  size_t left_out = 0;  // columns that are neither here nor shared
};

// On a page: all columns, or `names`. A column that all of two or more rows have alike is shared,
// and a key of one row (Table::screen). Results and what was asked for by name stay columns; so
// does the first column where nothing else would.
ShownTable shown_in_print(const Table& table, const std::vector<std::string>& names);

// On a screen: the same, but without `names` and without `all`, only keys in which rows differ and
// results.
ShownTable shown_on_screen(const Table& table, const std::vector<std::string>& names, bool all);

}  // namespace approx
