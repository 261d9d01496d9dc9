#include "results/render/html.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"

namespace approx {

extern const char* const kReportCss;  // results/render/report.css

namespace {

// --- text ---

void append_character(std::string& out, char32_t c) {
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

// Text that means itself, between tags and between quotes, in valid UTF-8.
std::string escape(std::string_view text) {
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
      append_character(out, 0xFFFD);  // a control character is no HTML
    } else {
      append_character(out, c == '\r' ? U' ' : c);
    }
  }
  return out;
}

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool ascii_digit(char c) { return c >= '0' && c <= '9'; }
bool word_character(char c) { return letter(c) || ascii_digit(c) || c == '_'; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

struct VerdictMark {
  std::string_view word;
  std::string_view css_class;
};

constexpr VerdictMark kVerdictMarks[] = {{"REPRODUCED", "reproduced"},
                                         {"DIFFERS", "differs"},
                                         {"NOT COMPARABLE", "not-comparable"},
                                         {"NOT RUN", "not-run"}};

// Escaped, the verdicts in it as labels.
std::string rich(std::string_view text) {
  std::string out;
  size_t done = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && word_character(text[i - 1])) continue;
    for (const auto& [word, css_class] : kVerdictMarks) {
      const size_t end = i + word.size();
      if (!text.substr(i).starts_with(word)) continue;
      if (end < text.size() && word_character(text[end])) continue;
      out += escape(text.substr(done, i - done));
      out += fmt::format(R"(<span class="verdict {}">{}</span>)", css_class, word);
      done = end;
      i = end - 1;
      break;
    }
  }
  return out + escape(text.substr(done));
}

std::string paragraphs(std::string_view text, std::string_view css_class) {
  const std::string open = css_class.empty() ? "<p>" : fmt::format("<p class=\"{}\">", css_class);
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find("\n\n"), text.size());
    const std::string_view paragraph = text.substr(0, end);
    if (paragraph.find_first_not_of(" \n\t\r") != std::string_view::npos) {
      out += open + rich(paragraph) + "</p>\n";
    }
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return out;
}

