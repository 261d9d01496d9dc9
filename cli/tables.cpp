#include "cli/tables.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "results/render/screen.h"
#include "results/render/shown_columns.h"

namespace approx {
namespace {

ScreenOptions screen_options(size_t width, const ColumnFlags* flags) {
  ScreenOptions options{.width = width, .can_choose = flags != nullptr};
  if (flags != nullptr) options.columns = flags->names, options.all = flags->wide;
  return options;
}

// Whether a command without --db takes the database that this one took.
bool found_without_flag(const GlobalOptions& options) {
  const char* variable = std::getenv("APPROXTRAIN_DB");
  const bool is_set = variable != nullptr && *variable != '\0';
  return options.default_db || options.db == (is_set ? variable : "approxtrain.db");
}

Table as_table(const TextRow& header, const std::vector<TextRow>& rows, ForScreen screen) {
  if (screen.keys.empty() && screen.results.empty()) screen.results = header;
  Table table;
  table.text_columns = header;
  table.text_rows = rows;
  table.screen = std::move(screen);
  return table;
}

// The columns that the flags name, or all.
Table chosen(Table table, const ColumnFlags* flags) {
  if (flags == nullptr || flags->names.empty()) return table;
  return with_columns(table, flags->names, TableReader::kPerson);
}

}  // namespace

std::string command_text(const std::vector<std::string>& words, const GlobalOptions& options) {
  if (words.empty()) return "";
  std::string command = "approxtrain";
  for (const auto& word : words) command += " " + shell_word(printable(word));
  if (!found_without_flag(options)) command += " --db " + shell_word(printable(options.db));
  return command;
}

void add_column_flags(CLI::App& command, ColumnFlags& flags) {
  auto* columns = command
                      .add_option_function<std::string>(
                          "--columns",
                          [&flags](const std::string& text) {
                            flags.names = split_list(text);
                            if (flags.names.empty()) throw usage_error("--columns: no name in it");
                          },
                          "Show only these columns, by their names in CSV or their headers")
                      ->type_name("NAME,...");
  command
      .add_flag("--wide", flags.wide,
                "Show all columns on a terminal and in LaTeX too, not only the main ones")
      ->excludes(columns);
}

bool is_fitted(const TableOutput& output) {
  return output.format.empty() && output.out.empty() && output_width(output.descriptor);
}

std::string table_text(const Table& table, const TableOutput& output) {
  const auto* columns = output.columns;
  if (is_fitted(output)) {
    return screen(
        table, screen_options(*output_width(output.descriptor), columns),
        output.options == nullptr ? "" : command_text(table.screen.next, *output.options));
  }
  const std::string format = output.format.empty() ? "md" : output.format;
  if (columns == nullptr) return render(table, format);
  return render(table, format, columns->names, columns->wide);
}

std::string rows_text(const TextRow& header, const std::vector<TextRow>& rows,
                      const TableOutput& output, ForScreen screen) {
  const Table table = as_table(header, rows, std::move(screen));
  if (is_fitted(output)) return table_text(table, output);
  const Table shown = chosen(table, output.columns);
  return output.format == "csv" ? csv_table(shown.text_columns, shown.text_rows)
                                : markdown_table(shown.text_columns, shown.text_rows);
}

std::string fitted_text(const std::string& text, int descriptor) {
  const auto width = output_width(descriptor);
  if (!width) return text;
  std::vector<std::string> lines;
  for (const auto line : split(text, "\n")) {
    for (auto& piece : wrapped(line, *width)) lines.push_back(std::move(piece));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace approx
