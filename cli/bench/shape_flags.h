// The flags that name layer shapes to measure.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/engine.h"

namespace approx {

struct ShapeFlags {
  std::string networks, shapes;    // names of networks, a file of shapes
  std::vector<std::string> texts;  // as parse_shape reads them
  int64_t batch = 128;             // of the networks
};

// --network, --batch, --shapes, --shape. `unnamed`: what is taken where none is given. Returns the
// three that name shapes.
std::vector<CLI::Option*> add_shape_flags(CLI::App& command, ShapeFlags& flags,
                                          const std::string& unnamed);

// The shapes that were named in any way; empty where none was. Throws Error(kUsage).
std::vector<ConvShape> named_shapes(const ShapeFlags& flags);

}  // namespace approx
