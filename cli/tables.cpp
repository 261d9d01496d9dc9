#include "cli/tables.h"

#include <cstdlib>
#include <optional>

#include "base/error.h"
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

// Rows of text, in which each column is what a reader came for.
Table as_table(const TextRow& header, const std::vector<TextRow>& rows) {
  Table table;
  table.text_columns = table.screen.results = header;
  table.text_rows = rows;
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
      .add_flag("--wide", flags.wide, "Show all columns on a terminal too, not only the main ones")
      ->excludes(columns);
}

std::string shown_table(const Table& table, const ColumnFlags* flags,
                        const GlobalOptions* options) {
  if (const auto width = output_width()) {
    return screen(table, screen_options(*width, flags),
                  options == nullptr ? "" : command_text(table.screen.next, *options));
  }
  return render(table, "md", flags == nullptr ? std::vector<std::string>() : flags->names);
}

std::string shown_rows(const TextRow& header, const std::vector<TextRow>& rows,
                       const ColumnFlags* flags, const std::string& format) {
  const Table table = as_table(header, rows);
  const auto width = format.empty() ? output_width() : std::nullopt;
  if (width) return screen(table, screen_options(*width, flags));
  const Table shown = chosen(table, flags);
  return format == "csv" ? csv_table(shown.text_columns, shown.text_rows)
                         : markdown_table(shown.text_columns, shown.text_rows);
}

}  // namespace approx