// A file in a link.
std::string csv_link(std::string_view csv, const std::string& name, std::string_view text) {
  std::string bytes;
  for (const char c : csv) {
    if (letter(c) || ascii_digit(c) || std::string_view("-_.~").find(c) != std::string_view::npos) {
      bytes += c;
    } else {
      bytes += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return fmt::format(R"(<a download="{}.csv" href="data:text/csv;charset=utf-8,{}">{}</a>)",
                     escape(name), bytes, text);
}

// --- SVG ---

// Written as XML is read: the five named entities and numbers.
std::string decode(std::string_view text) {
  constexpr std::pair<std::string_view, char32_t> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  const auto character = [&](std::string_view name) -> std::optional<char32_t> {
    for (const auto& [known, c] : kNamed) {
      if (name == known) return c;
    }
    if (!name.starts_with("#")) return std::nullopt;
    name.remove_prefix(1);
    const bool hex = name.starts_with("x");
    if (hex) name.remove_prefix(1);
    uint32_t code = 0;
    const auto [end, error] =
        std::from_chars(name.data(), name.data() + name.size(), code, hex ? 16 : 10);
    const bool valid = error == std::errc() && end == name.data() + name.size() && code > 0 &&
                       code <= 0x10FFFF && (code < 0xD800 || code >= 0xE000);
    return valid ? std::optional<char32_t>(code) : std::nullopt;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = text[i] == '&' ? text.find(';', i) : std::string_view::npos;
    const auto c =
        end == std::string_view::npos ? std::nullopt : character(text.substr(i + 1, end - i - 1));
    if (c) {
      append_character(out, *c);
      i = end;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Elements that draw, and nothing else; others go with all that is in them.
constexpr std::string_view kSvgElements =
    " svg g defs symbol use path rect circle ellipse line polygon polyline text tspan textPath "
    "title desc clipPath mask marker linearGradient radialGradient stop pattern filter feFlood "
    "feComposite feGaussianBlur feMerge feMergeNode feOffset feColorMatrix ";

// Functions that a value may call. An url is looked at on its own.
const std::set<std::string_view> kSvgFunctions = {
    "",      "url",        "rgb",    "rgba",   "hsl",    "hsla",   "translate", "translatex",
    "scale", "translatey", "scalex", "scaley", "rotate", "matrix", "skewx",     "skewy"};

// A number of pixels as the width of a drawing is written; nothing for a share of the page.
std::optional<double> pixels(std::string_view text) {
  constexpr double kPixelsOfPoint = 4.0 / 3.0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc() || !(value > 0 && value < 1e5)) return std::nullopt;
  if (unit.empty() || unit == "px") return value;
  return unit == "pt" ? std::optional(value * kPixelsOfPoint) : std::nullopt;
}

// Reads a drawing tag by tag and writes another of what it knows. All that is written is made from
// what was understood, never copied: no piece of the input can mean something else to a browser.
class SvgCleaner {
 public:
  SvgCleaner(std::string_view text, std::string_view prefix, std::string_view label)
      : text_(text), prefix_(prefix), label_(label) {}

  std::string clean() {
    while (at_ < text_.size() && !closed_) step();
    while (!open_.empty()) close();
    return std::move(out_);
  }

 private:
  using Attributes = std::vector<std::pair<std::string, std::string>>;

  struct Open {
    std::string name;
    bool shown;  // written; a link is not, what is in it is
  };

  void step() {
    if (text_[at_] != '<') {
      const size_t end = std::min(text_.find('<', at_), text_.size());
      add_text(decode(text_.substr(at_, end - at_)));
      at_ = end;
    } else if (starts("<!--")) {
      skip_past("-->");
    } else if (starts("<![CDATA[")) {
      const size_t begin = at_ + std::string_view("<![CDATA[").size();
      skip_past("]]>");
      if (at_ <= text_.size() && at_ >= begin + 3) add_text(text_.substr(begin, at_ - begin - 3));
    } else if (starts("<?")) {
      skip_past("?>");
    } else if (starts("<!")) {
      skip_declaration();
    } else if (starts("</")) {
      end_tag();
    } else {
      start_tag();
    }
  }

  bool starts(std::string_view with) const { return text_.substr(at_).starts_with(with); }

  void skip_past(std::string_view mark) {
    const size_t found = text_.find(mark, at_);
    at_ = found == std::string_view::npos ? text_.size() : found + mark.size();
  }

  // <!DOCTYPE ...>, with the declarations in it.
  void skip_declaration() {
    int depth = 0;
    char quote = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '<') {
        ++depth;
      } else if (c == '>' && --depth == 0) {
        ++at_;
        return;
      }
    }
  }

  void add_text(std::string_view text) {
    if (!open_.empty() && skipped_ == 0) out_ += escape(text);
  }

  void close() {
    if (open_.back().shown) out_ += "</" + open_.back().name + ">";
    open_.pop_back();
  }

  void end_tag() {
    const size_t end = text_.find('>', at_);
    if (end == std::string_view::npos) {
      at_ = text_.size();
      return;
    }
    std::string_view name = text_.substr(at_ + 2, end - at_ - 2);
    name = name.substr(0, name.find_first_of(" \t\r\n"));
    at_ = end + 1;
    if (skipped_ > 0) {
      --skipped_;
      return;
    }
    const bool known = std::any_of(open_.begin(), open_.end(),
                                   [&](const Open& open) { return open.name == name; });
    if (!known) return;
    while (open_.back().name != name) close();
    close();
    closed_ = open_.empty();
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  // Up to one of `ends` or the end of the text.
  std::string_view take_until(const char* ends) {
    const size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
    const auto part = text_.substr(at_, end - at_);
    at_ = end;
    return part;
  }

  std::string_view take_value() {
    skip_space();
    if (at_ >= text_.size()) return {};
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') return take_until(" \t\r\n>");
    ++at_;
    const auto value = take_until(quote == '"' ? "\"" : "'");
    if (at_ < text_.size()) ++at_;
    return value;
  }

  void start_tag() {
    ++at_;
    if (at_ >= text_.size() || !letter(text_[at_])) {
      add_text("<");
      return;
    }
    const std::string name(take_until(" \t\r\n/>"));
    Attributes attributes;
    bool empty = false;
    while (true) {
      skip_space();
      if (at_ >= text_.size()) return;  // cut off inside a tag
      if (text_[at_] == '>') break;
      empty = text_[at_] == '/';
      if (empty) {
        ++at_;
        continue;
      }
      const size_t begin = at_;
      const std::string attribute(take_until(" \t\r\n/>="));
      skip_space();
      std::string_view value;
      if (at_ < text_.size() && text_[at_] == '=') {
        ++at_;
        value = take_value();
      }
      if (at_ == begin) ++at_;
      attributes.emplace_back(attribute, decode(value));
    }
    ++at_;
    begin_element(name, attributes, empty);
  }

  void begin_element(const std::string& name, const Attributes& attributes, bool empty) {
    if (skipped_ > 0) {
      skipped_ += empty ? 0 : 1;
      return;
    }
    const bool root = open_.empty();
    if (root && name != "svg") return;  // not there yet
    // The root's title is the name of the program that drew it, which browsers show as a hint.
    const bool drawing = name != "title" || open_.size() > 1;
    if (name != "a" &&
        (kSvgElements.find(" " + name + " ") == std::string_view::npos || !drawing)) {
      skipped_ = empty ? 0 : 1;
      return;
    }
    open_.push_back({name, name != "a"});
    if (name != "a") {
      out_ += "<" + name;
      if (root) add_root_attributes(attributes);
      for (const auto& [key, value] : attributes) add_attribute(key, value, root);
      out_ += ">";
    }
    if (empty) {
      close();
      closed_ = open_.empty();
    }
  }

  // A name for those who do not see it, and a size: as drawn where there is room, smaller where
  // there is not, but not so small that its text cannot be read.
  void add_root_attributes(const Attributes& attributes) {
    constexpr double kLeastWidth = 560;
    const auto size_of = [&](std::string_view wanted) {
      for (const auto& [key, value] : attributes) {
        if (key == wanted) return pixels(value);
      }
      return std::optional<double>();
    };
    const auto width = size_of("width"), height = size_of("height");
    const bool has_view = std::any_of(attributes.begin(), attributes.end(),
                                      [](const auto& entry) { return entry.first == "viewBox"; });
    out_ += fmt::format(R"( role="img" aria-label="{}")", escape(label_));
    if (width && height) {
      out_ += fmt::format(R"( width="{:g}" height="{:g}")", *width, *height);
      if (!has_view) out_ += fmt::format(R"( viewBox="0 0 {:g} {:g}")", *width, *height);
    }
    if (width) {
      out_ += fmt::format(R"( style="min-width:{:g}px;max-width:{:g}px")",
                          std::min(*width, kLeastWidth), *width);
    }
  }

  void add_attribute(const std::string& key, std::string value, bool root) {
    static const std::set<std::string> dropped = {"class", "role", "tabindex", "autofocus"};
    static const std::set<std::string> of_root = {"width", "height", "style", "id", "x", "y"};
    const std::string small = lower(key);
    const bool link = small == "href" || small == "xlink:href";
    if (link) {
      if (!value.starts_with("#")) return;
      value.insert(1, prefix_);
    } else if (dropped.contains(small) || (root && of_root.contains(small))) {
      return;
    }
    const bool plain =
        !key.empty() && letter(key.front()) &&
        std::all_of(key.begin(), key.end(), [](char c) { return word_character(c) || c == '-'; });
    const bool spoken_or_run = small.starts_with("aria-") || small.starts_with("on");
    if (!link && (!plain || spoken_or_run || small.starts_with("xmlns") || !harmless(value)))
      return;
    if (small == "id") value.insert(0, prefix_);
    out_ += " " + key + "=\"" + escape(link ? value : with_prefixed_urls(value)) + "\"";
  }

  // Names nothing outside the drawing and hides nothing from this look: a backslash spells
  // characters in a style, "//" and "@" reach out.
  static bool harmless(std::string_view value) {
    if (value.find_first_of("\\@") != std::string_view::npos) return false;
    if (value.find("//") != std::string_view::npos) return false;
    for (size_t i = 0; i < value.size(); ++i) {
      if (value[i] != '(') continue;
      size_t begin = i;
      while (begin > 0 && (word_character(value[begin - 1]) || value[begin - 1] == '-')) --begin;
      const std::string function = lower(value.substr(begin, i - begin));
      if (!kSvgFunctions.contains(function)) return false;
      if (function == "url" && !value.substr(i + 1).starts_with("#")) return false;
    }
    return true;
  }

  std::string with_prefixed_urls(const std::string& value) const {
    std::string out;
    const std::string small = lower(value);
    size_t done = 0;
    for (size_t at = small.find("url(#"); at != std::string::npos; at = small.find("url(#", done)) {
      const size_t end = at + std::string_view("url(#").size();
      out += value.substr(done, end - done) + prefix_;
      done = end;
    }
    return out + value.substr(done);
  }

  const std::string_view text_;
  const std::string prefix_, label_;
  std::string out_;
  size_t at_ = 0;
  std::vector<Open> open_;
  int64_t skipped_ = 0;  // depth inside an element that is left out
  bool closed_ = false;  // the drawing is over
};

// --- the page ---

// Identifiers of sections. Those of the page itself start with "_", which none of these does.
class Identifiers {
 public:
  std::string make(std::string_view wanted) {
    std::string id;
    for (const char c : wanted) {
      const bool keep = word_character(c) || c == '-' || c == '.' || c == ':';
      if (keep) {
        id += c;
      } else if (!id.ends_with("-")) {
        id += '-';
      }
    }
    id.erase(0, std::min(id.find_first_not_of("_-"), id.size()));
    if (id.empty()) id = "section";
    const std::string first = id;
    for (int n = 2; !used_.insert(id).second; ++n) id = fmt::format("{}-{}", first, n);
    return id;
  }

 private:
  std::set<std::string> used_;
};

using Attributes = std::vector<std::pair<std::string, std::string>>;

// Boxes to choose sections by, one group for each attribute. They need no script: a rule hides
// what has none of the ticked values of a group, and a browser without :has() shows everything.
class Filters {
 public:
  explicit Filters(const std::vector<HtmlSection>& sections) {
    for (const auto& section : sections) {
      for (const auto& [key, value] : section.attributes) group(key).add(value);
    }
    // A single value that every section has leaves nothing to choose.
    std::erase_if(groups_, [&](const Group& group) {
      return group.values.size() < 2 &&
             std::none_of(sections.begin(), sections.end(), [&](const HtmlSection& section) {
               return !section.attributes.empty() && group.of(section).empty();
             });
    });
    for (const auto& section : sections) {
      for (auto& group : groups_) group.count(section);
    }
  }

  bool empty() const { return groups_.empty(); }

  // The classes of whatever stands for a section, which the rules below name: for each group, one
  // that stands for the values it has there. A section without attributes is always shown.
  std::string classes(const HtmlSection& section) const {
    std::string names;
    if (section.attributes.empty()) return names;
    for (size_t g = 0; g < groups_.size(); ++g) {
      names += fmt::format(" f{}-{}", g + 1, groups_[g].sets.at(groups_[g].of(section)));
    }
    return names;
  }

  std::string rules() const {
    std::string out;
    for (size_t g = 0; g < groups_.size(); ++g) {
      std::vector<std::pair<size_t, const std::set<size_t>*>> ordered;
      for (const auto& [values, number] : groups_[g].sets) ordered.emplace_back(number, &values);
      std::sort(ordered.begin(), ordered.end());
      for (const auto& [number, values] : ordered) {
        std::string ticked;
        for (const size_t value : *values) {
          ticked += fmt::format("{}#_f{}-{}", ticked.empty() ? "" : ",", g + 1, value + 1);
        }
        out += fmt::format("body:has(#_f{} :checked)", g + 1);
        if (!ticked.empty()) out += fmt::format(":not(:has(:is({}):checked))", ticked);
        out += fmt::format(" .f{}-{}{{display:none}}\n", g + 1, number);
      }
    }
    return out;
  }

  std::string form() const {
    std::string out =
        "<details class=\"fold filter\">\n<summary>Filter</summary>\n"
        "<form id=\"_filters\" autocomplete=\"off\">\n";
    for (size_t g = 0; g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      out += fmt::format("<fieldset id=\"_f{}\">\n<legend>{}</legend>\n", g + 1, escape(group.key));
      for (size_t v = 0; v < group.values.size(); ++v) {
        out += fmt::format(
            "<label><input type=\"checkbox\" id=\"_f{}-{}\"> <span>{}</span> "
            "<span class=\"count\">{}</span></label>\n",
            g + 1, v + 1, rich(group.values[v]), group.counts[v]);
      }
      out += "</fieldset>\n";
    }
    return out + "<button type=\"reset\">Show everything</button>\n</form>\n</details>\n";
  }

 private:
  struct Group {
    std::string key;
    std::vector<std::string> values;
    std::vector<int64_t> counts;              // sections, one a value
    std::map<std::set<size_t>, size_t> sets;  // of values that occur together, numbered

    void add(const std::string& value) {
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }

    std::set<size_t> of(const HtmlSection& section) const {
      std::set<size_t> found;
      for (const auto& [name, value] : section.attributes) {
        const auto at = std::find(values.begin(), values.end(), value);
        if (name == key) found.insert(static_cast<size_t>(at - values.begin()));
      }
      return found;
    }

    void count(const HtmlSection& section) {
      if (section.attributes.empty()) return;
      const auto found = of(section);
      sets.emplace(found, sets.size() + 1);
      counts.resize(values.size());
      for (const size_t value : found) ++counts[value];
    }
  };

  Group& group(const std::string& key) {
    for (auto& group : groups_) {
      if (group.key == key) return group;
    }
    groups_.push_back({.key = key});
    return groups_.back();
  }

  std::vector<Group> groups_;
};

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
    const bool known = i % 2 == 0 && letter(marks[i]) &&
                       std::any_of(table.notes.begin(), table.notes.end(),
                                   [&](const auto& note) { return note_letter(note) == marks[i]; });
    if (!known) return "";
    links += fmt::format("{0}<a href=\"#{1}-{2}\">{2}</a>", links.empty() ? "" : ",", id, marks[i]);
  }
  return "<sup>" + links + "</sup>";
}

// A cell, in which " [a,b]" becomes references where the table has such notes.
std::string cell_text(std::string_view text, const Table& table, const std::string& id) {
  std::string html;
  size_t begin = 0;
  for (size_t at = text.find(" ["); at != std::string_view::npos; at = text.find(" [", at + 2)) {
    const size_t end = text.find(']', at);
    if (end == std::string_view::npos) break;
    const std::string links = note_links(text.substr(at + 2, end - at - 2), table, id);
    if (links.empty()) continue;
    html += rich(text.substr(begin, at - begin)) + links;
    begin = end + 1;
  }
  return html + rich(text.substr(begin));
}

std::string table_html(const Table& table, const std::string& id, const std::string& file) {
  // A longer header, or a column with longer texts, may break its lines. A table of more columns
  // is set closer.
  constexpr size_t kLongHeader = 16, kLongText = 36, kManyColumns = 9;
  const TableText text = text_of(table);
  std::vector<std::string> classes, header_classes;
  for (size_t i = 0; i < text.columns.size(); ++i) {
    const bool numbers = holds_numbers(text, i);
    const bool wide = std::any_of(text.rows.begin(), text.rows.end(),
                                  [&](const auto& row) { return row[i].size() > kLongText; });
    const bool breaks = text.columns[i].size() > kLongHeader;
    const auto class_of = [](std::string_view names) {
      return names.empty() ? std::string() : fmt::format(" class=\"{}\"", names);
    };
    classes.push_back(class_of(numbers ? "n" : wide ? "w" : ""));
    header_classes.push_back(class_of(numbers ? (breaks ? "n b" : "n") : breaks ? "b" : ""));
  }
  // A line between groups of rows, where the first column says the same several times.
  const auto same = [&](size_t row) {
    return row > 0 && !text.columns.empty() && text.rows[row][0] == text.rows[row - 1][0];
  };
  bool grouped = false;
  for (size_t row = 0; row < text.rows.size(); ++row) grouped |= same(row);

  const std::string name = table.title.empty() ? table.name : table.title;
  std::string out = fmt::format("<figure class=\"table{}\">\n",
                                text.columns.size() > kManyColumns ? " many" : "");
  if (!table.title.empty()) out += "<figcaption><h3>" + escape(name) + "</h3></figcaption>\n";
  out += fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n",
                     escape(name.empty() ? "table" : name));
  out += "<table>\n<thead>\n<tr>";
  for (size_t i = 0; i < text.columns.size(); ++i) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", header_classes[i], escape(text.columns[i]));
  }
  out += "</tr>\n</thead>\n<tbody>\n";
  for (size_t row = 0; row < text.rows.size(); ++row) {
    out += grouped && row > 0 && !same(row) ? "<tr class=\"g\">" : "<tr>";
    for (size_t i = 0; i < text.columns.size(); ++i) {
      const std::string cell = cell_text(text.rows[row][i], table, id);
      out += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", classes[i], cell)
                    : fmt::format("<td{}>{}</td>", classes[i], cell);
    }
    out += "</tr>\n";
  }
  out += "</tbody>\n</table>\n</div>\n";
  if (text.rows.empty()) out += "<p class=\"none\">No rows.</p>\n";
  if (!table.notes.empty()) {
    out += "<ul class=\"notes\">\n";
    for (const auto& note : table.notes) {
      const char mark = note_letter(note);
      out += mark != '\0' ? fmt::format("<li id=\"{}-{}\"><sup>{}</sup> {}</li>\n", id, mark, mark,
                                        rich(std::string_view(note).substr(3)))
                          : "<li>" + rich(note) + "</li>\n";
    }
    out += "</ul>\n";
  }
  if (!text.rows.empty()) {
    out += "<p class=\"file\">" + csv_link(render(table, "csv"), file, "Table as CSV") + "</p>\n";
  }
  return out + "</figure>\n";
}

