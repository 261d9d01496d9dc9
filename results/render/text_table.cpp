#include "results/render/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/render/markdown.h"

namespace approx {

std::string rounded(double value) {
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string_view emphasised(std::string_view text) {
  const bool stars = text.size() > 2 && text.front() == '*' && text.back() == '*';
  const auto inner = stars ? text.substr(1, text.size() - 2) : std::string_view();
  return inner.find('*') == inner.npos ? inner : std::string_view();
}

namespace {

// Columns on a screen: bytes that start a character (UTF-8).
size_t screen_width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool looks_numeric(std::string_view cell) {
  return cell.find_first_not_of("0123456789.,+-eE%x() ") == std::string::npos;
}

// One column of a Markdown table.
struct MarkdownColumn {
  size_t width = 3;  // of the rule below the header, at least
  bool right = false;
};

TextRow markdown_cells(const TextRow& texts, const std::set<size_t>& starred) {
  TextRow cells;
  for (const auto& text : texts) {
    const auto inner = starred.contains(cells.size()) ? emphasised(text) : std::string_view();
    cells.push_back(inner.empty() ? markdown_cell(text) : "*" + markdown_cell(inner) + "*");
  }
  return cells;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted(1, '"');
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace

std::string on_one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n' || c == '\t' || c == '\r') {
      out += ' ';
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string markdown_table(const TextRow& header_texts, const std::vector<TextRow>& row_texts,
                           Alignment alignment, const std::set<size_t>& starred) {
  const TextRow header = markdown_cells(header_texts, starred);
  std::vector<TextRow> rows;
  for (const auto& texts : row_texts) rows.push_back(markdown_cells(texts, starred));
  std::vector<MarkdownColumn> columns(header.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    auto& [width, right] = columns[i];
    width = std::max(width, screen_width(header[i]));
    right = alignment == Alignment::kNumbersRight && !rows.empty();
    for (const auto& row : rows) {
      width = std::max(width, screen_width(row[i]));
      right = right && looks_numeric(row[i]);
    }
  }
  std::string text;
  const auto add_line = [&](const TextRow& cells) {
    text += "|";
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string pad(columns[i].width - screen_width(cells[i]), ' ');
      text += columns[i].right ? " " + pad + cells[i] + " |" : " " + cells[i] + pad + " |";
    }
    text += "\n";
  };
  add_line(header);
  text += "|";
  for (const auto& [width, right] : columns) {
    text += std::string(width + 1, '-') + (right ? ":|" : "-|");
  }
  text += "\n";
  for (const auto& row : rows) add_line(row);
  return text;
}

std::string csv_table(const TextRow& header, const std::vector<TextRow>& rows) {
  std::string text;
  const auto add_line = [&text](const TextRow& cells) {
    for (size_t i = 0; i < cells.size(); ++i) text += (i > 0 ? "," : "") + csv_cell(cells[i]);
    text += "\n";
  };
  add_line(header);
  for (const auto& row : rows) add_line(row);
  return text;
}

}  // namespace approx
