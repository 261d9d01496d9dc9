// Tables as a person reads them: fitted to the terminal that they are printed on, else Markdown.
#pragma once

#include <unistd.h>

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

// How a table is printed.
struct TableOutput {
  // "": fitted to the terminal, Markdown in a pipe and in a file; else a format of render().
  std::string format;
  std::string out;                         // --out; "": standard output
  const ColumnFlags* columns = nullptr;    // of a command that has them
  const GlobalOptions* options = nullptr;  // for the database of the next command, which is left
                                           // out without
  int descriptor = STDOUT_FILENO;
};

// Whether the table is fitted to a terminal.
bool is_fitted(const TableOutput& output);

// The text of a table. Throws Error(kUsage) for a format that render() does not know, and for a
// name that no column has.
std::string table_text(const Table& table, const TableOutput& output = {});

// Rows of text: formats "", md and csv. In Markdown columns of numbers are set to the right.
// `screen`: what a terminal shows of them; without keys and results all columns stay columns.
std::string rows_text(const TextRow& header, const std::vector<TextRow>& rows,
                      const TableOutput& output = {}, ForScreen screen = {});

// A text beside a table: broken at the width of the terminal on `descriptor`, if it is one. Lines
// end as they do in `text`.
std::string fitted_text(const std::string& text, int descriptor = STDOUT_FILENO);

}  // namespace approx