std::string figure_html(const HtmlFigure& figure, const std::string& id, const std::string& file) {
  std::string label = figure.title;
  if (!figure.caption.empty()) label += (label.empty() ? "" : ": ") + figure.caption;
  if (label.empty()) label = "figure";
  std::string out = "<figure class=\"picture\">\n";
  if (!figure.title.empty()) out += "<h3>" + escape(figure.title) + "</h3>\n";
  const std::string svg = clean_svg(figure.svg, id + "-", label);
  if (svg.empty()) {
    out += "<p class=\"none\">Not drawn.</p>\n";
  } else {
    out +=
        fmt::format("<div class=\"card\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n{}\n",
                    escape(figure.title.empty() ? "figure" : figure.title), svg);
    out += "</div>\n";
  }
  if (figure.caption.empty() && figure.csv.empty()) return out + "</figure>\n";
  out += "<figcaption>" + rich(figure.caption);
  if (!figure.csv.empty()) {
    out += "<p class=\"file\">" + csv_link(figure.csv, file, "Data as CSV") + "</p>";
  }
  return out + "</figcaption>\n</figure>\n";
}

// A name that comes several times is one entry with all its values.
std::string definitions(const Attributes& entries, const char* css_class) {
  Attributes merged;
  for (const auto& [name, value] : entries) {
    const auto same = std::find_if(merged.begin(), merged.end(),
                                   [&](const auto& entry) { return entry.first == name; });
    if (same == merged.end()) {
      merged.emplace_back(name, rich(value));
    } else {
      same->second += ", " + rich(value);
    }
  }
  std::string out = fmt::format("<dl class=\"{}\">\n", css_class);
  for (const auto& [name, values] : merged) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), values);
  }
  return out + "</dl>\n";
}

