#include "results/render/svg.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "results/render/html_text.h"

namespace approx {
namespace {

// Written as XML is read: the five named entities and numbers.
std::string decode_xml(std::string_view text) {
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
      append_utf8(out, *c);
      i = end;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Elements that draw, and nothing else; others go with all that is in them. Titles are none: those
// of programs that draw name themselves, and browsers show them as hints.
constexpr std::string_view kSvgElements =
    " svg g defs symbol use path rect circle ellipse line polygon polyline text tspan textPath "
    "clipPath mask marker linearGradient radialGradient stop pattern filter feFlood "
    "feComposite feGaussianBlur feMerge feMergeNode feOffset feColorMatrix image ";

// Whether a link is a PNG that lies in the drawing itself.
bool is_picture(std::string_view link) {
  constexpr std::string_view kPng = "data:image/png;base64,";
  return link.starts_with(kPng) && std::ranges::all_of(link.substr(kPng.size()), [](char c) {
           return is_word_character(c) ? c != '_' : c == '+' || c == '/' || c == '=';
         });
}

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

// --- shorter ways to write the same ---

bool is_digit_of(char c) { return c >= '0' && c <= '9'; }

// A list of numbers without zeros at the ends of decimals and blanks that part nothing: "13" for
// "13.00".
std::string short_numbers(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool blank = text[i] == ' ';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    if (text[i] != '.' || i == 0 || !is_digit_of(text[i - 1])) {
      out += text[i];
      continue;
    }
    size_t end = i + 1;
    while (end < text.size() && is_digit_of(text[end])) ++end;
    size_t kept = end;
    while (kept > i + 1 && text[kept - 1] == '0') --kept;
    if (kept > i + 1) out += text.substr(i, kept - i);
    i = end - 1;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

// "#444" for "rgb( 68,  68,  68)"; any other colour as it is.
std::string short_colour(const std::string& text) {
  if (!text.starts_with("rgb(") || !text.ends_with(')')) return text;
  std::vector<int> parts;
  const char* at = text.data() + std::string_view("rgb(").size();
  const char* const end = text.data() + text.size() - 1;
  while (true) {
    while (at < end && *at == ' ') ++at;
    int part = 0;
    const auto [behind, error] = std::from_chars(at, end, part);
    if (error != std::errc() || part < 0 || part > 255) return text;
    parts.push_back(part);
    at = behind;
    while (at < end && *at == ' ') ++at;
    if (at == end) break;
    if (*at++ != ',') return text;
  }
  if (parts.size() != 3) return text;
  const bool pairs = std::ranges::all_of(parts, [](int part) { return part % 17 == 0; });
  return pairs ? fmt::format("#{:x}{:x}{:x}", parts[0] / 17, parts[1] / 17, parts[2] / 17)
               : fmt::format("#{:02x}{:02x}{:02x}", parts[0], parts[1], parts[2]);
}

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::ranges::find(keys, key) != keys.end();
}

std::string short_value(std::string_view key, std::string value) {
  if (is_one_of(key, {"fill", "stroke", "color"})) return short_colour(value);
  const bool of_numbers =
      is_one_of(key, {"d", "points", "transform", "x", "y", "width", "height", "font-size",
                      "stroke-width", "fill-opacity", "stroke-dasharray"});
  return of_numbers ? short_numbers(value) : value;
}

// What an element has where neither it nor one around it says so.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSvgDefaults = {
    {{"stroke-width", "1"}, {"stroke-linecap", "butt"}, {"stroke-linejoin", "miter"}}};

// Whether groups that have such an attribute alike may be one.
bool may_be_joined(std::string_view key) {
  return is_one_of(key,
                   {"fill", "stroke", "color", "stroke-width", "stroke-linecap", "stroke-linejoin",
                    "stroke-dasharray", "font-family", "font-size", "text-anchor"});
}

// Reads a drawing tag by tag and writes another of what it knows. All that is written is made from
// what was understood, never copied: no piece of the input can mean something else to a browser.
// What changes nothing of the picture is left out, and neighbours with the same attributes become
// one group: a program that draws writes a group for every tick of an axis.
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
    bool shown = true;  // written; a link is not, what is in it is
    std::string tag;    // as it was written, of a group that may be joined with a neighbour
    size_t begin = 0;   // where it begins, and what is in it
    size_t body = 0;
    std::array<bool, kSvgDefaults.size()> sets{};  // which of the defaults it or one around changes
  };

  // The group that was closed last.
  struct Closed {
    std::string tag;
    size_t begin = 0, body = 0, end = 0;
  };

