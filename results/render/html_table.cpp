#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "results/render/html_text.h"
#include "results/render/shown_columns.h"
#include "results/render/table_parts.h"
#include "results/render/text_table.h"

namespace approx {
namespace {

// The letter of a note "a: ...", 0 for another note.
char note_letter(std::string_view note) {
  const bool marked = note.size() > 2 && note[0] >= 'a' && note[0] <= 'z' && note[1] == ':';
  return marked && note[2] == ' ' ? note[0] : '\0';
}

// References to the notes that `marks`, "a,b", names; "" unless the table has each of them.
std::string note_links(std::string_view marks, const Table& table, const std::string& id) {
  if (marks.size() % 2 == 0) return "";
  std::string links;
  for (size_t i = 0; i < marks.size(); ++i) {
    if (i % 2 == 1 && marks[i] == ',') continue;
    const bool known = i % 2 == 0 && is_ascii_letter(marks[i]) &&
                       std::any_of(table.notes.begin(), table.notes.end(),
                                   [&](const auto& note) { return note_letter(note) == marks[i]; });
    if (!known) return "";
    links += fmt::format("{0}<a href=\"#{1}-{2}\">{2}</a>", links.empty() ? "" : ",", id, marks[i]);
  }
  return "<sup>" + links + "</sup>";
}

// With blanks that no line breaks at inside brackets, around "±" and behind the mark of a verdict:
// an interval stays in one piece.
std::string unbroken(std::string_view text) {
  constexpr std::string_view kPlusMinus = "\u00b1";
  std::string out;
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == ']') inside = text[i] == '[';
    const bool at_sign = text.substr(i + 1).starts_with(kPlusMinus) ||
                         (i >= 2 && text.substr(i - 2, 2) == kPlusMinus);
    const bool behind_mark = (i == 1 && text.starts_with("?")) ||
                             (i == 3 && (text.starts_with("✔") || text.starts_with("✘")));
    if (text[i] == ' ' && (inside || at_sign || behind_mark)) {
      out += "\u00a0";
    } else {
      out += text[i];
    }
  }
  return out;
}

// HTML of one line, in which a browser may break a word behind a sign such as "_" or "=" where the
// word is a long one: others stay whole.
std::string with_breaks(const std::string& html) {
  constexpr size_t kLongWord = 24;
  std::string out, word;
  size_t letters = 0;
  const auto add_word = [&] {
    for (size_t i = 0; i < word.size(); ++i) {
      out += word[i];
      const bool sign = std::string_view("_=/,:;|-").find(word[i]) != std::string_view::npos;
      if (letters > kLongWord && sign && i > 0 && i + 1 < word.size()) out += "<wbr>";
    }
    word.clear();
    letters = 0;
  };
  for (size_t i = 0; i < html.size(); ++i) {
    if (html[i] == ' ' || html[i] == '<' || html[i] == '&') {
      // Tags and entities are no letters of a word.
      add_word();
      const char end = html[i] == '<' ? '>' : html[i] == '&' ? ';' : ' ';
      const size_t last = std::min(html.find(end, i), html.size() - 1);
      out += html.substr(i, last + 1 - i);
      i = last;
    } else {
      word += html[i];
      letters += (static_cast<unsigned char>(html[i]) & 0xC0) != 0x80;
    }
  }
  add_word();
  return out;
}

// A cell, in which " [a,b]" becomes references where the table has such notes.
std::string cell_html(std::string_view text, const Table& table, const std::string& id) {
  std::string html;
  size_t begin = 0;
  for (size_t at = text.find(" ["); at != std::string_view::npos; at = text.find(" [", at + 2)) {
    const size_t end = text.find(']', at);
    if (end == std::string_view::npos) break;
    const std::string links = note_links(text.substr(at + 2, end - at - 2), table, id);
    if (links.empty()) continue;
    html += with_breaks(html_with_labels(unbroken(text.substr(begin, at - begin)))) + links;
    begin = end + 1;
  }
  return html + with_breaks(html_with_labels(unbroken(text.substr(begin))));
}

// "network <b>resnet20</b> · data set <b>cifar10</b>".
std::string shared_html(const SharedValues& shared, const Table& table, const std::string& id) {
  std::string html;
  for (const auto& [header, value] : shared) {
    html += fmt::format("{}<span>{} <b>{}</b></span>", html.empty() ? "" : " · ",
                        html_escape(header), value.empty() ? "–" : cell_html(value, table, id));
  }
  return html;
}

// The class of a cell that says whether something is worth it.
std::string_view verdict_class(std::string_view text) {
  return text.starts_with("✔")    ? "yes"
         : text.starts_with("✘")  ? "no"
         : text.starts_with("? ") ? "open"
                                  : "";
}

// The text between the stars of a cell of the column, if the table has emphasised texts there.
std::string_view emphasis_in(std::string_view cell, const TableText& text, size_t column) {
  return text.starred.contains(column) ? emphasised(cell) : std::string_view();
}

std::string class_attribute(std::string_view names) {
  return names.empty() ? std::string() : fmt::format(" class=\"{}\"", names);
}

// Numbers stand to the right. A longer header, or a column with longer texts, may break its lines;
// a column of short words or dates ("s") stays as it is.
std::string header_class(const TableText& text, size_t column) {
  constexpr size_t kLongHeader = 16;
  const bool breaks = text.columns[column].size() > kLongHeader;
  if (holds_numbers(text, column)) return class_attribute(breaks ? "n b" : "n");
  return class_attribute(breaks ? "b" : "");
}

// A command is set as it is typed.
constexpr const char* kCommandClass = "w c";

