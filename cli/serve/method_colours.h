// The colours of methods in curves: those of the figures (plots/style.gp).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace approx {

// A colour such as "#0072b2" for each label. The words of a label choose the hue, its digits the
// shade, as own_colours in plots/style.gp has it. Labels of one colour get other shades in their
// order.
std::map<std::string, std::string> method_colours(const std::vector<std::string>& labels);

}  // namespace approx
