// A table as HTML.
#pragma once

#include <string>

#include "results/render/table.h"

namespace approx {

// A <figure> with the table as people read it, its notes, and its CSV as the file `file`.csv. `id`
// is unlike that of any other table on the page: references to notes go by it.
std::string html_table(const Table& table, const std::string& id, const std::string& file);

}  // namespace approx
