// Reads recipes from experiment files: by name, as a table, or a name with changes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/config/run_config.h"
#include "core/experiment/toml_source.h"

namespace approx {

// Reads `"name"`, `{base = "name", KEY = ...}` or `{KEY = ...}` at `node`, which is at `path` of
// `source`. A number of a table may be a range (setting_values()). The table is then one recipe for
// each combination, and its last key changes fastest, in the order of the alphabet. A table may
// have a `when`, which the grid reads (axes_reader.h). Throws Error(kUsage) with the place of the
// mistake, which may be in a recipe file.
std::vector<Recipe> read_recipes(const TomlSource& source, const toml::node& node,
                                 const std::string& path);

// The recipe of that name, found as find_recipe() does. Throws Error(kUsage).
Recipe load_recipe(const std::string& name, const std::filesystem::path& asked_by);

}  // namespace approx
