#include "results/render/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/render/html_text.h"

namespace approx {

std::string rounded(double value) {
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string_view emphasised(std::string_view text) {
  const bool stars = text.size() > 2 && text.front() == '*' && text.back() == '*';
  const auto inner = stars ? text.substr(1, text.size() - 2) : std::string_view();
  return inner.find('*') == inner.npos ? inner : std::string_view();
}

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

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_digit(c) || is_ascii_letter(c); }
// The characters that a backslash makes literal.
bool is_punctuation(char c) { return c > ' ' && c <= '~' && !is_alphanumeric(c); }

// A run of one character: bytes begin to end.
struct CharacterRun {
  size_t begin = 0, end = 0;
};

// A line of text in which some characters are to get a backslash.
class MarkdownLine {
 public:
  explicit MarkdownLine(std::string text) : text_(std::move(text)), marked_(text_.size()) {}

  void mark(size_t at) { marked_[at] = true; }
  const std::string& text() const { return text_; }
  // A blank before the first character and behind the last.
  char at(size_t i) const { return i < text_.size() ? text_[i] : ' '; }
  char before(size_t i) const { return i > 0 ? text_[i - 1] : ' '; }

  std::vector<CharacterRun> runs(char c) const {
    std::vector<CharacterRun> runs;
    for (size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] != c) continue;
      if (!runs.empty() && runs.back().end == i) {
        ++runs.back().end;
      } else {
        runs.push_back({i, i + 1});
      }
    }
    return runs;
  }

  std::string escaped() const {
    std::string out;
    for (size_t i = 0; i < text_.size(); ++i) {
      if (marked_[i]) out += '\\';
      out += text_[i];
    }
    return out;
  }

 private:
  std::string text_;
  std::vector<bool> marked_;
};

// Emphasis, strikethrough and code begin and end with a run of the same character, so one run alone
// is text.
void mark_pairs(MarkdownLine& line) {
  for (const char c : {'*', '_', '~', '`'}) {
    auto runs = line.runs(c);
    std::erase_if(runs, [&](const CharacterRun& run) {
      const char before = line.before(run.begin), after = line.at(run.end);
      if (c == '`') return false;
      if (c == '_' && is_alphanumeric(before) && is_alphanumeric(after)) return true;
      return before == ' ' && after == ' ';
    });
    if (runs.size() < 2) continue;
    for (const auto& run : runs) {
      for (size_t i = run.begin; i < run.end; ++i) line.mark(i);
    }
  }
}

// Whether "&amp;", "&#38;" or the like stands at `at`. Which names there are is the renderer's
// matter.
bool is_entity(const MarkdownLine& line, size_t at) {
  const bool number = line.at(at + 1) == '#';
  size_t end = at + (number ? 2 : 1);
  const size_t begin = end;
  while (is_alphanumeric(line.at(end))) ++end;
  return end > begin && line.at(end) == ';';
}

// A tag, a comment, an address: "<b>", "</b>", "<!--", "<?php", "<1@host>".
bool opens_tag(const MarkdownLine& line, size_t at) {
  const char next = line.at(at + 1);
  if (next == '/' || next == '!' || next == '?' || is_ascii_letter(next)) return true;
  return next != ' ' && line.text().find('@', at) != std::string::npos;
}

void mark_inline(MarkdownLine& line) {
  mark_pairs(line);
  for (size_t i = 0; i < line.text().size(); ++i) {
    const char next = line.at(i + 1);
    switch (line.at(i)) {
      case '\\':
        if (is_punctuation(next) || i + 1 == line.text().size()) line.mark(i);
        break;
      case '<':
        if (opens_tag(line, i)) line.mark(i);
        break;
      case '&':
        if (is_entity(line, i)) line.mark(i);
        break;
      case ']':  // of a link or a picture: without its end it is none
        if (next == '(') line.mark(i);
        break;
      default:
        break;
    }
  }
}

// "***", "_ _ _": three or more of one of these characters and nothing else but blanks. Of hyphens
// the item's own is the first.
bool is_rule(const std::string& text) {
  const char c = text.empty() ? '\0' : text.front();
  return (c == '-' || c == '*' || c == '_') && text.find_first_not_of({c, ' '}) == text.npos &&
         std::ranges::count(text, c) >= (c == '-' ? 2 : 3);
}

// "[x]: target" of a link, "[x] done" or "[ ] to do" of a task.
bool is_target_or_task(const MarkdownLine& line) {
  const std::string& text = line.text();
  if (text.front() != '[') return false;
  const auto end = text.find(']'), first = text.find_first_not_of(' ', 1);
  return (end == 2 && line.at(3) == ' ') || (first != end && text.find("]:") != text.npos);
}

// What would make an item's text a heading, a quotation, another list, code, a task or the target
// of a link.
void mark_block(MarkdownLine& line) {
  const std::string& text = line.text();
  if (text.empty()) return;
  const char first = text.front();
  const size_t run = std::min(text.find_first_not_of(first), text.size());
  const bool alone = run == 1 && line.at(1) == ' ';
  if ((first == '#' && run <= 6 && line.at(run) == ' ') || first == '>' || is_rule(text) ||
      ((first == '-' || first == '+' || first == '*') && alone) ||
      ((first == '`' || first == '~') && run >= 3) || is_target_or_task(line)) {
    line.mark(0);
  }
  size_t digits = 0;
  while (is_digit(line.at(digits))) ++digits;
  const bool ends_number = line.at(digits) == '.' || line.at(digits) == ')';
  if (digits > 0 && ends_number && line.at(digits + 1) == ' ') line.mark(digits);
}

// Without blanks at its ends.
MarkdownLine trimmed(std::string_view text) {
  std::string line = on_one_line(text);
  const auto begin = std::min(line.find_first_not_of(' '), line.size());
  return MarkdownLine(line.substr(begin, line.find_last_not_of(' ') + 1 - begin));
}

std::string markdown_cell(std::string_view text) {
  MarkdownLine line(on_one_line(text));
  mark_inline(line);
  for (const auto& bars : line.runs('|')) {
    for (size_t i = bars.begin; i < bars.end; ++i) line.mark(i);
  }
  return line.escaped();
}

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

std::string markdown_heading(std::string_view text) {
  MarkdownLine line = trimmed(text);
  mark_inline(line);
  // "### a #": signs at the end are no part of the heading.
  if (const auto signs = line.runs('#'); !signs.empty() && line.before(signs.back().begin) == ' ') {
    if (signs.back().end == line.text().size()) line.mark(signs.back().begin);
  }
  return line.escaped();
}

std::string markdown_item(std::string_view text) {
  MarkdownLine line = trimmed(text);
  mark_inline(line);
  mark_block(line);
  return line.escaped();
}

}  // namespace approx
