#include "core/experiment/overrides.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/known_names.h"
#include "base/range.h"
#include "base/text.h"
#include "core/experiment/experiment.h"
#include "core/experiment/grid.h"
#include "core/experiment/toml_source.h"

namespace approx {
namespace {

// What a scale may replace: all that decides what is run.
const Names& scale_keys() {
  static const Names keys = [] {
    Names names = {"tune", "target", "exclude", "extra",
                   "zip",  "study",  "kernels", "exact_lengths"};
    names.insert(names.end(), axis_keys().begin(), axis_keys().end());
    return names;
  }();
  return keys;
}

// Pieces of a flag's list, an empty one for what stands between two commas.
Names split_specs(std::string_view text) {
  Names pieces;
  for (const auto piece : split(text, ",")) {
    if (!pieces.empty() && goes_on(piece)) {
      pieces.back() += fmt::format(",{}", piece);
    } else {
      pieces.emplace_back(trim(piece));
    }
  }
  return pieces;
}

// Puts what a flag says under `key`: as TOML where it is a TOML value, else as a text.
void insert_value(toml::table& table, std::string_view key, const std::string& text) {
  if (text.size() < 4096 && text.find('\n') == std::string::npos &&
      std::count(text.begin(), text.end(), '.') < 100) {
    try {
      // Stripped of its positions below: they would point into the flag.
      auto parsed = toml::parse("value = " + text);
      if (parsed.size() == 1) {
        auto& value = *parsed.get("value");
        if (const auto flag = value.value_exact<bool>()) {
          table.insert_or_assign(key, *flag);
        } else if (const auto integer = value.value_exact<int64_t>()) {
          table.insert_or_assign(key, *integer);
        } else if (const auto real = value.value_exact<double>()) {
          table.insert_or_assign(key, *real);
        } else if (const auto quoted = value.value_exact<std::string>()) {
          table.insert_or_assign(key, *quoted);
        } else {
          table.insert_or_assign(key, text);
        }
        return;
      }
    } catch (const toml::parse_error&) {
      // Not TOML: a bare word, which is a text.
    }
  }
  table.insert_or_assign(key, text);
}

// Makes the names of files absolute: a file's own are looked for from its folder.
void fix_paths(toml::node& node) {
  if (auto* list = node.as_array()) {
    for (auto& item : *list) fix_paths(item);
  } else if (auto* text = node.as_string()) {
    if (text->get() != "builtin") *text = std::filesystem::absolute(text->get()).string();
  }
}

// The values of one axis, those of each of `texts`.
void apply_axis(TomlSource& source, const std::string& key, const Names& texts) {
  if (!contains(axis_keys(), key)) {
    throw usage_error("--{}: is not an axis of an experiment{}", key,
                      known_names(key, axis_keys()));
  }
  std::string flag = "--" + key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  source.add_flag(key, flag);
  auto& root = source.root();
  toml::array values;
  for (const auto& text : texts) {
    if (trim(text).empty()) throw usage_error("{}: an empty value", flag);
    if (key == "seeds" || key == "timing_seeds") {
      values.push_back(text);
      continue;
    }
    const bool are_texts =
        key == "method" || key == "schedule" || key == "network" || key == "recipe";
    for (const auto& piece : split_specs(text)) {
      if (are_texts) {
        values.push_back(piece);
        continue;
      }
      toml::table one;
      insert_value(one, "value", piece);
      one.get("value")->visit([&values](const auto& value) { values.push_back(value); });
    }
  }
  if (values.size() == 1) {
    values.front().visit([&](const auto& value) { root.insert_or_assign(key, value); });
  } else {
    root.insert_or_assign(key, std::move(values));
  }
}

void apply_set(TomlSource& source, const std::string& key, const std::string& text) {
  const std::string flag = fmt::format("--set {}={}", key, text.substr(0, 200));
  const Names& settable = settable_keys();
  if (!contains(settable, key)) {
    // A recipe's key may be meant without the recipe.
    Names spellings = settable;
    for (const auto& spec : recipe_specs()) spellings.push_back(spec.name);
    const std::string meant = nearest(key, spellings);
    if (!meant.empty()) {
      throw usage_error("{}: unknown key (did you mean \"{}\"?)", flag,
                        contains(settable, meant) ? meant : "recipe." + meant);
    }
    Names candidates = settable;
    if (key.starts_with("recipe.")) {
      std::erase_if(candidates, [](const auto& name) { return !name.starts_with("recipe."); });
    }
    throw usage_error("{}: unknown key{}", flag, known_names(key, candidates));
  }
  auto& root = source.root();
  source.add_flag(key, flag);
  const auto dot = key.find('.');
  if (dot == std::string::npos) return insert_value(root, key, text);
  // `recipe = "name"` becomes `recipe = {base = "name", ...}`; of a list each.
  const auto set = [&](toml::node& recipe, const auto& put) {
    if (recipe.is_string()) {
      toml::table table;
      table.insert_or_assign("base", *recipe.as_string());
      insert_value(table, key.substr(dot + 1), text);
      put(std::move(table));
    } else if (recipe.is_table()) {
      insert_value(*recipe.as_table(), key.substr(dot + 1), text);
      // Moved, not copied: a copy forgets its line.
      put(std::move(*recipe.as_table()));
    } else {
      throw source.error(recipe, "recipe", "expected a recipe's name or a table, got {}",
                         type_name(recipe));
    }
  };
  if (!root.contains("recipe")) root.insert_or_assign("recipe", toml::table());
  auto* recipe = root.get("recipe");
  if (auto* list = recipe->as_array()) {
    toml::array changed;
    for (auto& item : *list) {
      set(item, [&](toml::table&& table) { changed.push_back(std::move(table)); });
    }
    *list = std::move(changed);
  } else {
    set(*recipe, [&](toml::table&& table) {
      toml::table own = std::move(table);
      root.insert_or_assign("recipe", std::move(own));
    });
  }
}

// Checks every declared scale and puts the keys of the wanted one in the place of the file's.
void apply_scale(TomlSource& source, Scale wanted, Overridden& overridden) {
  auto& root = source.root();
  auto* node = root.get("scale");
  if (node == nullptr) {
    // What cannot be run, and what is drawn from the file, is the same at any scale.
    if (wanted == Scale::kFull || root.contains("not_run") || root.contains("picture")) return;
    throw usage_error("{}:1:1: scale.{}: is not declared in this file; run it without --scale",
                      source.name(), name(wanted));
  }
  const auto& scales = source.table(*node, "scale");
  source.check_keys(scales, "scale", {"reduced", "smoke"});
  for (const auto scale : {Scale::kReduced, Scale::kSmoke}) {
    const auto* found = scales.get(name(scale));
    if (found == nullptr) continue;
    overridden.scales.push_back(scale);
    const std::string path = fmt::format("scale.{}", name(scale));
    const auto& table = source.table(*found, path);
    source.check_keys(table, path, scale_keys());
  }
  if (wanted == Scale::kFull) return;
  auto* found = node->as_table()->get(name(wanted));
  if (found == nullptr) {
    throw source.error(*node, "scale", "{} is not declared in this file", name(wanted));
  }
  overridden.scale = wanted;
  // Moved, not copied: a copy forgets its line.
  for (auto&& [key, value] : *found->as_table()) {
    overridden.scale_keys.insert(std::string(key.str()));
    value.visit(
        [&, &key = key](auto& typed) { root.insert_or_assign(key.str(), std::move(typed)); });
  }
}

}  // namespace

Names with_scalars(Names names) {
  names.insert(names.end(), scalar_keys().begin(), scalar_keys().end());
  return names;
}

const Names& axis_keys() {
  static const Names keys =
      with_scalars({"method", "schedule", "network", "seeds", "timing_seeds", "purpose", "recipe"});
  return keys;
}

const Names& settable_keys() {
  static const Names keys = [] {
    Names names = with_scalars({"id", "title", "target", "seeds", "timing_seeds", "purpose",
                                "method", "schedule", "network", "recipe"});
    for (const auto& spec : recipe_specs()) names.push_back("recipe." + spec.name);
    return names;
  }();
  return keys;
}

std::string file_text(const Overrides& overrides, const std::string& id) {
  TomlSource source("command line", "");
  apply(overrides, source);
  auto& root = source.root();
  if (auto* rules = root.get("kernel_rules")) fix_paths(*rules);
  if (overrides.stop_at_target) {
    const auto target = parse_target(root["target"].value_or(std::string()));
    if (target) root.insert_or_assign("stop_at", target->value);
  }
  if (!root.contains("id")) root.insert_or_assign("id", id);
  Names keys = {"id", "title", "network", "dataset", "recipe", "method", "schedule", "seeds"};
  for (const auto& [key, value] : root) {
    if (!contains(keys, key.str())) keys.emplace_back(key.str());
  }
  constexpr auto kFormat = toml::format_flags::allow_unicode_strings;  // quotes as in the docs
  std::ostringstream text;
  for (const auto& key : keys) {
    auto* value = root.get(key);
    if (value == nullptr) continue;
    if (auto* table = value->as_table()) table->is_inline(true);
    text << key << " = ";
    value->visit([&](const auto& typed) { text << toml::toml_formatter(typed, kFormat); });
    text << "\n";
  }
  return text.str();
}

Overridden apply(const Overrides& overrides, TomlSource& source) {
  Overridden overridden;
  apply_scale(source, overrides.scale, overridden);
  std::vector<std::pair<std::string, Names>> axes;
  for (const auto& [key, text] : overrides.axes) {
    const auto same = std::ranges::find(axes, key, &std::pair<std::string, Names>::first);
    if (same == axes.end()) {
      axes.push_back({key, {text}});
    } else {
      same->second.push_back(text);
    }
  }
  for (const auto& [key, texts] : axes) {
    apply_axis(source, key, texts);
    overridden.keys.insert(key);
    overridden.learning_rate |= key == "recipe";
  }
  for (const auto& [key, text] : overrides.set) {
    apply_set(source, key, text);
    overridden.keys.insert(key.substr(0, key.find('.')));
    overridden.learning_rate |= key == "recipe" || key == "recipe.learning_rate";
  }
  return overridden;
}

}  // namespace approx
