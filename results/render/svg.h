// Makes a drawing of another program safe for a page.
#pragma once

#include <string>
#include <string_view>

namespace approx {

// The drawing alone: elements and attributes that are not known to be harmless are left out, such
// as scripts, event handlers, style sheets, links and whatever lies outside the file. `prefix` goes
// in front of every id, so that two drawings fit on one page; `label` is what the drawing is called
// where it is not seen. What changes nothing of the picture is left out too, which makes the
// drawings of gnuplot less than half as long. "" where there is no <svg>.
std::string clean_svg(std::string_view svg, std::string_view prefix, std::string_view label);

}  // namespace approx
