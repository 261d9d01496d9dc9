// A report as one HTML file that opens from disk: no network, no script, no font of its own. The
// same page gives the same bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/render/table.h"

namespace approx {

// Names with their values; a name may have several.
using HtmlAttributes = std::vector<std::pair<std::string, std::string>>;

struct HtmlFigure {
  std::string title, caption;
  std::string svg;  // cleaned before it is used (svg.h); what is no SVG is left out, and said so
  std::string csv;  // what the figure shows, offered as a file; may be empty
};

struct HtmlSection {
  std::string id;  // what links name; made unique, and fit for a link
  std::string title;
  std::string text;  // an empty line parts two paragraphs
  std::vector<Table> tables;
  std::vector<HtmlFigure> figures;
  HtmlAttributes attributes;  // what readers choose sections by: "paper" -> "wang2019"
  bool folded = false;        // nothing to see yet: behind a fold, after all others
};

struct HtmlPage {
  std::string title;
  std::string summary;  // an empty line parts two paragraphs
  std::string next;     // what to do next, one line
  std::vector<HtmlSection> sections;
  HtmlAttributes provenance;
};

// All text is escaped, and the words of verdicts (verdict.h) become labels in it; "name [a,b]" in a
// cell refers to the notes "a: ..." and "b: ..." of its table.
std::string render_html(const HtmlPage& page);

}  // namespace approx
