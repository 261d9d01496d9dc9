// A TOML file that knows the place of each of its nodes, so that every error message has a place.
// The readers of experiments and of their paper tables share it.
#pragma once

#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/params.h"
#include "base/text.h"

namespace approx {

using Names = std::vector<std::string>;

inline constexpr size_t kMaxTomlBytes = 1 << 20;  // a file of a few kB is usual

bool contains(const Names& names, std::string_view name);

// "a table", "a list", "a text", ...: for messages.
std::string_view type_name(const toml::node& node);

// Non-finite numbers have no JSON and become null.
Json to_json_value(const toml::node& node);

// Sets one setting of `owner` by from_json. The messages of its errors have only the value and the
// expected values: the place before them has the name.
template <typename Owner>
void set_field(Owner& owner, const std::string& key, const Json& value) {
  try {
    from_json(Json{{key, value}}, owner);
  } catch (const Error& error) {
    std::string what = error.what();
    for (const std::string& prefix : {std::string("run: "), std::string("recipe: "), key}) {
      if (what.starts_with(prefix)) what.erase(0, prefix.size());
    }
    if (what.starts_with('=')) what.erase(0, 1);
    if (what.starts_with(": ")) what.erase(0, 2);
    throw Error(error.kind(), what);
  }
}

// One parsed TOML text that knows the place of each of its nodes. Nodes from the command line have
// no line; they are named by their flag.
class TomlSource {
 public:
  // Throws Error(kUsage) for a text of more than 1 MB, thousands of dots or a mistake of syntax.
  TomlSource(std::string name, std::string_view text);

  toml::table& root() { return root_; }
  const toml::table& root() const { return root_; }
  const std::string& name() const { return name_; }

  // Notes another file that a reader opened because of this one. read() lists them.
  void add_read(std::string path) const { read_.push_back(std::move(path)); }
  const Names& read() const { return read_; }

  void add_flag(const std::string& path, std::string flag) { flags_[path] = std::move(flag); }

  std::string place(const toml::source_region& region, const std::string& path) const {
    if (region.begin.line > 0) {
      return fmt::format("{}:{}:{}: {}", name_, region.begin.line, region.begin.column, path);
    }
    // The longest path first: `recipe.epochs` may come from another flag than `recipe`.
    const auto found = std::find_if(flags_.rbegin(), flags_.rend(), [&path](const auto& flag) {
      return path.starts_with(flag.first);
    });
    if (found != flags_.rend()) return found->second;
    return fmt::format("{}:1:1: {}", name_, path);
  }

  template <typename... Args>
  Error error(const toml::node& node, const std::string& path, fmt::format_string<Args...> format,
              Args&&... args) const {
    return usage_error(format, std::forward<Args>(args)...).in(place(node.source(), path));
  }

  // Returns read(). Puts the place of `node` before the message of an error that it throws.
  template <typename Read>
  auto at(const toml::node& node, const std::string& path, Read&& read) const {
    try {
      return read();
    } catch (const Error& error) {
      throw error.in(place(node.source(), path));
    }
  }

  void check_keys(const toml::table& table, const std::string& path, const Names& known) const {
    for (const auto& [key, value] : table) {
      if (contains(known, key.str())) continue;
      const std::string hint = did_you_mean(key.str(), known);
      const std::string full = path.empty() ? std::string(key.str().substr(0, 80))
                                            : fmt::format("{}.{}", path, key.str().substr(0, 80));
      throw usage_error("unknown key{}",
                        hint.empty() ? fmt::format("; known: {}", fmt::join(known, ", ")) : hint)
          .in(place(key.source(), full));
    }
  }

  std::string text(const toml::node& node, const std::string& path) const {
    const auto value = node.value_exact<std::string>();
    if (!value) throw error(node, path, "expected a text, got {}", type_name(node));
    if (trim(*value).empty()) throw error(node, path, "an empty text");
    if (value->size() > 4096) throw error(node, path, "a text of more than 4,096 characters");
    // Tabs are refused too: the text is shown in tables and figures, where a tab could end a
    // column.
    for (const char c : *value) {
      if (static_cast<unsigned char>(c) < ' ') {
        throw error(node, path, "a control character in a text");
      }
    }
    return *value;
  }

  // A boolean, a finite number or a text (which may be empty).
  Json scalar(const toml::node& node, const std::string& path) const {
    if (node.is_table() || node.is_array() || node.is_date() || node.is_time() ||
        node.is_date_time()) {
      throw error(node, path, "expected a single value, got {}", type_name(node));
    }
    Json value = to_json_value(node);
    if (value.is_null()) throw error(node, path, "expected a finite number");
    return value;
  }

  // A text or a list of texts.
  Names texts(const toml::node& node, const std::string& path) const {
    Names values;
    each(node, path, [&](const toml::node& item, const std::string& item_path) {
      values.push_back(text(item, item_path));
    });
    return values;
  }

  const toml::table& table(const toml::node& node, const std::string& path) const {
    const auto* table = node.as_table();
    if (table == nullptr) throw error(node, path, "expected a table, got {}", type_name(node));
    return *table;
  }

  // Calls `read(node, path)` for the node, or for each item if it is a list.
  template <typename Read>
  void each(const toml::node& node, const std::string& path, Read&& read) const {
    const auto* array = node.as_array();
    if (array == nullptr) return read(node, path);
    if (array->empty()) throw error(node, path, "an empty list; name at least one");
    for (size_t i = 0; i < array->size(); ++i) read(*array->get(i), fmt::format("{}[{}]", path, i));
  }

 private:
  std::string name_;
  toml::table root_;
  std::map<std::string, std::string> flags_;
  mutable Names read_;  // set by readers, for which a source is const
};

}  // namespace approx
