// Splits a table that is too wide for a page into narrower ones.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "results/render/shown_columns.h"

namespace approx {

// Some columns of a table.
struct TablePart {
  std::string name;  // the end of its headers in the table, such as "accuracy, %"; "" for all of it
  ShownTable shown;
};

// Splits a table of more than `most` columns by the ends of its headers: "p = 90%: density" is the
// column "p = 90%" of the part "density". Parts follow the order of their first columns. Leading
// columns whose headers have no ": " are in every part. A table is one part if other headers have
// none, or if its parts would have one column each.
std::vector<TablePart> table_parts(const ShownTable& shown, size_t most);

}  // namespace approx
