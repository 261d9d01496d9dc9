#include "results/render/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "results/render/column_fit.h"
#include "results/render/shown_columns.h"
#include "results/render/text_table.h"

namespace approx {
namespace {

constexpr size_t kNarrowest = 20;  // a terminal
constexpr size_t kGap = 2;         // blanks between columns

struct CharacterRange {
  char32_t first, last;
};

bool lies_in(char32_t c, std::span<const CharacterRange> ranges) {
  return std::ranges::any_of(ranges, [c](const auto& r) { return c >= r.first && c <= r.last; });
}

// Two columns wide (Unicode's East Asian width W and F, by blocks).
constexpr CharacterRange kWide[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                                    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                                    {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
                                    {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};
// Joins the character before, or shows nothing.
constexpr CharacterRange kNoWidth[] = {{0x300, 0x36F},   {0x200B, 0x200F}, {0x202A, 0x202E},
                                       {0x2060, 0x206F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
                                       {0xFEFF, 0xFEFF}};

size_t width_of(char32_t c) {
  if (c < 0x300) return 1;
  if (lies_in(c, kNoWidth)) return 0;
  return lies_in(c, kWide) ? 2 : 1;
}

// A character with its bytes and its width.
struct Character {
  std::string_view bytes;
  size_t width;
};

Character take_bytes(std::string_view& text) {
  const std::string_view before = text;
  const char32_t code = take_character(text);
  return {before.substr(0, before.size() - text.size()), width_of(code)};
}

// On one line; what a terminal would obey or could not show is "\x9b".
std::string on_terminal(std::string_view text) {
  std::string out;
  const std::string line = on_one_line(text);
  std::string_view left = line;
  while (!left.empty()) {
    const std::string_view before = left;
    const char32_t code = take_character(left);
    const auto bytes = before.substr(0, before.size() - left.size());
    const bool is_control = code >= 0x80 && code < 0xA0;
    const bool turns_text = code >= 0x202A && code <= 0x202E;
    if (is_control || turns_text || (code == 0xFFFD && bytes.size() == 1)) {
      for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
    } else {
      out += bytes;
    }
  }
  return out;
}

// --- lines ---

// TextLines that are filled word by word.
class LineFiller {
 public:
  explicit LineFiller(size_t width) : width_(width) {}

  void add_word(const std::string& word) {
    const size_t gap = used_ > 0 ? 1 : 0, wide = terminal_columns(word);
    if (used_ + gap + wide <= width_) {
      append(gap > 0 ? " " : "");
      append(word);
      return;
    }
    if (wide <= width_) {
      end_line();
      append(word);
      return;
    }
    // It goes on the line that has begun, where its first piece fits there.
    const auto pieces = pieces_of(word);
    if (used_ + gap + terminal_columns(pieces.front()) > width_) {
      end_line();
    } else if (gap > 0) {
      append(" ");
    }
    for (const auto& piece : pieces) add_piece(piece);
  }

  std::vector<std::string> lines() {
    end_line();
    if (lines_.empty()) lines_.emplace_back();
    return std::move(lines_);
  }

 private:
  void add_piece(std::string_view piece) {
    const size_t wide = terminal_columns(without_end_blanks(std::string(piece)));
    if (used_ > 0 && used_ + wide > width_) end_line();
    while (!piece.empty()) {
      const auto character = take_bytes(piece);
      if (used_ + character.width > width_) {
        if (character.bytes == " ") continue;
        end_line();
      }
      append(character.bytes);
    }
  }

  void append(std::string_view text) {
    line_ += text;
    used_ += terminal_columns(text);
  }

  void end_line() {
    if (used_ == 0) return;
    lines_.push_back(without_end_blanks(std::move(line_)));
    line_.clear();
    used_ = 0;
  }

  const size_t width_;
  std::vector<std::string> lines_;
  std::string line_;
  size_t used_ = 0;
};

// --- the table ---

using TextLines = std::vector<std::string>;

// Cells side by side, each wrapped in its column. `right`: columns set to the right.
TextLines side_by_side(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                       const std::vector<bool>& right) {
  std::vector<TextLines> columns;
  size_t height = 1;
  for (size_t i = 0; i < cells.size(); ++i) {
    columns.push_back(wrapped(cells[i], widths[i]));
    height = std::max(height, columns.back().size());
  }
  TextLines lines;
  for (size_t line = 0; line < height; ++line) {
    std::string text;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string cell = line < columns[i].size() ? columns[i][line] : std::string();
      const std::string pad(widths[i] - std::min(widths[i], terminal_columns(cell)), ' ');
      text += (i > 0 ? std::string(kGap, ' ') : "") + (right[i] ? pad + cell : cell + pad);
    }
    lines.push_back(without_end_blanks(std::move(text)));
  }
  return lines;
}

std::string one_text(const TextLines& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

bool has_headers(const TableText& text) {
  return std::ranges::any_of(text.columns, [](const auto& header) { return !header.empty(); });
}

// A header and a rule, where some column has a header, and the rows. Rows of several lines have an
// empty line between them where it would not be plain where one begins.
std::string as_grid(const TableText& text, const std::vector<size_t>& widths) {
  std::vector<bool> right;
  TextLines rules;
  for (size_t i = 0; i < widths.size(); ++i) {
    right.push_back(holds_numbers(text, i));
    std::string& rule = rules.emplace_back();
    for (size_t column = 0; column < widths[i]; ++column) rule += "─";
  }
  std::vector<TextLines> rows;
  for (const auto& row : text.rows) rows.push_back(side_by_side(row, widths, right));
  const bool apart =
      std::ranges::any_of(rows, [](const TextLines& row) { return row.size() > 2; }) ||
      std::ranges::any_of(text.rows, [&](const std::vector<std::string>& row) {
        return wrapped(row.front(), widths.front()).size() > 1;
      });
  std::string out;
  if (has_headers(text)) {
    out = one_text(side_by_side(text.columns, widths, right));
    out += one_text(side_by_side(rules, widths, std::vector<bool>(widths.size())));
  }
  for (size_t i = 0; i < rows.size(); ++i) out += (apart && i > 0 ? "\n" : "") + one_text(rows[i]);
  return out;
}

// Each row as lines "header  value".
std::string as_blocks(const TableText& text, size_t width) {
  const auto headers = widths_of({text.columns.begin(), text.columns.end()}, terminal_columns);
  const size_t label =
      std::min(headers.natural, std::max(width / 3, std::min(headers.words, width / 2)));
  std::string out;
  for (const auto& row : text.rows) {
    if (!out.empty()) out += "\n";
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i].empty()) continue;
      out += one_text(
          side_by_side({text.columns[i], row[i]}, {label, width - kGap - label}, {false, false}));
    }
  }
  return out;
}

// Without what a terminal would obey, and without the stars of emphasised texts.
TableText for_terminal(const TableText& text) {
  TableText shown;
  const auto cell = [&](size_t column, const std::string& given) {
    const auto inner = text.starred.contains(column) ? emphasised(given) : std::string_view();
    return on_terminal(inner.empty() ? std::string_view(given) : inner);
  };
  for (size_t i = 0; i < text.columns.size(); ++i) {
    shown.columns.push_back(cell(i, text.columns[i]));
  }
  for (const auto& row : text.rows) {
    auto& cells = shown.rows.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) cells.push_back(cell(i, row[i]));
  }
  return shown;
}

std::string fitted_table(const TableText& text, size_t width) {
  if (text.columns.empty()) return "";
  const auto columns = column_widths(text, terminal_columns);
  const size_t gaps = kGap * (columns.size() - 1);
  auto widths = gaps < width ? fitted_widths(columns, width - gaps) : std::vector<size_t>();
  if (widths.empty() && !has_headers(text) && columns.size() == 2) {
    const size_t name = std::min(columns.front().natural, width / 2);  // of names and values
    widths = {name, width - gaps - name};
  }
  return widths.empty() ? as_blocks(text, width) : as_grid(text, widths);
}

// A paragraph whose lines after the first are set in.
std::string set_in(const std::string& first, std::string_view text, size_t width) {
  const size_t indent = terminal_columns(first);
  std::string out;
  for (const auto& line : wrapped(text, width - indent)) {
    out += (out.empty() ? first : std::string(indent, ' ')) + line + "\n";
  }
  return out;
}

// How much of `command` goes on a line of `width` columns: to behind its last blank, else as much
// as fits. Not inside quotes, where a shell would take the "\\" for text.
size_t line_of_command(std::string_view command, size_t width) {
  size_t blank = 0, fits = 0, used = 0;
  bool quoted = false;
  std::string_view left = command;
  while (!left.empty() && (used < width || fits == 0)) {
    const auto character = take_bytes(left);
    used += character.width;
    if (character.bytes == "'") quoted = !quoted;
    if (quoted) continue;
    fits = command.size() - left.size();
    if (character.bytes == " ") blank = fits;
  }
  if (left.empty()) return command.size();
  return blank > 0 ? blank : fits;
}

// A command that a shell reads back, broken with "\\" where it is too long for a line.
std::string command_lines(std::string_view command, size_t width) {
  const std::string label = "Next: ";
  if (label.size() + terminal_columns(command) <= width) {
    return label + std::string(command) + "\n";
  }
  std::string out = "Next:\n";
  while (terminal_columns(command) > width) {
    const size_t cut = line_of_command(command, width - 1);
    out += command.substr(0, cut);
    command.remove_prefix(cut);
    if (command.empty()) break;
    out += "\\\n";
  }
  return out + std::string(command) + "\n";
}

}  // namespace

