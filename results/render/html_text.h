// Text and tables on their way into HTML or SVG. Whatever the bytes, what comes out is valid UTF-8
// and means itself.
#pragma once

#include <string>
#include <string_view>

#include "results/render/table.h"

namespace approx {

// Between tags and between quotes: markup characters become entities, control characters U+FFFD.
std::string html_escape(std::string_view text);

// Escaped, the verdicts (results/render/verdict.h) in it as labels.
std::string html_with_labels(std::string_view text);

// The same as <p> elements; an empty line parts two paragraphs. `css_class` may be "".
std::string html_paragraphs(std::string_view text, std::string_view css_class);

// A link that offers `csv` as the file `name`.csv; `text` is HTML.
std::string html_csv_link(std::string_view csv, std::string_view name, std::string_view text);

// A <figure> with the table as people read it, its notes, and its CSV as the file `file`.csv. `id`
// is unlike that of any other table on the page: references to notes go by it.
std::string html_table(const Table& table, const std::string& id, const std::string& file);

// Adds one character to UTF-8 text.
void append_utf8(std::string& out, char32_t character);

// Of ASCII alone, whatever the locale.
bool is_ascii_letter(char c);
bool is_word_character(char c);  // letter, digit, "_"
std::string ascii_lower(std::string_view text);

}  // namespace approx
