// The flags that name layer shapes to measure.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/engine.h"

namespace approx {

struct ShapeFlags {
  std::string networks, shapes;    // names of networks; a file of shapes
  std::vector<std::string> texts;  // in the format of parse_shape
  int64_t batch = 128;             // batch size for the networks
};

// Adds --network, --batch, --shapes and --shape. `unnamed` describes the shapes used where none is
// given. Returns the three options that name shapes.
std::vector<CLI::Option*> add_shape_flags(CLI::App& command, ShapeFlags& flags,
                                          const std::string& unnamed);

// The shapes that any of the flags names; empty where none does. Throws Error(kUsage).
std::vector<ConvShape> named_shapes(const ShapeFlags& flags);

}  // namespace approx
