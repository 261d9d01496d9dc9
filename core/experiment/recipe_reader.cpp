#include "core/experiment/recipe_reader.h"

#include "core/experiment/files.h"

namespace approx {
namespace {

// `around`: keys that are not the recipe's.
void read_table(const TomlSource& source, const toml::table& table, const std::string& path,
                const Names& around, Recipe& recipe) {
  Names known = around;
  for (const auto& spec : recipe_specs()) known.push_back(spec.name);
  source.check_keys(table, path, known);
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    if (contains(around, name)) continue;
    const std::string full = path.empty() ? name : path + "." + name;
    const Json json = source.scalar(value, full);
    source.at(value, full, [&, &name = name] { set_field(recipe, name, json); });
  }
  source.at(table, path, [&] { check(recipe); });
}

Recipe read_file(const std::filesystem::path& file) {
  TomlSource source(file.string(), read_toml_file(file));
  if (const auto* base = source.root().get("base")) {
    throw source.error(*base, "base",
                       "a recipe file cannot have a base; write out all its settings");
  }
  Recipe recipe;
  read_table(source, source.root(), "", {"base"}, recipe);
  return recipe;
}

Recipe read_named(const TomlSource& asked_by, const toml::node& node, const std::string& path) {
  const std::string name = asked_by.text(node, path);
  const auto file = asked_by.at(node, path, [&] { return find_recipe(name, asked_by.name()); });
  asked_by.add_read(file.string());
  return read_file(file);
}

}  // namespace

Recipe read_recipe(const TomlSource& source, const toml::node& node, const std::string& path) {
  if (node.is_string()) return read_named(source, node, path);
  if (!node.is_table()) {
    throw source.error(node, path, "expected a recipe's name or a table, got {}", type_name(node));
  }
  const auto& table = *node.as_table();
  Recipe recipe;
  if (const auto* base = table.get("base")) recipe = read_named(source, *base, path + ".base");
  read_table(source, table, path, {"base", "when"}, recipe);
  return recipe;
}

Recipe load_recipe(const std::string& name, const std::filesystem::path& asked_by) {
  return read_file(find_recipe(name, asked_by));
}

}  // namespace approx
