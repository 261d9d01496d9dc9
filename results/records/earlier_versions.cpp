#include "results/records/earlier_versions.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/params.h"
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

// Whether its method, or that of one of its rules, is one of these.
bool names_one(const RunConfig& config, const std::vector<std::string>& methods) {
  const auto is_one = [&](const std::string& text) {
    return !text.empty() && std::ranges::count(methods, parse_spec(text).name) > 0;
  };
  return is_one(config.method) || std::ranges::any_of(config.schedule, [&](const Rule& rule) {
           return is_one(rule.method);
         });
}

bool is_by_earlier_version(const Cell& cell, const std::string& dataset_sha256,
                           const Catalogue& catalogue) {
  const auto earlier = earlier_keys(cell.config, dataset_sha256, catalogue);
  return std::ranges::any_of(earlier, [&](const EarlierKey& each) {
    return each.other_version && each.key == cell.run_key;
  });
}

std::map<int64_t, std::string> dataset_digests(SQLite::Database& db) {
  std::map<int64_t, std::string> digests;
  for_each_row(db, "SELECT dataset_id, sha256 FROM dataset", [&](SQLite::Statement& row) {
    digests[integer_at(row, "dataset_id")] = text_at(row, "sha256");
  });
  return digests;
}

}  // namespace

void mark_earlier_versions(SQLite::Database& db, const Catalogue& catalogue,
                           std::map<int64_t, Cell>& cells) {
  const auto methods = methods_with_such(catalogue);
  if (methods.empty()) return;
  auto digests = dataset_digests(db);
  for (auto& [id, cell] : cells) {
    if (!names_one(cell.config, methods)) continue;  // hashing takes longer
    for (auto& run : cell.runs) {
      run.earlier_version = is_by_earlier_version(cell, digests[run.dataset_id], catalogue);
    }
  }
}

}  // namespace approx
