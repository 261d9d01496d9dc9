#include "core/experiment/toml_source.h"

#include <cmath>

#include "base/numbers.h"

namespace approx {
namespace {

// toml++ follows dotted keys by recursion; this many in a whole file are no danger to the stack.
constexpr int64_t kMaxDots = 5'000;

}  // namespace

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

// Non-finite numbers have no JSON and become null.
Json to_json_value(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json json = Json::object();
    for (const auto& [key, value] : *table) json[std::string(key.str())] = to_json_value(value);
    return json;
  }
  if (const auto* array = node.as_array()) {
    Json json = Json::array();
    for (const auto& value : *array) json.push_back(to_json_value(value));
    return json;
  }
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto flag = node.value_exact<bool>()) return *flag;
  if (const auto integer = node.value_exact<int64_t>()) return *integer;
  if (const auto real = node.value_exact<double>()) return json_number(*real);
  if (const auto date = node.value_exact<toml::date>()) {
    return fmt::format("{:04}-{:02}-{:02}", date->year, date->month, date->day);
  }
  return Json();
}

namespace {

// The line `number`, counted from 1, without its end; "" beyond the last.
std::string_view text_line(std::string_view text, size_t number) {
  for (; number > 1; --number) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

// Whether toml++ means by `what` that the text in quotes that it read in `line` has no end: it
// names the line's end as a control character, or the end of the file.
bool is_unclosed(std::string_view what, std::string_view line) {
  if (what.find("parsing string") == what.npos && what.find("literal string") == what.npos) {
    return false;
  }
  const bool has_control = std::any_of(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  });
  return what.find("end-of-file") != what.npos ||
         (what.find("control characters") != what.npos && !has_control);
}

}  // namespace

TomlSource::TomlSource(std::string name, std::string_view text) : name_(std::move(name)) {
  if (text.size() > kMaxTomlBytes) {
    throw usage_error("{}:1:1: the text is larger than 1 MB; an experiment is a few kB", name_);
  }
  if (std::count(text.begin(), text.end(), '.') > kMaxDots) {
    throw usage_error("{}:1:1: more than {} dots; nested keys must be few", name_, kMaxDots);
  }
  try {
    root_ = toml::parse(text, name_);
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    std::string what(error.description());
    if (is_unclosed(what, text_line(text, at.line))) {
      what = "a text in quotes is not closed: its second quote is missing";
    }
    std::replace_if(
        what.begin(), what.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    throw usage_error("{}:{}:{}: {}", name_, at.line, at.column, what);
  }
}

}  // namespace approx
