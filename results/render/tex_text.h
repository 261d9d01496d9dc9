// Texts in LaTeX.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace approx {

// Any text as LaTeX that sets it, ASCII only. A bracket or a star in front would be taken for an
// argument of the \\ before it, two hyphens or apostrophes for one longer sign.
std::string tex_text(std::string_view text);

// About how wide LaTeX sets a text at 8 points (\footnotesize): points, rather too many than too
// few.
size_t tex_points(std::string_view text);

}  // namespace approx