  void step() {
    if (text_[at_] != '<') {
      const size_t end = std::min(text_.find('<', at_), text_.size());
      add_text(decode_xml(text_.substr(at_, end - at_)));
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
    if (open_.empty() || skipped_ > 0) return;
    const bool blank = text.find_first_not_of(" \t\r\n") == std::string_view::npos;
    const bool in_text = std::ranges::any_of(open_, [](const Open& open) {
      return is_one_of(open.name, {"text", "tspan", "textPath"});
    });
    if (!blank || in_text) out_ += html_escape(text);
  }

  void close() {
    const Open open = std::move(open_.back());
    open_.pop_back();
    if (!open.shown) return;
    if (open.name == "g" && out_.size() == open.body) {
      out_.resize(open.begin);
      return;
    }
    out_ += "</" + open.name + ">";
    if (open.name == "g") closed_group_ = {open.tag, open.begin, open.body, out_.size()};
  }

  // Whether something in the drawing may name it.
  bool is_named(const std::string& id) const { return text_.find("#" + id) != text_.npos; }

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
    if (at_ >= text_.size() || !is_ascii_letter(text_[at_])) {
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
      attributes.emplace_back(attribute, decode_xml(value));
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
    if (name != "a" && (!is_drawing(name) || is_unused(attributes))) {
      skipped_ = empty ? 0 : 1;
      return;
    }
    Open open{.name = name, .shown = name != "a"};
    if (!root) open.sets = open_.back().sets;
    // What is drawn elsewhere has other elements around it there.
    if (is_one_of(name, {"defs", "symbol", "marker", "pattern"})) open.sets.fill(true);
    if (open.shown) {
      std::string tag = "<" + name;
      if (root) add_root_attributes(tag, attributes);
      bool joinable = name == "g";
      for (const auto& [key, value] : attributes) {
        const size_t before = tag.size();
        add_attribute(tag, open, key, value, root);
        joinable &= tag.size() == before || may_be_joined(key);
      }
      open.shown = root || name != "g" || tag.size() > std::string_view("<g").size();
      if (open.shown) write_tag(open, tag + ">", joinable);
    }
    open_.push_back(std::move(open));
    if (empty) {
      close();
      closed_ = open_.empty();
    }
  }

  static bool is_drawing(const std::string& name) {
    return kSvgElements.find(" " + name + " ") != std::string_view::npos;
  }

  // Whether it is one of the definitions, and nothing uses it.
  bool is_unused(const Attributes& attributes) const {
    if (open_.empty() || open_.back().name != "defs") return false;
    return std::ranges::any_of(attributes, [&](const auto& attribute) {
      return attribute.first == "id" && !is_named(attribute.second);
    });
  }

  // Of a group that goes on where one like it has ended, that one is opened again.
  void write_tag(Open& open, const std::string& tag, bool joinable) {
    if (joinable) open.tag = tag;
    const auto& last = closed_group_;
    if (joinable && last.tag == tag && last.end == out_.size()) {
      out_.resize(out_.size() - std::string_view("</g>").size());
      open.begin = last.begin, open.body = last.body;
      return;
    }
    open.begin = out_.size();
    out_ += tag;
    open.body = out_.size();
  }

  // A name for those who do not see it, and a size: as drawn where there is room, smaller where
  // there is not, but not so small that its text cannot be read.
  void add_root_attributes(std::string& tag, const Attributes& attributes) const {
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
    tag += fmt::format(R"( role="img" aria-label="{}")", html_escape(label_));
    if (width && height) {
      tag += fmt::format(R"( width="{:g}" height="{:g}")", *width, *height);
      if (!has_view) tag += fmt::format(R"( viewBox="0 0 {:g} {:g}")", *width, *height);
    }
    if (width) {
      tag += fmt::format(R"( style="min-width:{:g}px;max-width:{:g}px")",
                         std::min(*width, kLeastWidth), *width);
    }
  }

  // Adds it to the tag of `open`, unless it is one that is left out.
  void add_attribute(std::string& tag, Open& open, const std::string& key, std::string value,
                     bool root) const {
    static const std::set<std::string> dropped = {"class", "role", "tabindex", "autofocus"};
    static const std::set<std::string> of_root = {"width", "height", "style", "id", "x", "y"};
    const std::string small = ascii_lower(key);
    const bool link = small == "href" || small == "xlink:href";
    if (link) {
      if (value.starts_with("#")) {
        value.insert(1, prefix_);
      } else if (!is_picture(value)) {
        return;
      }
    } else if (dropped.contains(small) || (root && of_root.contains(small))) {
      return;
    }
    const bool plain = !key.empty() && is_ascii_letter(key.front()) &&
                       std::all_of(key.begin(), key.end(),
                                   [](char c) { return is_word_character(c) || c == '-'; });
    const bool spoken_or_run = small.starts_with("aria-") || small.starts_with("on");
    if (!link && (!plain || spoken_or_run || small.starts_with("xmlns") || !harmless(value))) {
      return;
    }
    if (!link) value = short_value(small, std::move(value));
    if (small == "id") {
      if (open.name == "g" && !is_named(value)) return;
      value.insert(0, prefix_);
    }
    if (small == "style") open.sets.fill(true);
    for (size_t i = 0; i < kSvgDefaults.size(); ++i) {
      if (small != kSvgDefaults[i].first) continue;
      if (value == kSvgDefaults[i].second && !open.sets[i]) return;
      open.sets[i] = true;
    }
    tag += " " + key + "=\"" + html_escape(link ? value : with_prefixed_urls(value)) + "\"";
  }

  // Names nothing outside the drawing and hides nothing from this look: a backslash spells
  // characters in a style, "//" and "@" reach out.
  static bool harmless(std::string_view value) {
    if (value.find_first_of("\\@") != std::string_view::npos) return false;
    if (value.find("//") != std::string_view::npos) return false;
    for (size_t i = 0; i < value.size(); ++i) {
      if (value[i] != '(') continue;
      size_t begin = i;
      while (begin > 0 && (is_word_character(value[begin - 1]) || value[begin - 1] == '-')) --begin;
      const std::string function = ascii_lower(value.substr(begin, i - begin));
      if (!kSvgFunctions.contains(function)) return false;
      if (function == "url" && !value.substr(i + 1).starts_with("#")) return false;
    }
    return true;
  }

  std::string with_prefixed_urls(const std::string& value) const {
    std::string out;
    const std::string small = ascii_lower(value);
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
  Closed closed_group_;
  int64_t skipped_ = 0;  // depth inside an element that is left out
  bool closed_ = false;  // the drawing is over
};

}  // namespace

std::string clean_svg(std::string_view svg, std::string_view prefix, std::string_view label) {
  return SvgCleaner(svg, prefix, label).clean();
}

}  // namespace approx
