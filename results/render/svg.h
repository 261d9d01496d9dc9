// Makes a drawing of another program safe for a page.
#pragma once

#include <string>
#include <string_view>

namespace approx {

// The drawing with only those elements and attributes that are known to be harmless. Scripts, event
// handlers, style sheets, links and references outside the file are removed. Parts that do not
// change the picture are removed too, so drawings of gnuplot become less than half as long.
// `prefix` goes in front of every id, so that two drawings fit on one page. `label` is the text for
// readers who cannot see the drawing. "" where there is no <svg>.
std::string clean_svg(std::string_view svg, std::string_view prefix, std::string_view label);

}  // namespace approx
