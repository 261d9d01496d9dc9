#include "results/render/html.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "results/render/html_text.h"
#include "results/render/svg.h"
#include "results/render/verdict.h"

namespace approx {

extern const char* const kReportCss;  // results/render/report.css

namespace {

// Identifiers of sections. Those of the page itself start with "_", which none of these does.
class Identifiers {
 public:
  std::string make(std::string_view wanted) {
    std::string id;
    for (const char c : wanted) {
      const bool keep = is_word_character(c) || c == '-' || c == '.' || c == ':';
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

// The place of a value in a list, its size where it is not there.
template <typename T>
size_t place_of(const std::vector<T>& list, const T& value) {
  return static_cast<size_t>(std::ranges::find(list, value) - list.begin());
}

// Boxes to choose the sections of a page by: a group for each attribute that sections have. They
// need no script: a rule hides what has none of the ticked values of a group, and a browser without
// :has() shows everything.
class Filters {
 public:
  explicit Filters(const std::vector<HtmlSection>& sections) {
    for (const auto& section : sections) {
      for (const auto& [key, value] : section.attributes) add(key, value);
    }
    // A single value that every section has leaves nothing to choose.
    std::erase_if(groups_, [&](const Group& group) {
      return group.values.size() < 2 &&
             std::ranges::none_of(sections, [&](const HtmlSection& section) {
               return !section.attributes.empty() && group.of(section).empty();
             });
    });
    for (const auto& section : sections) {
      if (section.attributes.empty()) continue;
      for (auto& group : groups_) group.count(group.of(section));
    }
  }

  bool empty() const { return groups_.empty(); }

  // The classes of whatever stands for a section, which the rules below name: for each group, one
  // that stands for the values it has there, " f1-2 f2-1". A section without attributes is always
  // shown.
  std::string classes(const HtmlSection& section) const {
    std::string names;
    if (section.attributes.empty()) return names;
    for (size_t g = 0; g < groups_.size(); ++g) {
      names += fmt::format(" f{}-{}", g + 1, place_of(groups_[g].sets, groups_[g].of(section)) + 1);
    }
    return names;
  }

  // As CSS.
  std::string rules() const {
    std::string out;
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (size_t set = 0; set < groups_[g].sets.size(); ++set) {
        std::string ticked;
        for (const size_t value : groups_[g].sets[set]) {
          ticked += fmt::format("{}#_f{}-{}", ticked.empty() ? "" : ",", g + 1, value + 1);
        }
        out += fmt::format("body:has(#_f{} :checked)", g + 1);
        if (!ticked.empty()) out += fmt::format(":not(:has(:is({}):checked))", ticked);
        out += fmt::format(" .f{}-{}{{display:none}}\n", g + 1, set + 1);
      }
    }
    return out;
  }

  // The boxes.
  std::string form() const {
    std::string out =
        "<details class=\"fold filter\">\n<summary>Filter</summary>\n"
        "<form id=\"_filters\" autocomplete=\"off\">\n";
    for (size_t g = 0; g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      out += fmt::format("<fieldset id=\"_f{}\">\n<legend>{}</legend>\n", g + 1,
                         html_escape(group.key));
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

 private:
  struct Group {
    std::string key;
    std::vector<std::string> values;
    std::vector<int64_t> counts;         // sections, one a value
    std::vector<std::set<size_t>> sets;  // of values that occur together

    // The values that a section has.
    std::set<size_t> of(const HtmlSection& section) const {
      std::set<size_t> found;
      for (const auto& [name, value] : section.attributes) {
        if (name == key) found.insert(place_of(values, value));
      }
      return found;
    }

    void count(const std::set<size_t>& found) {
      if (place_of(sets, found) == sets.size()) sets.push_back(found);
      counts.resize(values.size());
      for (const size_t value : found) ++counts[value];
    }
  };

  void add(const std::string& key, const std::string& value) {
    auto group = std::ranges::find(groups_, key, &Group::key);
    if (group == groups_.end()) group = groups_.insert(groups_.end(), {.key = key});
    if (place_of(group->values, value) == group->values.size()) group->values.push_back(value);
  }

  std::vector<Group> groups_;
};

std::string figure_html(const HtmlFigure& figure, const std::string& id, const std::string& file) {
  std::string label = figure.title;
  if (!figure.caption.empty()) label += (label.empty() ? "" : ": ") + figure.caption;
  if (label.empty()) label = "figure";
  std::string out = "<figure class=\"picture\">\n";
  if (!figure.title.empty()) out += "<h3>" + html_escape(figure.title) + "</h3>\n";
  const std::string svg = clean_svg(figure.svg, id + "-", label);
  if (svg.empty()) {
    out += "<p class=\"none\">Not drawn.</p>\n";
  } else {
    out +=
        fmt::format("<div class=\"card\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n{}\n",
                    html_escape(figure.title.empty() ? "figure" : figure.title), svg);
    out += "</div>\n";
  }
  if (figure.caption.empty() && figure.csv.empty()) return out + "</figure>\n";
  out += "<figcaption>" + html_with_labels(figure.caption);
  if (!figure.csv.empty()) {
    out += "<p class=\"file\">" + html_csv_link(figure.csv, file, "Data as CSV") + "</p>";
  }
  return out + "</figcaption>\n</figure>\n";
}

// A name that comes several times is one entry with all its values.
std::string definitions(const HtmlAttributes& entries, const char* css_class) {
  HtmlAttributes merged;
  for (const auto& given : entries) {
    const auto same = std::find_if(merged.begin(), merged.end(),
                                   [&](const auto& entry) { return entry.first == given.first; });
    if (same == merged.end()) {
      merged.emplace_back(given.first, html_with_labels(given.second));
    } else {
      same->second += ", " + html_with_labels(given.second);
    }
  }
  std::string out = fmt::format("<dl class=\"{}\">\n", css_class);
  for (const auto& [name, values] : merged) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_escape(name), values);
  }
  return out + "</dl>\n";
}

// `number` is the section's place, from 1: its tables are _s1-t1, _s1-t2 and so on.
std::string section_html(const HtmlSection& section, const std::string& id, size_t number,
                         const std::string& classes) {
  std::string out = fmt::format(
      "<section id=\"{0}\" class=\"entry{1}\" aria-labelledby=\"_s{2}\">\n"
      "<h2 id=\"_s{2}\"><a href=\"#{0}\">{3}</a></h2>\n",
      id, classes, number, html_escape(section.title.empty() ? section.id : section.title));
  std::string file = id;
  std::replace(file.begin(), file.end(), ':', '-');
  HtmlAttributes facts = section.attributes;
  std::erase_if(facts, [](const auto& fact) { return fact.first == "part"; });  // of the page
  if (!facts.empty()) out += definitions(facts, "facts");
  out += html_paragraphs(section.text, "");
  if (!section.listed.empty()) out += definitions(section.listed, "provenance");
  for (size_t i = 0; i < section.figures.size(); ++i) {
    out += figure_html(section.figures[i], fmt::format("_s{}-p{}", number, i + 1),
                       fmt::format("{}-figure-{}", file, i + 1));
  }
  for (size_t i = 0; i < section.tables.size(); ++i) {
    out += html_table(section.tables[i], fmt::format("_s{}-t{}", number, i + 1),
                      fmt::format("{}-table-{}", file, i + 1));
  }
  return out + "</section>\n";
}

// The verdicts of a section, for the table of contents.
std::string verdicts_of(const HtmlSection& section) {
  std::string out;
  for (const auto& [key, value] : section.attributes) {
    for (const Verdict verdict : kAllVerdicts) {
      if (value == name(verdict)) out += " " + html_with_labels(value);
    }
  }
  return out;
}

size_t count_folded(const HtmlPage& page) {
  return static_cast<size_t>(std::count_if(page.sections.begin(), page.sections.end(),
                                           [](const auto& section) { return section.folded; }));
}

// What stands on the fold of the sections without results.
std::string fold_title(const HtmlPage& page) {
  const size_t folded = count_folded(page);
  return fmt::format("{} without results yet",
                     folded == 1 ? "One item" : fmt::format("{} items", folded));
}

std::string contents_html(const HtmlPage& page, const std::vector<std::string>& ids,
                          const Filters& filters) {
  const auto entries = [&](bool folded) {
    std::string out;
    for (size_t i = 0; i < page.sections.size(); ++i) {
      const HtmlSection& section = page.sections[i];
      if (section.folded != folded) continue;
      out += fmt::format(
          "<li class=\"entry{}\"><a href=\"#{}\">{}</a>{}</li>\n", filters.classes(section), ids[i],
          html_escape(section.title.empty() ? section.id : section.title), verdicts_of(section));
    }
    return out;
  };
  std::string out =
      "<details class=\"fold\">\n<summary>Contents</summary>\n<nav aria-label=\"Contents\">\n"
      "<ul>\n";
  out += entries(false);
  if (!page.provenance.empty()) out += "<li><a href=\"#_provenance\">Provenance</a></li>\n";
  out += "</ul>\n";
  if (count_folded(page) > 0) {
    out +=
        fmt::format("<details class=\"rest\">\n<summary>{}</summary>\n<ul>\n{}</ul>\n</details>\n",
                    fold_title(page), entries(true));
  }
  return out + "</nav>\n</details>\n";
}

}  // namespace

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
  const std::string title = html_escape(page.title.empty() ? "approxtrain report" : page.title);
  out += fmt::format("<title>{}</title>\n<style>\n{}{}</style>\n</head>\n", title, kReportCss,
                     filters.rules());
  out += "<body id=\"_top\">\n<a class=\"skip\" href=\"#_report\">Skip to the results</a>\n";
  out += "<div class=\"page\">\n<header>\n<h1>" + title + "</h1>\n";
  out += html_paragraphs(page.summary, "summary");
  if (!page.next.empty()) out += "<p class=\"next\">" + html_command(page.next) + "</p>\n";
  out += "</header>\n";
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
  const auto add_sections = [&](bool folded) {
    for (size_t i = 0; i < page.sections.size(); ++i) {
      if (page.sections[i].folded != folded) continue;
      out += section_html(page.sections[i], ids[i], i + 1, filters.classes(page.sections[i]));
    }
  };
  add_sections(false);
  if (count_folded(page) > 0) {
    out += fmt::format("<details class=\"rest\">\n<summary>{}</summary>\n", fold_title(page));
    add_sections(true);
    out += "</details>\n";
  }
  if (!page.provenance.empty()) {
    out += "<section id=\"_provenance\" aria-labelledby=\"_s0\">\n<h2 id=\"_s0\">Provenance</h2>\n";
    out += definitions(page.provenance, "provenance") + "</section>\n";
  }
  out += "</main>\n<footer><a href=\"#_top\">Back to the top</a></footer>\n</div>\n";
  return out + "</body>\n</html>\n";
}

}  // namespace approx
