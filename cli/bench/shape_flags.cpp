#include "cli/bench/shape_flags.h"

#include "cli/bench/network_shapes.h"
#include "cli/bench/shapes.h"
#include "cli/flags.h"
#include "cli/text.h"

namespace approx {

std::vector<CLI::Option*> add_shape_flags(CLI::App& command, ShapeFlags& flags,
                                          const std::string& unnamed) {
  auto* network = command
                      .add_option("--network", flags.networks,
                                  "networks whose layers give the shapes, each shape once; all: "
                                  "every network. A linear layer is a 1x1 convolution of one pixel")
                      ->type_name("NAME,...|all");
  add_integer(command, "--batch", flags.batch, 1, 1 << 20,
              fmt::format("images in a batch of these networks (default {})", flags.batch))
      ->needs(network);
  auto* file =
      command
          .add_option("--shapes", flags.shapes,
                      fmt::format("file of shapes, or the name of one (default {})", unnamed))
          ->type_name("FILE");
  auto* text = command
                   .add_option("--shape", flags.texts,
                               "one shape: N batch, C and K channels in and out, H size, R filter, "
                               "S stride, P padding. May be repeated")
                   ->type_name("N,C,K,H,R")
                   ->allow_extra_args(false);
  return {network, file, text};
}

std::vector<ConvShape> named_shapes(const ShapeFlags& flags) {
  std::vector<ConvShape> shapes;
  const auto add = [&](const std::vector<ConvShape>& more) {
    shapes.insert(shapes.end(), more.begin(), more.end());
  };
  for (const auto& text : flags.texts) shapes.push_back(parse_shape(text));
  if (!flags.shapes.empty()) add(load_shapes(flags.shapes));
  const auto networks = networks_named(Catalogue::embedded(), split_list(flags.networks));
  add(network_shapes(networks, flags.batch));
  return shapes;
}

}  // namespace approx
