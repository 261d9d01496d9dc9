#include "results/render/table_parts.h"

#include <algorithm>
#include <string_view>

namespace approx {
namespace {

constexpr std::string_view kBetween = ": ";

bool has_two_ends(const std::string& header) { return header.rfind(kBetween) != header.npos; }

// The column of the table as one of the part, under the beginning of its header.
void add_column(TablePart& part, const ShownTable& whole, size_t column,
                const std::string& header) {
  TableText& text = part.shown.text;
  if (whole.text.starred.contains(column)) text.starred.insert(text.columns.size());
  text.columns.push_back(header);
  part.shown.names.push_back(whole.names[column]);
  for (size_t row = 0; row < text.rows.size(); ++row) {
    text.rows[row].push_back(whole.text.rows[row][column]);
  }
}

}  // namespace

std::vector<TablePart> table_parts(const ShownTable& shown, size_t most) {
  const auto& headers = shown.text.columns;
  const auto first = std::find_if(headers.begin(), headers.end(), has_two_ends);
  const size_t leading = static_cast<size_t>(first - headers.begin());
  if (headers.size() <= most || !std::all_of(first, headers.end(), has_two_ends)) {
    return {{.shown = shown}};
  }
  std::vector<TablePart> parts;
  for (size_t column = leading; column < headers.size(); ++column) {
    const size_t at = headers[column].rfind(kBetween);
    const std::string name = headers[column].substr(at + kBetween.size());
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const auto& other) { return other.name == name; });
    if (part == parts.end()) {
      ShownTable empty = shown;
      empty.text = {.rows = std::vector<std::vector<std::string>>(shown.text.rows.size())};
      empty.names.clear();
      parts.push_back({name, std::move(empty)});
      part = parts.end() - 1;
      for (size_t key = 0; key < leading; ++key) add_column(*part, shown, key, headers[key]);
    }
    add_column(*part, shown, column, headers[column].substr(0, at));
  }
  if (parts.size() == headers.size() - leading) return {{.shown = shown}};
  return parts;
}

}  // namespace approx
