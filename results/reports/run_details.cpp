#include "results/reports/run_details.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace approx {
namespace {

// What a run has several of.
struct RunList {
  const char *key, *title, *columns, *rest;
};

constexpr RunList kLists[] = {
    {"metrics", "Metrics", "name,split,step,epoch,train_ns,value,special",
     "metric WHERE run_id = ? ORDER BY name, split, step"},
    {"layers", "Layers", "layer,product,method,calls,exact_calls,macs_dense,macs_done,density",
     "layer_metric WHERE run_id = ? ORDER BY layer, product"},
    {"variants", "Variants", "layer,product,plan,variant,calls",
     "layer_variant WHERE run_id = ? ORDER BY layer, product, calls DESC, plan, variant"},
    {"traffic", "Traffic", "layer,calls,bytes,bytes_dense",
     "layer_traffic WHERE run_id = ? ORDER BY layer"},
    {"blocks", "Timing blocks",
     "pair,arm,block_order,steps,ns,repeats,core_share,clock_mhz,slowed_by",
     "timing_block WHERE run_id = ? ORDER BY pair, block_order"}};

}  // namespace

Json run_details(const Snapshot& snapshot, int64_t run_id) {
  auto& db = snapshot.db();
  // A row as an object; JSON columns are parsed, raw samples left out.
  const auto object = [](SQLite::Statement& row) {
    Json json = Json::object();
    for (int i = 0; i < row.getColumnCount(); ++i) {
      const auto column = row.getColumn(i);
      if (column.isBlob()) continue;
      const std::string name = column.getName();
      if (column.isNull()) {
        json[name] = nullptr;
      } else if (column.isInteger()) {
        json[name] = column.getInt64();
      } else if (column.isFloat()) {
        json[name] = column.getDouble();
      } else {
        json[name] = column.getString();
      }
    }
    return json;
  };
  const auto list = [&](const std::string& sql) {
    Json rows = Json::array();
    for_each_row(
        db, sql, [&](SQLite::Statement& row) { rows.push_back(object(row)); }, run_id);
    return rows;
  };
  const auto take = [](Json& from, const char* key) {
    Json value = Json::parse(from[key].get<std::string>(), nullptr, /*allow_exceptions=*/false);
    from.erase(key);
    return value.is_discarded() ? Json(nullptr) : value;
  };
  Json runs = list(
      "SELECT r.*, c.run_key, c.purpose, c.method, c.network, c.dataset, c.seed, c.config, "
      "h.hostname, h.cpu_model, h.gpu_model, b.git_sha, b.dirty, b.compiler, b.torch, "
      "d.sha256 AS dataset_sha256, d.lossy AS dataset_lossy FROM run r JOIN cell c USING(cell_id) "
      "JOIN host h USING(host_id) JOIN build b USING(build_id) LEFT JOIN dataset d "
      "USING(dataset_id) WHERE r.run_id = ?");
  if (runs.empty()) {
    throw usage_error("no run {} in {}; `report runs` lists them", run_id, snapshot.path());
  }
  Json run = runs[0];
  const Json config = take(run, "config"), environment = take(run, "environment");
  run["taint"] = take(run, "taint");
  Json details = {{"schema", "approxtrain.run/1"},
                  {"run", run},
                  {"config", config},
                  {"environment", environment}};
  for (const auto& [key, title, columns, rest] : kLists) {
    details[key] = list(fmt::format("SELECT {} FROM {}", columns, rest));
  }
  return details;
}

std::vector<Table> run_tables(const Json& details) {
  const auto text = [](const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float()) return shortest(value.get<double>());
    return value.is_null() ? "–" : json_text(value);
  };
  std::vector<Table> tables;
  const auto add_pairs = [&](const Json& object, std::string title) {
    Table& table = tables.emplace_back(Table{.title = std::move(title)});
    table.text_columns = table.screen.results = {"", ""};
    if (!object.is_object()) return;
    for (const auto& [key, value] : object.items()) {
      if (!value.is_null() && value != Json("")) table.text_rows.push_back({key, text(value)});
    }
  };
  add_pairs(details.at("run"), fmt::format("Run {}", text(details.at("run").at("run_id"))));
  add_pairs(details.at("config"), "Configuration");
  add_pairs(details.at("environment"), "Environment");
  for (const auto& [key, title, columns, rest] : kLists) {
    const Json& rows = details.at(key);
    if (rows.empty()) continue;
    Table& table = tables.emplace_back(Table{.title = title});
    for (const auto column : split(columns, ",")) {
      if (column != "special") table.text_columns.emplace_back(column);  // in place of its value
    }
    for (const auto& row : rows) {
      auto& texts = table.text_rows.emplace_back();
      for (const auto& column : table.text_columns) {
        const bool special = column == "value" && row.at(column).is_null();
        texts.push_back(text(row.at(special ? "special" : column)));
      }
    }
  }
  return tables;
}

}  // namespace approx
