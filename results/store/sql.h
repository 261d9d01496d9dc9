// Values, rows and statements of SQLite. A value is JSON: null is NULL, a list or an object is
// stored as text, a binary value as a BLOB. A row to insert is an object with the value of each
// column; the SQL is made from it.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "base/params.h"

namespace approx {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
template <typename T>
Json or_null(const T& value) {
  return value;
}

// Binds a value to the parameter `at`, which counts from 1.
void bind_value(SQLite::Statement& statement, int at, const Json& value);

// Binds values by position; an empty optional is NULL.
template <typename... Args>
void bind_all(SQLite::Statement& statement, const Args&... args) {
  int at = 0;
  (bind_value(statement, ++at, or_null(args)), ...);
}

// Executes one statement; returns the number of rows it changed.
template <typename... Args>
int64_t execute(SQLite::Database& db, const std::string& sql, const Args&... args) {
  SQLite::Statement statement(db, sql);
  bind_all(statement, args...);
  return statement.exec();
}

// Calls `row(statement)` for each row of a query.
template <typename Row, typename... Args>
void for_each_row(SQLite::Database& db, const std::string& sql, const Row& row,
                  const Args&... args) {
  SQLite::Statement statement(db, sql);
  bind_all(statement, args...);
  while (statement.executeStep()) row(statement);
}

// Whether a query has a row.
template <typename... Args>
bool has_row(SQLite::Database& db, const std::string& sql, const Args&... args) {
  SQLite::Statement statement(db, sql);
  bind_all(statement, args...);
  return statement.executeStep();
}

// The first column of a query's first row; 0 where there is no row or it is NULL.
template <typename... Args>
int64_t first_integer(SQLite::Database& db, const std::string& sql, const Args&... args) {
  SQLite::Statement statement(db, sql);
  bind_all(statement, args...);
  return statement.executeStep() ? statement.getColumn(0).getInt64() : 0;
}

// The first column of a query's first row as text; "" where there is no row.
template <typename... Args>
std::string first_text(SQLite::Database& db, const std::string& sql, const Args&... args) {
  SQLite::Statement statement(db, sql);
  bind_all(statement, args...);
  return statement.executeStep() ? statement.getColumn(0).getString() : "";
}

// The value in column `at` of a row; `at` counts from 0.
Json value_at(SQLite::Statement& row, int at);

// A query's first row as an object of its columns; null where there is none.
template <typename... Args>
Json first_row(SQLite::Database& db, const std::string& sql, const Args&... args) {
  SQLite::Statement statement(db, sql);
  bind_all(statement, args...);
  Json row;
  if (!statement.executeStep()) return row;
  for (int i = 0; i < statement.getColumnCount(); ++i) {
    row[statement.getColumnName(i)] = value_at(statement, i);
  }
  return row;
}

inline std::string text_at(SQLite::Statement& row, int at) { return row.getColumn(at).getString(); }

// A value from the column with the name that the query gives it.
inline std::string text_at(SQLite::Statement& row, const char* column) {
  return row.getColumn(column).getString();
}
inline int64_t integer_at(SQLite::Statement& row, const char* column) {
  return row.getColumn(column).getInt64();
}
inline bool flag_at(SQLite::Statement& row, const char* column) {
  return row.getColumn(column).getInt() != 0;
}

inline std::optional<int64_t> optional_integer(const SQLite::Column& column) {
  return column.isNull() ? std::nullopt : std::optional(column.getInt64());
}

inline std::optional<double> optional_real(const SQLite::Column& column) {
  return column.isNull() ? std::nullopt : std::optional(column.getDouble());
}

// Adds a row. `into` is such as "INSERT INTO run". `conflict` follows the values, such as "ON
// CONFLICT DO NOTHING". Returns the number of rows that it changed.
int64_t insert_row(SQLite::Database& db, const std::string& into, const Json& row,
                   const std::string& conflict = "");

// Sets these columns of the row with that number in the column `TABLE_id`.
void update_row(SQLite::Database& db, const std::string& table, int64_t id, const Json& row);

// The number of the row that has the values `key`; such a row with `more` is added where there is
// none.
int64_t find_or_add(SQLite::Database& db, const std::string& table, const Json& key,
                    const Json& more = Json::object());

}  // namespace approx
