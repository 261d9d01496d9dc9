#include "core/experiment/recipe_reader.h"

#include <algorithm>
#include <utility>

#include "core/experiment/files.h"
#include "core/experiment/value_ranges.h"

namespace approx {
namespace {

// Changes `base` by a table, in each of the ways that it stands for. `around`: keys that are not
// the recipe's.
std::vector<Recipe> read_table(const TomlSource& source, const toml::table& table,
                               const std::string& path, const Names& around, const Recipe& base) {
  const auto specs = recipe_specs();
  Names known = around;
  for (const auto& spec : specs) known.push_back(spec.name);
  source.check_keys(table, path, known);
  std::vector<Recipe> recipes = {base};
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    if (contains(around, name)) continue;
    const std::string full = path.empty() ? name : path + "." + name;
    const Json json = source.scalar(value, full);
    const auto& spec = *std::ranges::find(specs, name, &ParamSpec::name);
    const auto values = source.at(value, full, [&] { return setting_values(spec, json); });
    if (recipes.size() * values.size() > kMaxValuesOfNode) {
      throw source.error(value, full, "more than {} recipes from one table", kMaxValuesOfNode);
    }
    std::vector<Recipe> changed;
    for (const auto& recipe : recipes) {
      for (const auto& one : values) {
        changed.push_back(recipe);
        source.at(value, full, [&] { set_field(changed.back(), name, one); });
        if (values.size() == 1 || std::ranges::count(changed, changed.back()) == 1) continue;
        throw source.error(value, full, "{} is given twice", one.dump());
      }
    }
    recipes = std::move(changed);
  }
  for (const auto& recipe : recipes) {
    source.at(table, path, [&] { check(recipe); });
  }
  return recipes;
}

Recipe read_file(const std::filesystem::path& file) {
  TomlSource source(file.string(), read_toml_file(file));
  if (const auto* base = source.root().get("base")) {
    throw source.error(*base, "base",
                       "a recipe file cannot have a base; write out all its settings");
  }
  auto recipes = read_table(source, source.root(), "", {"base"}, Recipe());
  if (recipes.size() != 1) {
    throw usage_error(
        "{}:1:1: a recipe file has one value for each key; write ranges in the "
        "experiment",
        source.name());
  }
  return std::move(recipes.front());
}

Recipe read_named(const TomlSource& asked_by, const toml::node& node, const std::string& path) {
  const std::string name = asked_by.text(node, path);
  const auto file = asked_by.at(node, path, [&] { return find_recipe(name, asked_by.name()); });
  asked_by.add_read(file.string());
  return read_file(file);
}

}  // namespace

std::vector<Recipe> read_recipes(const TomlSource& source, const toml::node& node,
                                 const std::string& path) {
  if (node.is_string()) return {read_named(source, node, path)};
  if (!node.is_table()) {
    throw source.error(node, path, "expected a recipe's name or a table, got {}", type_name(node));
  }
  const auto& table = *node.as_table();
  Recipe base;
  if (const auto* name = table.get("base")) base = read_named(source, *name, path + ".base");
  return read_table(source, table, path, {"base", "when"}, base);
}

Recipe load_recipe(const std::string& name, const std::filesystem::path& asked_by) {
  return read_file(find_recipe(name, asked_by));
}

}  // namespace approx
