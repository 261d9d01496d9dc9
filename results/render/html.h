// A report as one HTML file that opens from disk: no network, no script, no font of its own. Equal
// pages give equal bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/render/table.h"

namespace approx {

// Attribute names with their values; a name may have several.
using HtmlAttributes = std::vector<std::pair<std::string, std::string>>;

struct HtmlFigure {
  std::string title, caption;
  std::string svg;  // cleaned before use (svg.h); text that is no SVG is left out with a remark
  std::string csv;  // data of the figure, offered as a file; may be empty
};

struct HtmlSection {
  std::string id;  // target of links; made unique, and fit for a link
  std::string title;
  std::string text;       // an empty line parts two paragraphs
  HtmlAttributes listed;  // below the text, a line for each name
  std::vector<Table> tables;
  std::vector<HtmlFigure> figures;
  HtmlAttributes attributes;  // readers choose sections by them: "paper" -> "wang2019"
  bool folded = false;        // without content yet: folded, after all other sections
};

struct HtmlPage {
  std::string title;
  std::string summary;  // an empty line parts two paragraphs
  std::string next;     // what to do next, one line
  std::vector<HtmlSection> sections;
  HtmlAttributes provenance;
};

// The page as HTML. All text is escaped, and the words of verdicts (verdict.h) become labels. A
// mark "name [a,b]" in a cell refers to the notes "a: ..." and "b: ..." of its table.
std::string render_html(const HtmlPage& page);

}  // namespace approx
