#include "results/table.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/spec/error.h"

namespace approx {
namespace {

constexpr int64_t kExactInDouble = int64_t{1} << 53;

std::string special_name(double value) {
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::string plain(const Field& field) {
  if (const auto* integer = std::get_if<int64_t>(&field)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&field)) {
    return std::isfinite(*real) ? shortest(*real) : special_name(*real);
  }
  if (const auto* text = std::get_if<std::string>(&field)) return *text;
  return "";
}

std::string csv_field(const Field& field) {
  const std::string text = plain(field);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted(1, '"');
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  quoted += '"';
  return quoted;
}

std::string csv(const Table& table) {
  std::string out;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (i) out += ",";
    out += csv_field(table.columns[i]);
  }
  out += "\n";
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i) out += ",";
      out += csv_field(row[i]);
    }
    out += "\n";
  }
  return out;
}

// Keys in the order of the columns, which readers of a line expect.
using OrderedJson = nlohmann::ordered_json;

OrderedJson json_row(const Table& table, const std::vector<Field>& row) {
  OrderedJson json = OrderedJson::object(), special = OrderedJson::object();
  for (size_t i = 0; i < row.size(); ++i) {
    auto& value = json[table.columns[i]];
    if (const auto* integer = std::get_if<int64_t>(&row[i])) {
      const bool exact = *integer <= kExactInDouble && *integer >= -kExactInDouble;
      value = exact ? OrderedJson(*integer) : OrderedJson(std::to_string(*integer));
    } else if (const auto* real = std::get_if<double>(&row[i])) {
      if (std::isfinite(*real)) {
        value = *real;
      } else {
        special[table.columns[i]] = special_name(*real);
      }
    } else if (const auto* text = std::get_if<std::string>(&row[i])) {
      value = *text;
    }
  }
  if (!special.empty()) json["special"] = special;
  return json;
}

std::string dump(const OrderedJson& json, int indent) {
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string json(const Table& table) {
  OrderedJson rows = OrderedJson::array();
  for (const auto& row : table.rows) rows.push_back(json_row(table, row));
  return dump({{"schema", "approxtrain.table/1"},
               {"table", table.name},
               {"title", table.title},
               {"columns", table.columns},
               {"rows", rows},
               {"notes", table.notes}},
              1);
}

std::string jsonl(const Table& table) {
  std::string out;
  for (const auto& row : table.rows) out += dump(json_row(table, row), -1);
  return out;
}

// Columns on a screen: bytes that start a character (UTF-8).
size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string md_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string markdown(const Table& table) {
  std::vector<std::string> header = table.text_columns;
  std::vector<std::vector<std::string>> rows = table.text_rows;
  if (header.empty()) {
    header = table.columns;
    for (const auto& row : table.rows) {
      auto& texts = rows.emplace_back();
      for (const auto& field : row) texts.push_back(plain(field));
    }
  }
  std::vector<size_t> widths;
  for (const auto& name : header) widths.push_back(std::max<size_t>(3, width(name)));
  for (auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = md_cell(row[i]);
      widths[i] = std::max(widths[i], width(row[i]));
    }
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out = "|";
    for (size_t i = 0; i < cells.size(); ++i) {
      out += " " + cells[i] + std::string(widths[i] - width(cells[i]), ' ') + " |";
    }
    return out + "\n";
  };
  std::string out = table.title.empty() ? "" : "### " + table.title + "\n\n";
  out += line(header) + "|";
  for (const size_t columns : widths) out += std::string(columns + 2, '-') + "|";
  out += "\n";
  for (const auto& row : rows) out += line(row);
  if (!table.notes.empty()) out += "\n";
  for (const auto& note : table.notes) out += "- " + note + "\n";
  return out;
}

}  // namespace

std::string render(const Table& table, std::string_view format) {
  if (format == "md") return markdown(table);
  if (format == "csv") return csv(table);
  if (format == "json") return json(table);
  if (format == "jsonl") return jsonl(table);
  throw usage_error("unknown format \"{}\"{}; known: md, csv, json, jsonl", format,
                    did_you_mean(format, {"md", "csv", "json", "jsonl"}));
}

void write_file(const std::string& path, std::string_view text) {
  const std::string unfinished = fmt::format("{}.{}", path, ::getpid());
  std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(unfinished, path, error);
  if (!out || error) {
    const std::string reason = error ? error.message() : std::strerror(errno);
    std::filesystem::remove(unfinished, error);
    throw usage_error("{}: cannot be written ({}); check the folder and its free space", path,
                      reason);
  }
}

}  // namespace approx
