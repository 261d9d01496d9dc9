// Boxes on a page to choose its sections by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/render/html.h"

namespace approx {

// One group of boxes for each attribute of the sections. They need no script: a rule hides what has
// none of the ticked values of a group, and a browser without :has() shows everything.
class HtmlFilters {
 public:
  explicit HtmlFilters(const std::vector<HtmlSection>& sections);

  bool empty() const { return groups_.empty(); }

  // The classes of whatever stands for a section, which the rules below name: for each group, one
  // that stands for the values it has there, " f1-2 f2-1". A section without attributes is always
  // shown.
  std::string classes(const HtmlSection& section) const;

  std::string rules() const;  // CSS
  std::string form() const;   // HTML, the boxes

 private:
  struct Group {
    std::string key;
    std::vector<std::string> values;
    std::vector<int64_t> counts;              // sections, one a value
    std::map<std::set<size_t>, size_t> sets;  // of values that occur together, numbered

    void add(const std::string& value);
    std::set<size_t> of(const HtmlSection& section) const;
    void count(const HtmlSection& section);
  };

  Group& group(const std::string& key);

  std::vector<Group> groups_;
};

}  // namespace approx
