#include "results/render/markdown.h"

#include <algorithm>
#include <vector>

#include "results/render/html_text.h"
#include "results/render/text_table.h"

namespace approx {
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

}  // namespace

std::string markdown_cell(std::string_view text) {
  MarkdownLine line(on_one_line(text));
  mark_inline(line);
  for (const auto& bars : line.runs('|')) {
    for (size_t i = bars.begin; i < bars.end; ++i) line.mark(i);
  }
  return line.escaped();
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
