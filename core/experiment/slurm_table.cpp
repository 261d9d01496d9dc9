#include "core/experiment/slurm_table.h"

#include "core/experiment/toml_source.h"

namespace approx {

const Names& slurm_keys() {
  static const Names keys = {"tasks", "at_once", "time",      "memory",
                             "cpus",  "gpus",    "partition", "option"};
  return keys;
}

std::vector<PlacedSetting> read_slurm(const TomlSource& source) {
  const auto* node = source.root().get("slurm");
  if (node == nullptr) return {};
  const auto& table = source.table(*node, "slurm");
  source.check_keys(table, "slurm", slurm_keys());
  std::vector<PlacedSetting> settings;
  for (const auto& key : slurm_keys()) {
    const auto* found = table.get(key);
    if (found == nullptr) continue;
    if (found->is_array() && key != "option") {
      throw source.error(*found, "slurm." + key, "expected a single value, got a list");
    }
    source.each(*found, "slurm." + key, [&](const toml::node& item, const std::string& path) {
      const auto number = item.value_exact<int64_t>();
      if (!number && !item.is_string()) {
        throw source.error(item, path, "expected a text or a whole number, got {}",
                           type_name(item));
      }
      settings.push_back({key, number ? fmt::format("{}", *number) : source.text(item, path),
                          source.place(item.source(), path)});
    });
  }
  return settings;
}

}  // namespace approx
