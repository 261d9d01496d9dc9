#include "results/render/column_fit.h"

#include <algorithm>
#include <numeric>

namespace approx {
namespace {

constexpr size_t kLongestBracket = 24;  // a longer one is broken at its blanks

// Where the bracket that opens at `begin` is closed, if that is near: behind it, else `begin`.
size_t behind_bracket(std::string_view text, size_t begin) {
  const size_t end = text.find_first_of("[]", begin + 1);
  if (end == text.npos || text[end] != ']' || end - begin > kLongestBracket) return begin;
  return end + 1;
}

bool is_seam(std::string_view character) {
  return character.size() == 1 && std::string_view(" _/=,;:-").find(character) != std::string::npos;
}

size_t total_of(const std::vector<size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), size_t{0});
}

// Widens columns up to `most`, always the one that has to be broken into most lines, until they
// have `total` together.
void widen(std::vector<size_t>& widths, const std::vector<size_t>& most, size_t total) {
  for (size_t left = total - std::min(total, total_of(widths)); left > 0; --left) {
    size_t tallest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] >= most[i]) continue;
      const bool taller =
          tallest == widths.size() || most[i] * widths[tallest] > most[tallest] * widths[i];
      if (taller) tallest = i;
    }
    if (tallest == widths.size()) return;
    ++widths[tallest];
  }
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool joins = false;  // the next word belongs to the last one
  while (!text.empty()) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == text.npos) break;
    text.remove_prefix(begin);
    size_t end = 0;
    while (end < text.size() && text[end] != ' ') {
      end = text[end] == '[' ? std::max(behind_bracket(text, end), end + 1) : end + 1;
    }
    const auto word = text.substr(0, end);
    text.remove_prefix(end);
    if ((joins || word == "±") && !words.empty()) {
      words.back() += " " + std::string(word);
    } else {
      words.emplace_back(word);
    }
    joins = word == "±";
  }
  return words;
}

std::vector<std::string> pieces_of(std::string_view word) {
  constexpr size_t kShortest = 4;  // bytes
  std::vector<std::string> pieces(1);
  while (!word.empty()) {
    const std::string_view before = word;
    take_character(word);
    const auto bytes = before.substr(0, before.size() - word.size());
    pieces.back() += bytes;
    const bool short_one =
        bytes != " " && (pieces.back().size() < kShortest || word.size() < kShortest);
    if (is_seam(bytes) && !short_one && !is_seam(word.substr(0, 1))) pieces.emplace_back();
  }
  return pieces;
}

std::string without_end_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

ColumnWidths widths_of(const std::vector<std::string_view>& texts, const TextMeasure& measure) {
  ColumnWidths widths;
  for (const auto text : texts) {
    widths.natural = std::max(widths.natural, measure(text));
    for (const auto& word : words_of(text)) {
      widths.words = std::max(widths.words, measure(word));
      for (const auto& piece : pieces_of(word)) {
        widths.pieces = std::max(widths.pieces, measure(without_end_blanks(piece)));
      }
    }
  }
  return widths;
}

std::vector<ColumnWidths> column_widths(const TableText& text, const TextMeasure& measure) {
  std::vector<ColumnWidths> columns;
  for (size_t i = 0; i < text.columns.size(); ++i) {
    std::vector<std::string_view> texts = {text.columns[i]};
    for (const auto& row : text.rows) texts.push_back(row[i]);
    auto& widths = columns.emplace_back(widths_of(texts, measure));
    if (!holds_numbers(text, i)) continue;
    for (const auto& row : text.rows) widths.numbers = std::max(widths.numbers, measure(row[i]));
  }
  return columns;
}

std::vector<size_t> fitted_widths(const std::vector<ColumnWidths>& columns, size_t total) {
  const auto each = [&](size_t ColumnWidths::*part, size_t most) {
    std::vector<size_t> widths;
    for (const auto& column : columns) widths.push_back(std::min(column.*part, most));
    return widths;
  };
  auto widths = each(&ColumnWidths::pieces, total + 1);
  if (total_of(widths) > total) return {};
  widen(widths, each(&ColumnWidths::words, total / 3), total);  // such as a path may be broken
  widen(widths, each(&ColumnWidths::numbers, total), total);
  widen(widths, each(&ColumnWidths::natural, total), total);
  return widths;
}

}  // namespace approx
