// Figures of reports, drawn by gnuplot from the scripts in plots/.
#pragma once

#include <string>

namespace approx {

// Draws `csv` (its text) by plots/SCRIPT.gp, which is looked for in the working directory, beside
// the program and in share/approxtrain, as `format` ("svg" or "png"); returns the file's bytes.
// Throws Error(kUsage) when there is no gnuplot or no such script, or it fails, with what it says.
std::string draw(const std::string& script, const std::string& csv, const std::string& format);

// Whether gnuplot can be run.
bool can_draw();

}  // namespace approx
