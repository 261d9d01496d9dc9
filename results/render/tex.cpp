#include "results/render/tex.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "results/render/column_fit.h"
#include "results/render/tex_text.h"
#include "results/render/text_table.h"

namespace approx {
namespace {

// --- cells ---

// Letters of footnotes: "a,b".
bool are_letters(std::string_view text) {
  return std::ranges::all_of(split(text, ","), [](std::string_view letter) {
    return !letter.empty() && letter.size() <= 2 &&
           std::ranges::all_of(letter, [](char c) { return c >= 'a' && c <= 'z'; });
  });
}

// Where the next " [a,b]" of `text` begins, and what stands in it; npos without one.
struct TexMark {
  size_t at = std::string_view::npos, end = 0;
  std::string_view letters;
};
TexMark next_mark(std::string_view text, size_t from) {
  for (size_t at = text.find(" [", from); at != text.npos; at = text.find(" [", at + 1)) {
    const size_t end = text.find(']', at);
    if (end == text.npos) break;
    const auto letters = text.substr(at + 2, end - at - 2);
    if (are_letters(letters)) return {at, end + 1, letters};
  }
  return {};
}

// The letters that notes begin with, "a: fewer than 5 seeds", and cells are marked with.
std::set<std::string> note_letters(const Table& table, const TableText& text) {
  std::set<std::string> letters, marks;
  for (const auto& note : table.notes) {
    const size_t end = note.find(": ");
    if (end != note.npos && are_letters(note.substr(0, end))) letters.insert(note.substr(0, end));
  }
  for (const auto& row : text.rows) {
    for (const auto& cell : row) {
      for (auto mark = next_mark(cell, 0); mark.at != cell.npos; mark = next_mark(cell, mark.end)) {
        for (const auto letter : split(mark.letters, ",")) {
          if (letters.contains(std::string(letter))) marks.emplace(letter);
        }
      }
    }
  }
  return marks;
}

constexpr size_t kTexChunk = 80;  // points; a piece of a word that is wider may be broken anywhere

// A piece of a word, cut into parts of at most kTexChunk.
std::vector<std::string> tex_chunks(std::string_view piece) {
  if (tex_points(piece) <= kTexChunk) return {std::string(piece)};
  std::vector<std::string> chunks(1);
  while (!piece.empty()) {
    const std::string_view before = piece;
    take_character(piece);
    const auto character = before.substr(0, before.size() - piece.size());
    if (tex_points(chunks.back() + std::string(character)) > kTexChunk) chunks.emplace_back();
    chunks.back() += character;
  }
  return chunks;
}

// A text that may be broken within words too, where there is no better place.
std::string tex_words(std::string_view text) {
  std::string out = text.starts_with(' ') ? " " : "";
  bool is_first = true;
  for (const auto& word : words_of(text)) {
    if (!is_first) out += " ";
    is_first = false;
    std::string pieces;
    for (const auto& piece : pieces_of(word)) {
      if (!pieces.empty() && !pieces.ends_with('-')) pieces += "\\penalty100{}";
      std::string chunks;
      for (const auto& chunk : tex_chunks(piece)) {
        chunks += (chunks.empty() ? "" : "\\penalty900{}") + tex_text(chunk);
      }
      pieces += chunks;
    }
    out += pieces;
  }
  return out;
}

// Cells of a table, with the marks of its notes ("[a,b]") raised.
class TexCells {
 public:
  TexCells(const Table& table, const TableText& text) : letters_(note_letters(table, text)) {}

  std::string cell(std::string_view text, bool is_starred, bool is_wrapped) const {
    const auto inner = is_starred ? emphasised(text) : std::string_view();
    if (!inner.empty()) return "\\emph{" + plain(inner, is_wrapped) + "}";
    std::string out;
    size_t begin = 0;  // of what is not yet in `out`
    for (auto mark = next_mark(text, 0); mark.at != text.npos; mark = next_mark(text, mark.end)) {
      if (!has_all(mark.letters)) continue;
      out += plain(text.substr(begin, mark.at - begin), is_wrapped);
      out += (is_wrapped ? "\\penalty500{}" : "") + raised(mark.letters);
      begin = mark.end;
    }
    return out + plain(text.substr(begin), is_wrapped);
  }

