#include "results/store/sql.h"

#include <sqlite3.h>

#include <vector>

#include "base/error.h"

namespace approx {
namespace {

// Each column of a row as `pattern` has its name: "{} = ?".
std::vector<std::string> columns_of(const Json& row, const char* pattern = "{}") {
  std::vector<std::string> columns;
  for (const auto& [column, value] : row.items()) {
    columns.push_back(fmt::format(fmt::runtime(pattern), column));
  }
  return columns;
}

void bind_row(SQLite::Statement& statement, const Json& row) {
  int at = 0;
  for (const auto& [column, value] : row.items()) bind_value(statement, ++at, value);
}

}  // namespace

void bind_value(SQLite::Statement& statement, int at, const Json& value) {
  if (value.is_null()) return statement.bind(at);
  if (value.is_boolean()) return statement.bind(at, value.get<bool>() ? 1 : 0);
  if (value.is_number_integer()) return statement.bind(at, value.get<int64_t>());
  if (value.is_number_float()) return statement.bind(at, value.get<double>());
  if (value.is_string()) return statement.bind(at, value.get_ref<const std::string&>());
  if (!value.is_binary()) return statement.bind(at, json_text(value));
  const auto& bytes = value.get_binary();
  const void* begin = bytes.empty() ? static_cast<const void*>("") : bytes.data();  // not NULL
  statement.bind(at, begin, static_cast<int>(bytes.size()));
}

Json value_at(SQLite::Statement& row, int at) {
  const auto column = row.getColumn(at);
  switch (column.getType()) {
    case SQLITE_INTEGER:
      return column.getInt64();
    case SQLITE_FLOAT:
      return column.getDouble();
    case SQLITE_TEXT:
      return column.getString();
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const uint8_t*>(column.getBlob());
      return Json::binary({bytes, bytes + column.getBytes()});
    }
    default:
      return nullptr;
  }
}

int64_t insert_row(SQLite::Database& db, const std::string& into, const Json& row,
                   const std::string& conflict) {
  SQLite::Statement statement(
      db, fmt::format("{}({}) VALUES({}) {}", into, fmt::join(columns_of(row), ", "),
                      fmt::join(columns_of(row, "?"), ", "), conflict));
  bind_row(statement, row);
  return statement.exec();
}

void update_row(SQLite::Database& db, const std::string& table, int64_t id, const Json& row) {
  SQLite::Statement statement(db, fmt::format("UPDATE {0} SET {1} WHERE {0}_id = {2}", table,
                                              fmt::join(columns_of(row, "{} = ?"), ", "), id));
  bind_row(statement, row);
  statement.exec();
}

int64_t find_or_add(SQLite::Database& db, const std::string& table, const Json& key,
                    const Json& more) {
  Json row = key;
  row.update(more);
  insert_row(db, "INSERT INTO " + table, row, "ON CONFLICT DO NOTHING");
  SQLite::Statement found(db, fmt::format("SELECT {0}_id FROM {0} WHERE {1}", table,
                                          fmt::join(columns_of(key, "{} = ?"), " AND ")));
  bind_row(found, key);
  return found.executeStep() ? found.getColumn(0).getInt64() : 0;
}

}  // namespace approx
