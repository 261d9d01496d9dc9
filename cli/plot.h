// Figures of reports, drawn by gnuplot from the scripts in plots/.
#pragma once

#include <chrono>
#include <string>

namespace approx {

// Time limit for gnuplot.
inline constexpr std::chrono::seconds kDrawingLimit{60};

// Draws the CSV text `csv` with plots/SCRIPT.gp as `format` ("svg" or "png") and returns the bytes
// of the picture. The script is searched beside the program and in share/approxtrain. Throws
// Error(kUsage) where gnuplot or the script is missing, and where gnuplot takes too long. Throws it
// with gnuplot's message where gnuplot fails.
std::string draw(const std::string& script, const std::string& csv, const std::string& format,
                 std::chrono::milliseconds limit = kDrawingLimit);

// Whether gnuplot can be run. Throws Error(kUsage) as draw() does, where there is no folder to run
// it in.
bool can_draw();

}  // namespace approx
