// Figures of reports, drawn by gnuplot from the scripts in plots/.
#pragma once

#include <chrono>
#include <string>

namespace approx {

// How long gnuplot may take.
inline constexpr std::chrono::seconds kDrawingLimit{60};

// Draws `csv` (its text) by plots/SCRIPT.gp, which is looked for beside the program and in
// share/approxtrain, as `format` ("svg" or "png"); returns the file's bytes. Throws Error(kUsage)
// when there is no gnuplot or no such script, or it fails, with what it says, or takes too long.
std::string draw(const std::string& script, const std::string& csv, const std::string& format,
                 std::chrono::milliseconds limit = kDrawingLimit);

// Whether gnuplot can be run. Throws Error(kUsage) where there is no folder to run it in, as draw()
// does.
bool can_draw();

}  // namespace approx