// `number` is the section's place, from 1: its tables are _s1-t1, _s1-t2 and so on.
std::string section_html(const HtmlSection& section, const std::string& id, size_t number,
                         const std::string& classes) {
  std::string out = fmt::format(
      "<section id=\"{0}\" class=\"entry{1}\" aria-labelledby=\"_s{2}\">\n"
      "<h2 id=\"_s{2}\"><a href=\"#{0}\">{3}</a></h2>\n",
      id, classes, number, escape(section.title.empty() ? section.id : section.title));
  std::string file = id;
  std::replace(file.begin(), file.end(), ':', '-');
  if (!section.attributes.empty()) out += definitions(section.attributes, "facts");
  out += paragraphs(section.text, "");
  for (size_t i = 0; i < section.tables.size(); ++i) {
    out += table_html(section.tables[i], fmt::format("_s{}-t{}", number, i + 1),
                      fmt::format("{}-table-{}", file, i + 1));
  }
  for (size_t i = 0; i < section.figures.size(); ++i) {
    out += figure_html(section.figures[i], fmt::format("_s{}-p{}", number, i + 1),
                       fmt::format("{}-figure-{}", file, i + 1));
  }
  return out + "</section>\n";
}

// The verdicts of a section, for the table of contents.
std::string verdicts_of(const HtmlSection& section) {
  std::string out;
  for (const auto& [name, value] : section.attributes) {
    for (const auto& verdict : kVerdictMarks) {
      if (value == verdict.word) out += " " + rich(value);
    }
  }
  return out;
}

