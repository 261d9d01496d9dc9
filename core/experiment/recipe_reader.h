// Recipes as experiment files give them: by name, as a table, or a name with changes.
#pragma once

#include <string>

#include "core/config/run_config.h"
#include "core/experiment/toml_source.h"

namespace approx {

// Reads `"name"`, `{base = "name", KEY = ...}` or `{KEY = ...}` at `node`, which stands at `path`
// of `source`. Throws Error(kUsage) with the place, which for a mistake in a recipe file is in that
// file.
Recipe read_recipe(const TomlSource& source, const toml::node& node, const std::string& path);

}  // namespace approx