size_t terminal_columns(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) width += take_bytes(text).width;
  return width;
}

std::vector<std::string> wrapped(std::string_view text, size_t width) {
  LineFiller lines(std::max<size_t>(width, 1));
  for (const auto& word : words_of(on_terminal(text))) lines.add_word(word);
  return lines.lines();
}

std::string screen(const Table& table, const ScreenOptions& options, const std::string& next) {
  const size_t width = std::max(options.width, kNarrowest);
  const auto shown = shown_columns(table, options.columns, options.all);
  std::string out;
  // Paragraphs with an empty line between them.
  const auto add = [&out](const std::string& paragraph) {
    if (paragraph.empty()) return;
    if (!out.empty()) out += "\n";
    out += paragraph;
  };
  const auto paragraph = [&](std::string_view text) {
    return text.empty() ? std::string() : set_in("", text, width);
  };
  add(paragraph(table.title));
  add(paragraph(table.screen.headline));
  add(paragraph(shared_text(shown.shared)));
  add(fitted_table(for_terminal(shown.text), width));
  std::string notes;
  for (const auto& note : table.notes) notes += set_in("- ", note, width);
  add(notes);
  if (options.can_choose && shown.left_out > 0) {
    add(paragraph(fmt::format("{} more {}: --wide shows all, --columns NAME,... some",
                              shown.left_out, shown.left_out == 1 ? "column" : "columns")));
  }
  if (!next.empty()) add(command_lines(next, width));
  return out;
}

}  // namespace approx
