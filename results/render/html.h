// A report as one HTML file that opens from disk: no network, no script, no font of its own. The
// same page gives the same bytes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/render/table.h"

namespace approx {

struct HtmlFigure {
  std::string title, caption;
  std::string svg;  // cleaned before it is used; what is no SVG is left out, and said so
  std::string csv;  // what the figure shows, offered as a file; may be empty
};

struct HtmlSection {
  std::string id;  // what links name; made unique, and fit for a link
  std::string title;
  std::string text;  // an empty line parts two paragraphs
  std::vector<Table> tables;
  std::vector<HtmlFigure> figures;
  // What readers choose sections by: "paper" -> "wang2019". A name may have several values.
  std::vector<std::pair<std::string, std::string>> attributes;
};

struct HtmlPage {
  std::string title;
  std::string summary;  // an empty line parts two paragraphs
  std::vector<HtmlSection> sections;
  std::vector<std::pair<std::string, std::string>> provenance;
};

// All text is escaped. The words REPRODUCED, DIFFERS, NOT COMPARABLE and NOT RUN become labels in
// it; "name [a,b]" in a cell refers to the notes "a: ..." and "b: ..." of its table.
std::string render_html(const HtmlPage& page);

// The drawing alone: elements and attributes that are not known to be harmless are left out, such
// as scripts, event handlers, style sheets, links and whatever lies outside the file. `prefix` goes
// in front of every id, so that two drawings fit on one page; `label` is what the drawing is called
// where it is not seen. "" where there is no <svg>.
std::string clean_svg(std::string_view svg, std::string_view prefix, std::string_view label);

}  // namespace approx
