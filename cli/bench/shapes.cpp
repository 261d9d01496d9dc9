#include "cli/bench/shapes.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/known_names.h"
#include "base/numbers.h"
#include "base/outputs.h"
#include "cli/text.h"
#include "core/experiment/files.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargest = 1 << 20;  // of any letter

fs::path find_shapes(const std::string& name) {
  std::error_code unreadable;
  if (fs::is_regular_file(name, unreadable)) return name;
  std::vector<std::string> known;
  for (const auto& experiments : experiment_paths()) {
    const fs::path folder = fs::path(experiments) / "shapes";
    fs::path path = folder / (name + ".txt");
    if (name.find('/') == std::string::npos && fs::is_regular_file(path, unreadable)) return path;
    for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
      if (entry.path().extension() == ".txt") known.push_back(entry.path().stem().string());
    }
  }
  throw usage_error("--shapes: there is no file \"{}\"{}", printable(name),
                    known_names(name, known));
}

}  // namespace

ConvShape parse_shape(std::string_view text) {
  const auto wrong = [&](const std::string& what) {
    return usage_error("shape \"{}\": {}; expected N128,C256,K256,H8,R3, and S, P and G if needed",
                       printable(text), what);
  };
  std::optional<int64_t> values[256];
  for (const auto& part : split_list(text)) {
    const char letter = part[0];
    const int64_t least = letter == 'P' ? 0 : 1;
    const auto value = parse_integer(std::string_view(part).substr(1), least, kLargest);
    if (std::string_view("NCKHRSPG").find(letter) == std::string_view::npos) {
      throw wrong(fmt::format("unknown letter in \"{}\"", printable(part)));
    }
    if (!value) {
      throw wrong(
          fmt::format("\"{}\" is no number from {} to {}", printable(part), least, kLargest));
    }
    auto& slot = values[static_cast<unsigned char>(letter)];
    if (slot) throw wrong(fmt::format("{} is given twice", letter));
    slot = value;
  }
  ConvShape shape;
  const auto needed = [&](char letter) {
    const auto& value = values[static_cast<unsigned char>(letter)];
    if (!value) throw wrong(fmt::format("{} is missing", letter));
    return *value;
  };
  shape.batch = needed('N');
  shape.in_channels = needed('C');
  shape.out_channels = needed('K');
  shape.size = needed('H');
  shape.kernel = values['R'].value_or(3);
  shape.stride = values['S'].value_or(1);
  shape.padding = values['P'].value_or(shape.kernel / 2);
  shape.groups = values['G'].value_or(1);
  if (shape.size + 2 * shape.padding < shape.kernel)
    throw wrong("the filter is larger than the map");
  if (shape.in_channels % shape.groups != 0 || shape.out_channels % shape.groups != 0) {
    throw wrong("the channels are no multiple of the groups");
  }
  shape.label = shape_text(shape);
  return shape;
}

std::string shape_text(const ConvShape& shape) {
  std::string text =
      fmt::format("N{},C{},K{},H{},R{},S{},P{}", shape.batch, shape.in_channels, shape.out_channels,
                  shape.size, shape.kernel, shape.stride, shape.padding);
  if (shape.groups != 1) text += fmt::format(",G{}", shape.groups);
  return text;
}

std::vector<ConvShape> load_shapes(const std::string& path_or_name) {
  const fs::path path = find_shapes(path_or_name);
  note_input(path.string());
  std::ifstream in(path);
  std::vector<ConvShape> shapes;
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    const std::string place = fmt::format("{}:{}", printable(path.string()), number);
    std::istringstream words(line.substr(0, line.find('#')));
    std::string label, text, more;
    if (!(words >> label)) continue;
    if (!(words >> text) || (words >> more)) {
      throw usage_error("{}: expected a label and a shape", place);
    }
    try {
      shapes.push_back(parse_shape(text));
    } catch (const Error& error) {
      throw error.in(place);
    }
    shapes.back().label = printable(label);
  }
  if (shapes.empty()) throw usage_error("{}: no shapes in it", printable(path.string()));
  return shapes;
}

}  // namespace approx
