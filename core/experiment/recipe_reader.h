// Recipes as experiment files give them: by name, as a table, or a name with changes.
#pragma once

#include <filesystem>
#include <string>

#include "core/config/run_config.h"
#include "core/experiment/toml_source.h"

namespace approx {

// Reads `"name"`, `{base = "name", KEY = ...}` or `{KEY = ...}` at `node`, which stands at `path`
// of `source`; a table may have a `when`, which is the grid's to read (axes_reader.h). Throws
// Error(kUsage) with the place, which for a mistake in a recipe file is in that file.
Recipe read_recipe(const TomlSource& source, const toml::node& node, const std::string& path);

// The recipe of that name, looked for as find_recipe() does. Throws Error(kUsage).
Recipe load_recipe(const std::string& name, const std::filesystem::path& asked_by);

}  // namespace approx
