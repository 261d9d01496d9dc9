// A TOML file as an experiment: the grid that it describes, at every scale, and never a run.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/experiment/experiment.h"
#include "generated/source_dir.h"
#include "tests/core/config/test_catalogue.h"
#include "tests/fuzz/fuzz.h"

namespace approx::fuzz {
namespace {

namespace fs = std::filesystem;

// Beside the experiments of the project, so that their recipes are found.
constexpr const char* kSource = APPROX_SOURCE_DIR "/experiments/fuzz.toml";

Experiment parse(const std::string& text, Scale scale) {
  Overrides overrides;
  overrides.scale = scale;
  return parse_experiment(text, kSource, overrides, test_catalogue(),
                          [](const std::string& dataset) { return "sha of " + dataset; });
}

// A worker reads the same run out of its task that was planned.
void check_run(const PlannedRun& run) {
  expect(run.key.size() == 64, "a key has 64 digits");
  expect(Json::parse(Json(run.config).dump()).get<RunConfig>() == run.config,
         "a run as JSON and back is the same run");
}

std::string text_of_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

void run(Bytes input) {
  const std::string text(text_of(input));
  std::vector<Scale> scales;
  accepted(ErrorKind::kUsage, [&] { scales = parse(text, Scale::kFull).scales; });
  for (const Scale scale : scales) {
    accepted(ErrorKind::kUsage, [&] {
      const auto experiment = parse(text, scale);
      const size_t shown = std::min<size_t>(experiment.runs().size(), 20);
      for (size_t i = 0; i < shown; ++i) check_run(experiment.runs()[i]);
    });
  }
}

// The project's experiments, and those that its tests expect to be refused.
std::vector<Buffer> seeds() {
  std::vector<Buffer> all;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(APPROX_SOURCE_DIR "/experiments")) {
    if (entry.path().extension() == ".toml" && entry.file_size() <= 4096) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) all.push_back(buffer_of(text_of_file(file)));
  constexpr std::string_view kBase =
      "network = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = [\"dense\", \"zero\"]\n"
      "schedule = \"wang2019_cnn2\"\n";
  std::istringstream malformed(
      text_of_file(APPROX_SOURCE_DIR "/tests/core/experiment/malformed_experiments.txt"));
  std::string text;
  for (std::string line; std::getline(malformed, line);) {
    if (line.starts_with('#')) continue;
    if (!line.starts_with("==")) {
      text += line + "\n";
      continue;
    }
    const bool alone = text.starts_with('!');
    all.push_back(buffer_of(alone ? text.substr(1) : std::string(kBase) + text));
    text.clear();
  }
  return all;
}

}  // namespace approx::fuzz
