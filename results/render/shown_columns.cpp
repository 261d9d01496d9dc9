#include "results/render/shown_columns.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "base/error.h"
#include "results/render/text_table.h"

namespace approx {
namespace {

// A column of a table: of its text, or of its values.
struct ColumnSource {
  bool is_text = true;
  size_t index = 0;
};

// A column that may be asked for.
struct Offered {
  std::string name, header;
  ColumnSource source;
};

// As names are compared.
std::string as_compared(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, ' ', '_');
  return text;
}

// Whether `word` is the beginning of a name, up to a blank or "_".
bool is_beginning(const std::string& name, const std::string& word) {
  return name.size() > word.size() && name.starts_with(word) && name[word.size()] == '_';
}

std::vector<Offered> offered(const Table& table, TableReader reader) {
  std::vector<Offered> columns;
  if (reader == TableReader::kPerson) {
    const auto text = text_of(table);
    const auto names = text_names(table);
    for (size_t i = 0; i < names.size(); ++i) {
      columns.push_back({names[i], text.columns[i], {true, i}});
    }
    if (text.rows.size() != table.rows.size()) return columns;
  }
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const bool known = std::ranges::any_of(
        columns, [&](const Offered& column) { return column.name == table.columns[i]; });
    if (!known) columns.push_back({table.columns[i], table.columns[i], {false, i}});
  }
  return columns;
}

const Offered* find_offered(const std::vector<Offered>& columns, const std::string& word) {
  const auto first = [&](auto fits) -> const Offered* {
    const auto found = std::ranges::find_if(columns, fits);
    return found == columns.end() ? nullptr : &*found;
  };
  if (const auto* column = first([&](const Offered& c) { return as_compared(c.name) == word; })) {
    return column;
  }
  if (const auto* column = first([&](const Offered& c) { return as_compared(c.header) == word; })) {
    return column;
  }
  return first([&](const Offered& column) {
    return is_beginning(as_compared(column.name), word) ||
           is_beginning(as_compared(column.header), word);
  });
}

std::vector<ColumnSource> sources_of(const std::vector<Offered>& columns,
                                     const std::vector<std::string>& names) {
  std::vector<ColumnSource> sources;
  std::set<const Offered*> taken;
  for (const auto& name : names) {
    const Offered* column = find_offered(columns, as_compared(name));
    if (column == nullptr) {
      std::vector<std::string> known;
      for (const auto& other : columns) known.push_back(other.name);
      throw usage_error("--columns: no column \"{}\"{}; known: {}", name, did_you_mean(name, known),
                        fmt::join(known, ", "));
    }
    if (!taken.insert(column).second) {
      throw usage_error("--columns: \"{}\" is given twice", column->name);
    }
    sources.push_back(column->source);
  }
  return sources;
}

void choose_values(const Table& table, const std::vector<ColumnSource>& sources, Table& chosen) {
  for (const auto& source : sources) chosen.columns.push_back(table.columns[source.index]);
  for (const auto& row : table.rows) {
    auto& values = chosen.rows.emplace_back();
    for (const auto& source : sources) values.push_back(row[source.index]);
  }
}

// `texts` and `values` have the text of all columns.
void choose_texts(const Table& table, const std::vector<ColumnSource>& sources, Table& chosen) {
  const TableText texts = text_of(table);
  const auto names = text_names(table);
  const TableText values = text_of(Table{.columns = table.columns, .rows = table.rows});
  const auto of = [&](const ColumnSource& source) -> const TableText& {
    return source.is_text ? texts : values;
  };
  for (const auto& source : sources) {
    if (of(source).starred.contains(source.index)) {
      chosen.starred.insert(chosen.text_columns.size());
    }
    chosen.text_columns.push_back(of(source).columns[source.index]);
    chosen.text_names.push_back(source.is_text ? names[source.index] : table.columns[source.index]);
  }
  for (size_t line = 0; line < texts.rows.size(); ++line) {
    auto& row = chosen.text_rows.emplace_back();
    for (const auto& source : sources) row.push_back(of(source).rows[line][source.index]);
  }
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// A header or cell of a column, without the stars of an emphasised one.
std::string unstarred(const TableText& text, size_t column, const std::string& cell) {
  const auto inner = text.starred.contains(column) ? emphasised(cell) : std::string_view();
  return inner.empty() ? cell : std::string(inner);
}

// What all rows have in a column; none of a table without rows. In a key, rows with an empty cell
// (exact training has no schedule) are like any other.
std::optional<std::string> shared_value(const TableText& text, size_t column, bool is_key) {
  if (text.rows.empty()) return std::nullopt;
  std::string shared = text.rows.front()[column];
  for (const auto& row : text.rows) {
    if (is_key && shared.empty()) shared = row[column];
    if (row[column] != shared && !(is_key && row[column].empty())) return std::nullopt;
  }
  return unstarred(text, column, shared);
}

// The columns of `text` at `kept`.
TableText columns_at(const TableText& text, const std::vector<size_t>& kept) {
  TableText some;
  for (const size_t column : kept) {
    if (text.starred.contains(column)) some.starred.insert(some.columns.size());
    some.columns.push_back(text.columns[column]);
  }
  for (const auto& row : text.rows) {
    auto& cells = some.rows.emplace_back();
    for (const size_t column : kept) cells.push_back(row[column]);
  }
  return some;
}

// What rows of one comparison have alike.
constexpr std::array<std::string_view, 3> kGroupNames = {"network", "dataset", "setting"};

// The rows of `text` in groups of those that are alike in `columns`, each by its first row.
std::vector<std::vector<size_t>> alike_rows(const TableText& text,
                                            const std::vector<size_t>& columns) {
  std::vector<std::vector<size_t>> groups;
  for (size_t row = 0; row < text.rows.size(); ++row) {
    const auto group = std::ranges::find_if(groups, [&](const std::vector<size_t>& other) {
      return std::ranges::all_of(columns, [&](size_t column) {
        return text.rows[other.front()][column] == text.rows[row][column];
      });
    });
    if (group == groups.end()) {
      groups.push_back({row});
    } else {
      group->push_back(row);
    }
  }
  return groups;
}

}  // namespace

