// A table in LaTeX.
#pragma once

#include <string>

#include "results/render/shown_columns.h"
#include "results/render/table.h"

namespace approx {

// The columns `shown` of a table with its title and notes: see render() in table.h. Texts that do
// not fit beside each other are broken into lines inside their columns. If not even their words
// fit, each row is a block of lines "header & value".
std::string tex_table(const Table& table, const ShownTable& shown);

}  // namespace approx
