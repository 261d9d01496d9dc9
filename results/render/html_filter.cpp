#include "results/render/html_filter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "results/render/html_text.h"

namespace approx {

HtmlFilters::HtmlFilters(const std::vector<HtmlSection>& sections) {
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

std::string HtmlFilters::classes(const HtmlSection& section) const {
  std::string names;
  if (section.attributes.empty()) return names;
  for (size_t g = 0; g < groups_.size(); ++g) {
    names += fmt::format(" f{}-{}", g + 1, groups_[g].sets.at(groups_[g].of(section)));
  }
  return names;
}

std::string HtmlFilters::rules() const {
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

std::string HtmlFilters::form() const {
  std::string out =
      "<details class=\"fold filter\">\n<summary>Filter</summary>\n"
      "<form id=\"_filters\" autocomplete=\"off\">\n";
  for (size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    out +=
        fmt::format("<fieldset id=\"_f{}\">\n<legend>{}</legend>\n", g + 1, html_escape(group.key));
    for (size_t v = 0; v < group.values.size(); ++v) {
      out += fmt::format(
          "<label><input type=\"checkbox\" id=\"_f{}-{}\"> <span>{}</span> "
          "<span class=\"count\">{}</span></label>\n",
          g + 1, v + 1, html_with_labels(group.values[v]), group.counts[v]);
    }
    out += "</fieldset>\n";
  }
  return out + "<button type=\"reset\">Show everything</button>\n</form>\n</details>\n";
}

void HtmlFilters::Group::add(const std::string& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

std::set<size_t> HtmlFilters::Group::of(const HtmlSection& section) const {
  std::set<size_t> found;
  for (const auto& [name, value] : section.attributes) {
    const auto at = std::find(values.begin(), values.end(), value);
    if (name == key) found.insert(static_cast<size_t>(at - values.begin()));
  }
  return found;
}

void HtmlFilters::Group::count(const HtmlSection& section) {
  if (section.attributes.empty()) return;
  const auto found = of(section);
  sets.emplace(found, sets.size() + 1);
  counts.resize(values.size());
  for (const size_t value : found) ++counts[value];
}

HtmlFilters::Group& HtmlFilters::group(const std::string& key) {
  for (auto& group : groups_) {
    if (group.key == key) return group;
  }
  groups_.push_back({.key = key});
  return groups_.back();
}

}  // namespace approx
