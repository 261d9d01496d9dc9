// Experiment files as texts: a small one, changed line by line.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/experiment/experiment.h"
#include "core/experiment/files.h"
#include "generated/source_dir.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {

// Of a data set, as load_experiment asks for it; there is no mnist15.
inline std::string checksum(const std::string& dataset) {
  if (dataset == "mnist15") throw usage_error("unknown data set \"mnist15\"");
  return "sha of " + dataset;
}

// The experiment of a file x.toml with this text.
inline Experiment parse(const std::string& text, const Overrides& overrides = {}) {
  return parse_experiment(text, "x.toml", overrides, test_catalogue(), checksum);
}

// What is wrong with that text, which is to be an Error(kUsage).
inline std::string experiment_message(const std::string& text, const Overrides& overrides = {}) {
  try {
    parse(text, overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
    return error.what();
  }
  return "no error";
}

// The bytes of a file, which is to be there.
inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_TRUE(in.good()) << path;
  return text.str();
}

// The lines of a small experiment.
inline const std::vector<std::string>& base_lines() {
  static const std::vector<std::string> lines = {"network = \"small_cnn\"", "dataset = \"mnist14\"",
                                                 "method = [\"dense\", \"zero\"]",
                                                 "schedule = \"wang2019_cnn2\""};
  return lines;
}

// The base experiment with `text`'s lines in place of those with the same key, or after them.
inline std::string with(const std::string& text) {
  if (!text.empty() && text[0] == '!') return text.substr(1);
  auto lines = base_lines();
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto key = line.substr(0, line.find(" ="));
    bool replaced = false;
    for (auto& known : lines) {
      if (known.substr(0, known.find(" =")) != key) continue;
      known = line;
      replaced = true;
    }
    if (!replaced) lines.push_back(line);
  }
  std::string joined;
  for (const auto& line : lines) joined += line + "\n";
  return joined;
}

// "seed purpose network method schedule" of each run, and whether it is excluded.
inline std::vector<std::string> summary(const Experiment& experiment) {
  std::vector<std::string> rows;
  for (const auto& run : experiment.runs()) {
    rows.push_back(fmt::format("{} {} {} {} {}{}", run.config.seed, name(run.config.purpose),
                               run.network_label, run.method_label, run.schedule_label,
                               run.excluded.empty() ? "" : " excluded"));
  }
  return rows;
}

// The hand-made catalogue with what the committed files name beside it.
inline const Catalogue& committed_catalogue() {
  static const Catalogue catalogue = [] {
    Catalogue made = test_catalogue();
    for (auto& method : made.methods) {
      if (method.name == "topk_position") method.params.push_back({"factor", 1.0, "", 0});
    }
    MethodInfo sdgp;
    sdgp.name = "sdgp";
    sdgp.products = {Product::kDataGradient};
    made.methods.push_back(sdgp);
    for (auto& network : made.networks) {
      if (network.name == "small_cnn") network.params = {{"width", int64_t{16}, "", 1}};
    }
    return made;
  }();
  return catalogue;
}

}  // namespace approx