std::string contents_html(const HtmlPage& page, const std::vector<std::string>& ids,
                          const Filters& filters) {
  std::string out =
      "<details class=\"fold\">\n<summary>Contents</summary>\n<nav aria-label=\"Contents\">\n"
      "<ul>\n";
  for (size_t i = 0; i < page.sections.size(); ++i) {
    const HtmlSection& section = page.sections[i];
    out += fmt::format(
        "<li class=\"entry{}\"><a href=\"#{}\">{}</a>{}</li>\n", filters.classes(section), ids[i],
        escape(section.title.empty() ? section.id : section.title), verdicts_of(section));
  }
  if (!page.provenance.empty()) out += "<li><a href=\"#_provenance\">Provenance</a></li>\n";
  return out + "</ul>\n</nav>\n</details>\n";
}

}  // namespace

std::string clean_svg(std::string_view svg, std::string_view prefix, std::string_view label) {
  return SvgCleaner(svg, prefix, label).clean();
}

std::string render_html(const HtmlPage& page) {
  const Filters filters(page.sections);
  Identifiers identifiers;
  std::vector<std::string> ids;
  for (const auto& section : page.sections) ids.push_back(identifiers.make(section.id));

  // The policy makes a browser refuse what this file promises not to do.
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en-GB\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n";
  const std::string title = escape(page.title.empty() ? "approxtrain report" : page.title);
  out += fmt::format("<title>{}</title>\n<style>\n{}{}</style>\n</head>\n", title, kReportCss,
                     filters.rules());
  out += "<body id=\"_top\">\n<a class=\"skip\" href=\"#_report\">Skip to the results</a>\n";
  out += "<div class=\"page\">\n<header>\n<h1>" + title + "</h1>\n";
  out += paragraphs(page.summary, "summary") + "</header>\n";
  if (!page.sections.empty()) {
    out += "<aside>\n" + contents_html(page, ids, filters);
    if (!filters.empty()) out += filters.form();
    out += "</aside>\n";
  }
  out += "<main id=\"_report\">\n";
  if (!filters.empty()) {
    out +=
        "<p class=\"filtered\">Only the sections that fit the filter are shown. "
        "<button type=\"reset\" form=\"_filters\">Show everything</button></p>\n";
  }
  if (page.sections.empty()) out += "<p class=\"none\">There is nothing to report yet.</p>\n";
  for (size_t i = 0; i < page.sections.size(); ++i) {
    out += section_html(page.sections[i], ids[i], i + 1, filters.classes(page.sections[i]));
  }
  if (!page.provenance.empty()) {
    out += "<section id=\"_provenance\" aria-labelledby=\"_s0\">\n<h2 id=\"_s0\">Provenance</h2>\n";
    out += definitions(page.provenance, "provenance") + "</section>\n";
  }
  out += "</main>\n<footer><a href=\"#_top\">Back to the top</a></footer>\n</div>\n";
  return out + "</body>\n</html>\n";
}

}  // namespace approx
