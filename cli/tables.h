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

// The command line for words of the program: "approxtrain report advice --db quickstart.db". The
// database is left out where it would be found without; "" for no words.
std::string command_text(const std::vector<std::string>& words, const GlobalOptions& options);

// A table for a person at standard output (results/render/screen.h on a terminal). `flags`: of a
// command that has them, else nullptr. `options`: for the database of the next command, which is
// left out without. Throws Error(kUsage) for a name that no column has.
std::string shown_table(const Table& table, const ColumnFlags* flags = nullptr,
                        const GlobalOptions* options = nullptr);

// Rows of text in a format: "" as for shown_table(), md, csv. In Markdown, columns of numbers are
// right-aligned.
std::string shown_rows(const TextRow& header, const std::vector<TextRow>& rows,
                       const ColumnFlags* flags = nullptr, const std::string& format = "");

}  // namespace approx
