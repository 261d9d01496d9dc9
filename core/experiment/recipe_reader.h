// Reads recipes from experiment files: by name, as a table, or a name with changes.
#pragma once

#include <filesystem>
#include <string>

#include "core/config/run_config.h"
#include "core/experiment/toml_source.h"

namespace approx {

// Reads `"name"`, `{base = "name", KEY = ...}` or `{KEY = ...}` at `node`, which is at `path` of
// `source`. A table may have a `when`, which the grid reads (axes_reader.h). Throws Error(kUsage)
// with the place of the mistake, which may be in a recipe file.
Recipe read_recipe(const TomlSource& source, const toml::node& node, const std::string& path);

// The recipe of that name, found as find_recipe() does. Throws Error(kUsage).
Recipe load_recipe(const std::string& name, const std::filesystem::path& asked_by);

}  // namespace approx
