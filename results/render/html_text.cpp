#include "results/render/html_text.h"

#include <algorithm>

#include "base/error.h"
#include "results/render/verdict.h"

namespace approx {
namespace {

// Its class in report.css: "not-comparable".
std::string css_class_of(Verdict verdict) {
  std::string css_class = ascii_lower(name(verdict));
  std::replace(css_class.begin(), css_class.end(), ' ', '-');
  return css_class;
}

}  // namespace

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_word_character(char c) { return is_ascii_letter(c) || (c >= '0' && c <= '9') || c == '_'; }

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

void append_utf8(std::string& out, char32_t c) {
  const auto byte = [&](char32_t bits) { out += static_cast<char>(bits); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F));
    byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F));
  }
}

std::string html_escape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char32_t c = take_character(text);
    const bool space = c == '\n' || c == '\t' || c == '\r';
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if ((c < 0x20 && !space) || (c >= 0x7F && c < 0xA0)) {
      append_utf8(out, 0xFFFD);  // a control character is no HTML
    } else {
      append_utf8(out, c == '\r' ? U' ' : c);
    }
  }
  return out;
}

std::string html_with_labels(std::string_view text) {
  std::string out;
  size_t done = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && is_word_character(text[i - 1])) continue;
    for (const Verdict verdict : kAllVerdicts) {
      const std::string_view word = name(verdict);
      const size_t end = i + word.size();
      if (!text.substr(i).starts_with(word)) continue;
      if (end < text.size() && is_word_character(text[end])) continue;
      out += html_escape(text.substr(done, i - done));
      out += fmt::format(R"(<span class="verdict {}">{}</span>)", css_class_of(verdict), word);
      done = end;
      i = end - 1;
      break;
    }
  }
  return out + html_escape(text.substr(done));
}

std::string html_command(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string word = html_escape(text.substr(0, end));
    out += word.starts_with("--") ? fmt::format("<span class=\"flag\">{}</span>", word) : word;
    if (end < text.size()) out += " ";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string html_paragraphs(std::string_view text, std::string_view css_class) {
  const std::string open = css_class.empty() ? "<p>" : fmt::format("<p class=\"{}\">", css_class);
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find("\n\n"), text.size());
    const std::string_view paragraph = text.substr(0, end);
    if (paragraph.find_first_not_of(" \n\t\r") != std::string_view::npos) {
      out += open + html_with_labels(paragraph) + "</p>\n";
    }
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return out;
}

std::string html_csv_link(std::string_view csv, std::string_view name, std::string_view text) {
  // Characters of ASCII that mean themselves in an address and in an attribute.
  constexpr std::string_view kPlain = " ,;:=+*/.-~!@$()[]";
  std::string bytes;
  for (const char c : csv) {
    if (is_word_character(c) || kPlain.find(c) != std::string_view::npos) {
      bytes += c;
    } else {
      bytes += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return fmt::format(R"(<a download="{}.csv" href="data:text/csv;charset=utf-8,{}">{}</a>)",
                     html_escape(name), bytes, text);
}

}  // namespace approx
