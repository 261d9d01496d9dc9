#include "results/reports/export.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/error.h"
#include "base/outputs.h"
#include "results/render/table.h"

namespace approx {
namespace {

std::string hexadecimal(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

Field field_of(const SQLite::Column& column) {
  if (column.isNull()) return {};
  if (column.isInteger()) return column.getInt64();
  if (column.isFloat()) return column.getDouble();
  return column.isBlob() ? hexadecimal(column.getString()) : column.getString();
}

// The name of a table becomes that of a file, and whose database it is nobody knows.
bool is_file_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

}  // namespace

std::vector<std::string> export_store(const Snapshot& snapshot, const std::string& folder) {
  auto& db = snapshot.db();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw usage_error("{}: cannot be made: {}", folder, error.message());
  std::vector<std::string> names, paths;
  for_each_row(db, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
               [&](SQLite::Statement& row) { names.push_back(row.getColumn(0).getString()); });
  if (!std::all_of(names.begin(), names.end(), is_file_name)) {
    throw database_error("{}: a table of it has a name that is none of a file; it is not exported",
                         snapshot.path());
  }
  for (const auto& name : names) {
    SQLite::Statement rows(db, fmt::format("SELECT * FROM \"{}\" ORDER BY 1, 2", name));
    Table table;
    for (int i = 0; i < rows.getColumnCount(); ++i)
      table.columns.emplace_back(rows.getColumnName(i));
    while (rows.executeStep()) {
      auto& fields = table.rows.emplace_back();
      for (int i = 0; i < rows.getColumnCount(); ++i) fields.push_back(field_of(rows.getColumn(i)));
    }
    paths.push_back(folder + "/" + name + ".csv");
    write_output(paths.back(), render(table, "csv"));
  }
  return paths;
}

}  // namespace approx