  std::string note(const std::string& text) const {
    const size_t end = text.find(": ");
    if (end == text.npos || !letters_.contains(text.substr(0, end))) return tex_words(text);
    return raised(text.substr(0, end)) + tex_words(text.substr(end + 2));
  }

 private:
  static std::string plain(std::string_view text, bool is_wrapped) {
    return is_wrapped ? tex_words(text) : tex_text(text);
  }
  static std::string raised(std::string_view mark) {
    return "\\textsuperscript{" + std::string(mark) + "}";
  }

  bool has_all(std::string_view letters) const {
    return std::ranges::all_of(split(letters, ","), [this](std::string_view letter) {
      return letters_.contains(std::string(letter));
    });
  }

  const std::set<std::string> letters_;
};

// --- the layout: points of \footnotesize ---

constexpr size_t kTexLine = 345;     // of LaTeX's article
constexpr size_t kTexLetters = 320;  // of it for texts: other classes have larger letters
constexpr size_t kTexGap = 12, kTexSmallGap = 6;     // between columns
constexpr double kTexPage = 430;                     // of a page for a table
constexpr double kTexLead = 9.5, kTexWideLead = 12;  // from line to line

struct TexColumn {
  bool is_right = false;
  size_t wrapped_at = 0;  // 0: as wide as its texts

  std::string text() const {
    if (wrapped_at == 0) return is_right ? "r" : "l";
    return fmt::format(">{{\\{}\\arraybackslash}}p{{{:.3f}\\linewidth}}",
                       is_right ? "raggedleft" : "raggedright",
                       static_cast<double>(wrapped_at) / static_cast<double>(kTexLetters));
  }
};

struct TexLayout {
  bool is_small = false;   // \footnotesize
  bool is_blocks = false;  // each row is a block of lines "header & value"
  std::vector<TexColumn> columns;
};

TexLayout tex_layout(const TableText& text) {
  auto columns = column_widths(text, tex_points);
  TexLayout layout;
  if (columns.empty()) return {.columns = {{}}};
  size_t natural = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    natural += columns[i].natural;
    columns[i].pieces = std::min(columns[i].pieces, kTexChunk);
    layout.columns.push_back({.is_right = holds_numbers(text, i)});
  }
  const size_t gaps = columns.size() - 1;
  if (natural * 10 / 8 + gaps * kTexGap <= kTexLetters) return layout;
  layout.is_small = true;
  if (natural + gaps * kTexSmallGap <= kTexLetters) return layout;
  const size_t left = kTexLetters - std::min(kTexLetters, gaps * kTexSmallGap);
  const auto widths = fitted_widths(columns, left);
  for (size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] < columns[i].natural) layout.columns[i].wrapped_at = widths[i];
  }
  if (!widths.empty()) return layout;
  constexpr size_t kHeader = kTexLetters / 3;
  layout.is_blocks = true;
  layout.columns = {{.wrapped_at = kHeader}, {.wrapped_at = kTexLetters - kHeader - kTexSmallGap}};
  return layout;
}

// About how many lines a text takes in a column.
double tex_lines_of(std::string_view text, size_t wrapped_at) {
  if (wrapped_at == 0) return 1;
  constexpr double kRagged = 1.2;  // lines end before the column does
  return std::max(1.0, std::ceil(kRagged * static_cast<double>(tex_points(text)) /
                                 static_cast<double>(wrapped_at)));
}

// --- the table ---

class TexTable {
 public:
  TexTable(const Table& table, const ShownTable& shown)
      : table_(table), shown_(shown), cells_(table, shown.text), layout_(tex_layout(shown.text)) {}

  std::string text() const {
    std::string out = "% Needs \\usepackage{array,booktabs,longtable}.\n";
    if (shown_.left_out > 0) {
      out += fmt::format("% {} more {}: --wide has all, --columns NAME,... some.\n",
                         shown_.left_out, shown_.left_out == 1 ? "column" : "columns");
    }
    return out + (points() > kTexPage ? over_pages() : on_a_page());
  }