Table with_columns(const Table& table, const std::vector<std::string>& names, TableReader reader) {
  const auto sources = sources_of(offered(table, reader), names);
  Table chosen{.name = table.name, .title = table.title};
  if (reader == TableReader::kPerson) {
    choose_texts(table, sources, chosen);
  } else {
    choose_values(table, sources, chosen);
  }
  chosen.notes = table.notes;
  chosen.screen = table.screen;
  return chosen;
}

std::string shared_text(const SharedValues& shared) {
  std::string text;
  for (const auto& [header, value] : shared) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " · ", header, value.empty() ? "–" : value);
  }
  return text;
}

ShownTable shown_columns(const Table& table, const std::vector<std::string>& names, bool all) {
  const auto& [keys, results, headline, next] = table.screen;
  const TableText text = text_of(table);
  const auto known = text_names(table);
  if (!names.empty()) {
    const Table chosen = with_columns(table, names, TableReader::kPerson);
    ShownTable view{.text = text_of(chosen), .names = text_names(chosen)};
    for (size_t i = 0; i < known.size(); ++i) {
      const auto value = shared_value(text, i, /*is_key=*/true);
      if (!is_among(keys, known[i]) || is_among(chosen.text_names, known[i]) || !value) continue;
      view.shared.emplace_back(unstarred(text, i, text.columns[i]), *value);
    }
    return view;
  }
  ShownTable view;
  std::vector<size_t> kept;
  size_t first_shared = 0;
  for (size_t i = 0; i < known.size(); ++i) {
    const bool is_key = is_among(keys, known[i]), is_result = is_among(results, known[i]);
    const auto value = shared_value(text, i, is_key);
    const bool is_shared = !is_result && value && (is_key || text.rows.size() > 1);
    const bool is_left_out = !all && !results.empty() && !is_key && !is_result;
    if (is_left_out) {
      ++view.left_out;
    } else if (is_shared) {
      if (view.shared.empty()) first_shared = i;
      view.shared.emplace_back(unstarred(text, i, text.columns[i]), *value);
    } else {
      kept.push_back(i);
    }
  }
  if (kept.empty() && !view.shared.empty()) {
    kept.push_back(first_shared);
    view.shared.erase(view.shared.begin());
  }
  view.text = columns_at(text, kept);
  for (const size_t column : kept) view.names.push_back(known[column]);
  return view;
}

namespace {

std::vector<std::string> words_of_setting(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// Of a setting ("epochs=6 batch_size=128") what all groups have stands above the table alone.
void lift_common_words(ShownTable& view) {
  constexpr const char* kSetting = "setting";
  std::vector<std::string*> texts;
  for (auto& group : view.groups) {
    for (auto& [header, value] : group.shared) {
      if (header == kSetting) texts.push_back(&value);
    }
  }
  if (texts.empty()) return;
  std::string common;
  for (const auto& word : words_of_setting(*texts.front())) {
    const bool everywhere = std::ranges::all_of(
        texts, [&](const std::string* text) { return is_among(words_of_setting(*text), word); });
    if (everywhere) common += (common.empty() ? "" : " ") + word;
  }
  if (common.empty()) return;
  for (auto* text : texts) {
    std::string own;
    for (const auto& word : words_of_setting(*text)) {
      if (!is_among(words_of_setting(common), word)) own += (own.empty() ? "" : " ") + word;
    }
    *text = own;
  }
  view.shared.emplace_back(kSetting, common);
}

}  // namespace

ShownTable shown_in_groups(const Table& table) {
  ShownTable view = shown_columns(table, {}, /*all=*/true);
  std::vector<size_t> above, kept;
  for (size_t i = 0; i < view.names.size(); ++i) {
    const bool is_above = std::ranges::find(kGroupNames, view.names[i]) != kGroupNames.end();
    (is_above ? above : kept).push_back(i);
  }
  const auto groups = alike_rows(view.text, above);
  if (above.empty() || kept.empty() || groups.size() == view.text.rows.size()) return view;
  TableText together = view.text;
  together.rows.clear();
  for (const auto& rows : groups) {
    auto& group = view.groups.emplace_back(RowGroup{.shared = {}, .rows = rows.size()});
    for (const size_t column : above) {
      const auto& value = view.text.rows[rows.front()][column];
      group.shared.emplace_back(unstarred(view.text, column, view.text.columns[column]),
                                unstarred(view.text, column, value));
    }
    for (const size_t row : rows) together.rows.push_back(view.text.rows[row]);
  }
  lift_common_words(view);
  view.text = columns_at(together, kept);
  std::vector<std::string> names;
  for (const size_t column : kept) names.push_back(view.names[column]);
  view.names = std::move(names);
  return view;
}

}  // namespace approx