std::string column_class(const TableText& text, const std::string& name, size_t column) {
  constexpr size_t kLongText = 36, kShortText = 12;
  if (name == "command") return kCommandClass;
  if (holds_numbers(text, column)) return "n";
  size_t longest = 0;
  for (const auto& row : text.rows) longest = std::max(longest, row[column].size());
  return longest > kLongText ? "w" : longest <= kShortText ? "s" : "";
}

// The rows, with a line between groups of them: those that the table has, or where the first column
// says the same several times.
std::string rows_html(const Table& table, const ShownTable& shown, const std::string& id) {
  const TableText& text = shown.text;
  const auto same = [&](size_t row) {
    return row > 0 && !text.columns.empty() && text.rows[row][0] == text.rows[row - 1][0];
  };
  bool grouped = false;
  for (size_t row = 0; row < text.rows.size(); ++row) grouped |= same(row);
  grouped &= shown.groups.empty();
  std::vector<std::string> classes;
  for (size_t i = 0; i < text.columns.size(); ++i) {
    classes.push_back(column_class(text, shown.names[i], i));
  }
  std::string out;
  auto group = shown.groups.begin();
  size_t next = 0;  // the first row of that group
  for (size_t row = 0; row < text.rows.size(); ++row) {
    if (group != shown.groups.end() && row == next) {
      out += fmt::format(
          "<tr class=\"above\"><th scope=\"rowgroup\" colspan=\"{}\"><div>{}</div></th></tr>\n",
          text.columns.size(), shared_html(group->shared, table, id));
      next += group->rows;
      ++group;
    }
    out += grouped && row > 0 && !same(row) ? "<tr class=\"g\">" : "<tr>";
    for (size_t i = 0; i < text.columns.size(); ++i) {
      const auto inner = emphasis_in(text.rows[row][i], text, i);
      const std::string cell = classes[i] == kCommandClass ? html_command(text.rows[row][i])
                               : inner.empty()             ? cell_html(text.rows[row][i], table, id)
                                               : "<em>" + cell_html(inner, table, id) + "</em>";
      std::string names = classes[i];
      if (const auto verdict = verdict_class(text.rows[row][i]); !verdict.empty()) {
        names += fmt::format("{}{}", names.empty() ? "" : " ", verdict);
      }
      const std::string attribute = class_attribute(names);
      out += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", attribute, cell)
                    : fmt::format("<td{}>{}</td>", attribute, cell);
    }
    out += "</tr>\n";
  }
  return out;
}

// The cells in their box; `name` is what a screen reader calls it.
std::string box_html(const Table& table, const ShownTable& shown, const std::string& id,
                     const std::string& name) {
  const TableText& text = shown.text;
  std::string out =
      fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n",
                  html_escape(name));
  out += "<table>\n<thead>\n<tr>";
  for (size_t i = 0; i < text.columns.size(); ++i) {
    const auto inner = emphasis_in(text.columns[i], text, i);
    out += fmt::format(
        "<th scope=\"col\"{}>{}</th>", header_class(text, i),
        inner.empty() ? html_escape(text.columns[i]) : "<em>" + html_escape(inner) + "</em>");
  }
  return out + "</tr>\n</thead>\n<tbody>\n" + rows_html(table, shown, id) +
         "</tbody>\n</table>\n</div>\n";
}

// A note whose letter no cell refers to is one that begins so: "p: exact sign-flip test".
std::string notes_html(const std::vector<std::string>& notes, const std::string& id,
                       std::string_view cells) {
  if (notes.empty()) return "";
  std::string out = "<ul class=\"notes\">\n";
  for (const auto& note : notes) {
    const char letter = note_letter(note);
    const bool used = cells.find(fmt::format("href=\"#{}-{}\"", id, letter)) != cells.npos;
    const char mark = used ? letter : '\0';
    out += mark != '\0' ? fmt::format("<li id=\"{}-{}\"><sup>{}</sup> {}</li>\n", id, mark, mark,
                                      html_with_labels(std::string_view(note).substr(3)))
                        : "<li>" + html_with_labels(note) + "</li>\n";
  }
  return out + "</ul>\n";
}

}  // namespace

std::string html_table(const Table& table, const std::string& id, const std::string& file) {
  constexpr size_t kManyColumns = 8, kCrowdedColumns = 12;  // more of them are set closer
  const ShownTable shown = shown_in_groups(table);
  const auto parts = table_parts(shown, kCrowdedColumns);
  size_t columns = 0;
  for (const auto& part : parts) columns = std::max(columns, part.shown.text.columns.size());
  const std::string name = table.title.empty() ? table.name : table.title;
  std::string out =
      fmt::format("<figure class=\"table{}\">\n", columns > kCrowdedColumns ? " many crowded"
                                                  : columns > kManyColumns  ? " many"
                                                                            : "");
  if (!table.title.empty()) out += "<figcaption><h3>" + html_escape(name) + "</h3></figcaption>\n";
  std::string cells = shared_html(shown.shared, table, id);
  if (!cells.empty()) cells = "<p class=\"shared\">" + cells + "</p>\n";
  for (const auto& part : parts) {
    const std::string label = name.empty() ? "table" : name;
    if (part.name.empty()) {
      cells += box_html(table, part.shown, id, label);
      continue;
    }
    cells += "<p class=\"part\">" + html_escape(part.name) + "</p>\n";
    cells += box_html(table, part.shown, id, label + ": " + part.name);
  }
  out += cells;
  if (shown.text.rows.empty()) out += "<p class=\"none\">No rows.</p>\n";
  out += notes_html(table.notes, id, cells);
  if (!table.rows.empty() && !file.empty()) {
    out +=
        fmt::format("<p class=\"file\">{}</p>\n",
                    html_csv_link(render(with_short_numbers(table), "csv"), file, "Table as CSV"));
  }
  return out + "</figure>\n";
}

}  // namespace approx
