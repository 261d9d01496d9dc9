// Where experiments and recipes are found, and the names they are asked for by.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace approx {

// Where experiment and recipe files are looked for, first match wins: the working directory, then
// the installation. `@name` or a bare name without ".toml" means experiments/name.toml there
// ("@wang2019:table5" is experiments/wang2019/table5.toml).
std::vector<std::string> experiment_paths();

// Name ("wang2019:table5") and path of every experiment file there, recipes left out, by name.
std::vector<std::pair<std::string, std::string>> known_experiments();

// Names of the experiments that stand for a table or figure of a paper: their [report] names an
// item. Files that cannot be read are left out.
std::vector<std::string> known_papers();

// Names of the recipes in experiment_paths(), sorted.
std::vector<std::string> known_recipes();

// The file that a name or a path means. Error(kUsage) with the nearest known name where there is
// none, or where the name could leave the folder.
std::filesystem::path find_experiment(const std::string& path_or_name);

// The recipe of that name in a folder `recipes` beside the asking file, above it or in
// experiment_paths(). Errors as above.
std::filesystem::path find_recipe(const std::string& name, const std::filesystem::path& asked_by);

// The text of a file, cut one byte behind kMaxTomlBytes, so that TomlSource refuses a longer one.
// Error(kUsage) where it cannot be read.
std::string read_toml_file(const std::filesystem::path& path);

}  // namespace approx
