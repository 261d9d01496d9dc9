// Tables on standard output for a person: fitted to the terminal, or Markdown where there is none.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "results/render/table.h"
#include "results/render/text_table.h"

namespace approx {

// The flags --columns and --wide.
struct ColumnFlags {
  std::vector<std::string> names;  // none: the table's usual columns
  bool wide = false;
};
void add_column_flags(CLI::App& command, ColumnFlags& flags);

// A table for a person at standard output (results/render/screen.h on a terminal). `flags` are
// those of a command that has them, else nullptr. `options` give the database for the suggested
// next command, which is left out without them. Throws Error(kUsage) for a name that no column has.
std::string shown_table(const Table& table, const ColumnFlags* flags = nullptr,
                        const GlobalOptions* options = nullptr);

// Rows of text in a format: "" as for shown_table(), md, csv. In Markdown, columns of numbers are
// right-aligned.
std::string shown_rows(const TextRow& header, const std::vector<TextRow>& rows,
                       const ColumnFlags* flags = nullptr, const std::string& format = "");

}  // namespace approx
