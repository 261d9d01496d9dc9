// Layer shapes as text: `N128,C256,K256,H8,R3,S1,P1,G1`, and files with one `label shape` a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/engine/engine.h"

namespace approx {

// Reads a shape. Required: N batch, C input channels, K output channels, H height = width.
// Optional: R filter size (3), S stride (1), P padding (R / 2), G groups (1). Throws Error(kUsage).
ConvShape parse_shape(std::string_view text);

// A shape as text for parse_shape, with all letters.
std::string shape_text(const ConvShape& shape);

// Reads a file of shapes: a path, or a name in the folder "shapes" of the experiments. Throws
// Error(kUsage) with file and line.
std::vector<ConvShape> load_shapes(const std::string& path_or_name);

}  // namespace approx
