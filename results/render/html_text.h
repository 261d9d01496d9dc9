// Converts text and tables to HTML or SVG. For any input bytes the output is valid UTF-8 and shows
// the input.
#pragma once

#include <string>
#include <string_view>

#include "results/render/table.h"

namespace approx {

// Escapes text for use between tags and inside quotes: markup characters become entities, control
// characters U+FFFD.
std::string html_escape(std::string_view text);

// Escapes text; verdicts (results/render/verdict.h) become labels.
std::string html_with_labels(std::string_view text);

// Escapes a command. Words such as "--db" stay in one piece; a browser would break them at hyphens.
std::string html_command(std::string_view text);

// Escapes text as html_with_labels() does, into <p> elements; an empty line separates paragraphs.
// `css_class` may be "".
std::string html_paragraphs(std::string_view text, std::string_view css_class);

// A link that offers `csv` as the file `name`.csv; `text` is HTML.
std::string html_csv_link(std::string_view csv, std::string_view name, std::string_view text);

// A <figure> with the table as people read it (shown_in_groups in shown_columns.h) and its notes. A
// very wide table is several (table_parts.h).
// Its CSV is offered as the file `file`.csv, unless `file` is "". `id` must be unique on the page:
// references to notes use it.
std::string html_table(const Table& table, const std::string& id, const std::string& file);

// Adds one character to UTF-8 text.
void append_utf8(std::string& out, char32_t character);

// Whether a character is an ASCII letter, whatever the locale.
bool is_ascii_letter(char c);
bool is_word_character(char c);  // letter, digit, "_"
std::string ascii_lower(std::string_view text);

}  // namespace approx
