#include "results/records/earlier_versions.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/config/run_key.h"

namespace approx {
namespace {

std::vector<std::string> methods_with_such(const Catalogue& catalogue) {
  std::vector<std::string> names;
  for (const auto& method : catalogue.methods) {
    if (method.rounding_since > 0 || method.half_rounding_since > 0) names.push_back(method.name);
  }
  return names;
}

bool is_by_earlier_version(const std::string& key, const std::string& config,
                           const std::string& dataset_sha256, const Catalogue& catalogue) {
  try {
    const auto earlier =
        earlier_keys(Json::parse(config).get<RunConfig>(), dataset_sha256, catalogue);
    return std::ranges::any_of(
        earlier, [&](const EarlierKey& each) { return each.other_version && each.key == key; });
  } catch (const Error&) {
    return false;  // a configuration that this program does not read has no key here
  } catch (const Json::exception&) {
    return false;
  }
}

}  // namespace

void mark_earlier_versions(SQLite::Database& db, const Catalogue& catalogue,
                           std::map<int64_t, Cell>& cells) {
  const auto methods = methods_with_such(catalogue);
  if (methods.empty()) return;
  for_each_row(db,
               "SELECT r.run_id, c.cell_id, c.run_key, c.config, coalesce(d.sha256, '') AS sha256 "
               "FROM run r "
               "JOIN cell c USING(cell_id) LEFT JOIN dataset d USING(dataset_id)",
               [&](SQLite::Statement& row) {
                 const auto cell = cells.find(integer_at(row, "cell_id"));
                 if (cell == cells.end()) return;
                 const std::string config = text_at(row, "config");
                 // Hashing takes longer than looking for a name in a text.
                 const bool may_be = std::ranges::any_of(methods, [&](const auto& name) {
                   return config.find(name) != std::string::npos;
                 });
                 if (!may_be || !is_by_earlier_version(text_at(row, "run_key"), config,
                                                       text_at(row, "sha256"), catalogue)) {
                   return;
                 }
                 const int64_t run_id = integer_at(row, "run_id");
                 for (auto& run : cell->second.runs) run.earlier_version |= run.run_id == run_id;
               });
}

}  // namespace approx