 private:
  std::string on_a_page() const {
    std::string out = "\\begin{table}[htbp]\n  \\centering\n" + caption("\n") + size();
    if (!shown_.shared.empty()) out += "  {\\footnotesize " + shared() + "\\par}\\smallskip\n";
    out += "  \\begin{tabular}{" + columns() + "}\n" + head() + rows();
    out += "    \\bottomrule\n  \\end{tabular}\n";
    if (!table_.notes.empty()) out += "  \\par\\smallskip\n" + notes();
    return out + "\\end{table}\n";
  }

  // No float: it may be longer than a page.
  std::string over_pages() const {
    std::string out = "{%\n" + size();
    if (!shown_.shared.empty()) {
      out += "  \\par\\noindent{\\footnotesize " + shared() + "\\par}\\nopagebreak\n";
    }
    out += "  \\begin{longtable}{" + columns() + "}\n";
    out += caption(" \\\\\n");
    out += head() + "    \\endfirsthead\n" + head() + "    \\endhead\n";
    out += "    \\bottomrule\n    \\endfoot\n" + rows() + "  \\end{longtable}\n";
    return out + notes() + "}\n";
  }

  std::string caption(const char* end) const {
    return table_.title.empty() ? "" : "  \\caption{" + tex_text(table_.title) + "}" + end;
  }
  std::string size() const {
    return layout_.is_small ? "  \\footnotesize\\setlength{\\tabcolsep}{3pt}\n" : "";
  }
  std::string shared() const { return tex_words(shared_text(shown_.shared)); }

  std::string columns() const {
    std::string out = "@{}";
    for (const auto& column : layout_.columns) out += column.text();
    return out + "@{}";
  }

  std::string cell(size_t column, const std::string& text, size_t place) const {
    return cells_.cell(text, shown_.text.starred.contains(column),
                       layout_.columns[place].wrapped_at > 0);
  }

  std::string line(const std::vector<std::string>& texts) const {
    std::string out = "    ";
    for (size_t i = 0; i < texts.size(); ++i) {
      out += (i > 0 ? " & " : "") + cell(i, texts[i], i);
    }
    return out + " \\\\\n";
  }

  // What stands above the rows, on every page.
  std::string head() const {
    if (layout_.is_blocks) return "    \\toprule\n";
    return "    \\toprule\n" + line(shown_.text.columns) + "    \\midrule\n";
  }

  std::string rows() const {
    std::string out;
    for (const auto& row : shown_.text.rows) out += layout_.is_blocks ? block(row, out) : line(row);
    return out;
  }

  std::string block(const std::vector<std::string>& row, std::string_view before) const {
    std::string out = before.empty() ? "" : "    \\midrule\n";
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i].empty()) continue;
      out += "    " + cell(i, shown_.text.columns[i], 0) + " & " + cell(i, row[i], 1) + " \\\\\n";
    }
    return out;
  }

  std::string notes() const {
    if (table_.notes.empty()) return "";
    std::string out = "  {\\footnotesize\\raggedright\\setlength{\\parindent}{0pt}\n";
    for (const auto& note : table_.notes) out += "    " + cells_.note(note) + "\\par\n";
    return out + "  }\n";
  }

  // About how high it is, in points.
  double points() const {
    double lines = 2, of_notes = 0;
    for (const auto& row : shown_.text.rows) {
      double tallest = 1, all = 0;
      for (size_t i = 0; i < row.size(); ++i) {
        const double own =
            tex_lines_of(row[i], layout_.columns[layout_.is_blocks ? 1 : i].wrapped_at);
        tallest = std::max(tallest, own);
        if (!row[i].empty()) all += own;
      }
      lines += layout_.is_blocks ? all : tallest;
    }
    for (const auto& note : table_.notes) of_notes += tex_lines_of(note, kTexLine);
    return lines * (layout_.is_small ? kTexLead : kTexWideLead) + of_notes * kTexLead;
  }

  const Table& table_;
  const ShownTable& shown_;
  const TexCells cells_;
  const TexLayout layout_;
};

}  // namespace

std::string tex_table(const Table& table, const ShownTable& shown) {
  return TexTable(table, shown).text();
}

}  // namespace approx
