// Finds experiment and recipe files by name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace approx {

// The folders of experiment and recipe files; the first match wins. They are the working directory,
// then the installation. `@name` or a bare name without ".toml" means experiments/name.toml in one
// of them ("@wang2019:table5" is experiments/wang2019/table5.toml).
std::vector<std::string> experiment_paths();

// Name ("wang2019:table5") and path of every experiment file in these folders, without recipes,
// sorted by name.
std::vector<std::pair<std::string, std::string>> known_experiments();

// Names of the experiments for a table or figure of a paper: their [report] names an item. Files
// that cannot be read are left out.
std::vector<std::string> known_papers();

// Names of the recipes in experiment_paths(), sorted.
std::vector<std::string> known_recipes();

// The file for a name or a path. Throws Error(kUsage) with the nearest known name if there is no
// such file, or if the name could leave the folder.
std::filesystem::path find_experiment(const std::string& path_or_name);

// The recipe of that name. It is in a folder `recipes` beside the asking file, above it, or in
// experiment_paths(). Throws as find_experiment().
std::filesystem::path find_recipe(const std::string& name, const std::filesystem::path& asked_by);

// The text of a file, cut one byte after kMaxTomlBytes, so that TomlSource refuses longer files.
// Throws Error(kUsage) if it cannot be read.
std::string read_toml_file(const std::filesystem::path& path);

}  // namespace approx
