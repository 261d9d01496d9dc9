#include "results/render/table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/numbers.h"
#include "results/render/shown_columns.h"
#include "results/render/tex.h"
#include "results/render/text_table.h"

namespace approx {
namespace {

constexpr int64_t kExactInDouble = int64_t{1} << 53;

// For people, a dash where there is nothing to read.
std::string shown_text(const Field& field) {
  if (std::holds_alternative<std::monostate>(field)) return "–";
  const auto* real = std::get_if<double>(&field);
  return real == nullptr || !std::isfinite(*real) ? text_of(field) : rounded(*real);
}

std::string csv(const Table& table) {
  std::vector<TextRow> rows;
  for (const auto& row : table.rows) {
    auto& cells = rows.emplace_back();
    for (const auto& field : row) cells.push_back(text_of(field));
  }
  return csv_table(table.columns, rows);
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
        special[table.columns[i]] = shortest(*real);
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

std::string markdown(const Table& table) {
  const auto [header, rows, starred] = text_of(table);
  std::string out = table.title.empty() ? "" : "### " + markdown_heading(table.title) + "\n\n";
  out += markdown_table(header, rows, Alignment::kLeft, starred);
  if (!table.notes.empty()) out += "\n";
  for (const auto& note : table.notes) out += "- " + markdown_item(note) + "\n";
  return out;
}

bool decimal_digit(char32_t c) { return c >= '0' && c <= '9'; }

// What may stand before the digits of a number: a sign, a bound, a bracket.
std::string_view after_sign(std::string_view text) {
  for (const std::string_view sign : {"> ", "< ", "≥ ", "≤ ", "±", "[", "+", "-", "−"}) {
    if (text.starts_with(sign)) text.remove_prefix(sign.size());
  }
  return text;
}

// A number with or without what belongs to it; not "128x16x16", "2-layer", "3x".
bool reads_as_number(std::string_view text) {
  if (text == "nan" || text == "inf" || text == "-inf") return true;
  text = after_sign(text);
  if (text.empty() || !decimal_digit(static_cast<unsigned char>(text.front()))) return false;
  text.remove_prefix(std::min(text.find_first_not_of("0123456789.,"), text.size()));
  if (text.size() > 2 && text[0] == 'e' && (text[1] == '-' || text[1] == '+')) {
    text.remove_prefix(2);
    text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
  }
  if (text.starts_with("×")) text.remove_prefix(std::string_view("×").size());
  return text.empty() || std::string_view(" %/)]").find(text.front()) != std::string_view::npos;
}

}  // namespace

std::string text_of(const Field& field) {
  if (const auto* integer = std::get_if<int64_t>(&field)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&field)) return shortest(*real);
  if (const auto* text = std::get_if<std::string>(&field)) return *text;
  return "";
}

std::string number_text(const Field& value, const char* format) {
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? fmt::format(fmt::runtime(format), *real) : "–";
}

TableText text_of(const Table& table) {
  TableText text{table.text_columns, table.text_rows, table.starred};
  if (text.columns.empty()) {
    text.columns = table.columns;
    text.rows.clear();
    text.starred.clear();
    for (const auto& row : table.rows) {
      auto& texts = text.rows.emplace_back();
      for (const auto& value : row) texts.push_back(shown_text(value));
    }
  }
  for (auto& row : text.rows) row.resize(text.columns.size());
  return text;
}

Table with_short_numbers(Table table) {
  for (auto& row : table.rows) {
    for (auto& field : row) {
      auto* real = std::get_if<double>(&field);
      if (real == nullptr || !std::isfinite(*real)) continue;
      *real = std::strtod(fmt::format("{:.7g}", *real).c_str(), nullptr);
    }
  }
  return table;
}

std::vector<std::string> text_names(const Table& table) {
  if (table.text_columns.empty()) return table.columns;
  std::vector<std::string> names = table.text_names;
  names.resize(table.text_columns.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) continue;
    const std::string& header = table.text_columns[i];
    const auto inner = table.starred.contains(i) ? emphasised(header) : std::string_view();
    names[i] = inner.empty() ? header : std::string(inner);
  }
  return names;
}

bool holds_numbers(const TableText& text, size_t column) {
  bool any = false;
  for (const auto& row : text.rows) {
    const std::string& cell = row[column];
    if (cell.empty() || cell == "–") continue;
    if (!reads_as_number(cell)) return false;
    any = true;
  }
  return any;
}

char32_t take_character(std::string_view& text) {
  constexpr char32_t kBroken = 0xFFFD;
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // below it the form is too long
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  const size_t length = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length == 1) {
    text.remove_prefix(1);
    return lead;
  }
  char32_t code = length == 0 ? kBroken : lead & (0x7Fu >> length);
  bool valid = length > 0 && lead < 0xF8 && length <= text.size();
  for (size_t i = 1; valid && i < length; ++i) {
    valid = (at(i) & 0xC0) == 0x80;
    code = code << 6 | (at(i) & 0x3Fu);
  }
  valid = valid && code >= kLeast[length] && code <= 0x10FFFF && (code < 0xD800 || code >= 0xE000);
  text.remove_prefix(valid ? length : 1);
  return valid ? code : kBroken;
}

std::string render(const Table& table, std::string_view format,
                   const std::vector<std::string>& columns, bool wide) {
  if (format == "tex") return tex_table(table, shown_columns(table, columns, wide));
  if (!columns.empty()) {
    const auto reader = format == "md" ? TableReader::kPerson : TableReader::kProgram;
    return render(with_columns(table, columns, reader), format);
  }
  if (format == "md") return markdown(table);
  if (format == "csv") return csv(table);
  if (format == "json") return json(table);
  if (format == "jsonl") return jsonl(table);
  throw usage_error("unknown format \"{}\"{}; known: md, csv, json, jsonl, tex", format,
                    did_you_mean(format, {"md", "csv", "json", "jsonl", "tex"}));
}

}  // namespace approx
