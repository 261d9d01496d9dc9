#include "results/reports/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/numbers.h"
#include "results/reports/contents.h"
#include "results/reports/rows.h"
#include "results/store/database.h"

namespace approx {
namespace {

std::string shape_text(const std::string& label, const std::string& text) {
  if (!label.empty()) return label;
  const Json shape = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!shape.is_object()) return text;
  std::string out;
  for (const auto& [key, value] : shape.items()) {
    if (key != "label") out += (out.empty() ? "" : " ") + key + "=" + value.dump();
  }
  return out;
}

std::string number_text(const Field& value, const char* format) {
  if (const auto* real = std::get_if<double>(&value))
    return fmt::format(fmt::runtime(format), *real);
  return "–";
}

}  // namespace

Table report_kernels(const std::string& path) {
  Table table;
  table.name = "kernels";
  table.columns = {"op",
                   "shape",
                   "method",
                   "variant",
                   "device",
                   "precision",
                   "threads",
                   "n",
                   "ns_median",
                   "baseline_ns_median",
                   "gflops",
                   "speedup",
                   "speedup_lo",
                   "speedup_hi",
                   "plan_ns",
                   "max_abs_error",
                   "max_rel_error",
                   "verdict",
                   "reason",
                   "host"};
  table.text_columns = {"product", "shape",   "method",  "variant",        "on",
                        "µs",      "GFLOP/s", "speedup", "max rel. error", "verdict"};
  auto db = open_snapshot(path);
  for_each_row(
      db,
      "SELECT op, shape, method, variant, device, precision, threads, n, ns_median, "
      "baseline_ns_median, gflops, ratio, ratio_lo, ratio_hi, plan_ns, max_abs_error, "
      "max_rel_error, verdict, reason, hostname, special, label FROM v_kernel k JOIN host "
      "USING(host_id) "
      "WHERE kernel_run_id = (SELECT max(kernel_run_id) FROM v_kernel x WHERE x.op = k.op AND "
      "x.method = k.method AND x.variant = k.variant AND x.shape = k.shape AND "
      "x.precision = k.precision AND x.threads = k.threads AND x.device = k.device AND "
      "x.host_id = k.host_id) "
      "ORDER BY hostname, device, precision, threads, op, shape, method <> 'dense', method, "
      "variant",
      [&](SQLite::Statement& row) {
        const Json special = Json::parse(text_at(row, 20), nullptr, false);
        const auto real = [&](int at, const char* key) {
          if (const auto value = optional_real(row.getColumn(at))) return Field(*value);
          if (!special.is_object() || !special.contains(key) || !special[key].is_string()) {
            return Field();
          }
          return Field(special_value(special[key].get<std::string>()));
        };
        const std::vector<Field> numbers = {
            real(8, "ns_median"), real(9, "baseline_ns_median"), real(10, "gflops"),
            real(11, "ratio"),    real(12, "ratio_lo"),          real(13, "ratio_hi"),
            real(14, "plan_ns"),  real(15, "max_abs_error"),     real(16, "max_rel_error")};
        const std::string shape = shape_text(text_at(row, 21), text_at(row, 1));
        const int64_t threads = row.getColumn(6).getInt64();
        std::vector<Field> fields = {
            text_at(row, 0), shape,           text_at(row, 2), text_at(row, 3),
            text_at(row, 4), text_at(row, 5), threads,         row.getColumn(7).getInt64()};
        fields.insert(fields.end(), numbers.begin(), numbers.end());
        for (const int at : {17, 18, 19}) fields.emplace_back(text_at(row, at));
        table.rows.push_back(std::move(fields));

        Field us;
        if (const auto* ns = std::get_if<double>(&numbers[0])) us = *ns / 1e3;
        std::string speedup = number_text(numbers[3], "{:.2f}×");
        if (numbers[4].index() != 0 && numbers[5].index() != 0) {
          speedup += fmt::format(" [{}, {}]", number_text(numbers[4], "{:.2f}"),
                                 number_text(numbers[5], "{:.2f}"));
        }
        std::string verdict = text_at(row, 17);
        if (!text_at(row, 18).empty()) verdict += ": " + text_at(row, 18);
        table.text_rows.push_back(
            {text_at(row, 0), shape, text_at(row, 2), text_at(row, 3),
             fmt::format("{}, {}, {} {}, {}", text_at(row, 4), text_at(row, 5), threads,
                         threads == 1 ? "thread" : "threads", text_at(row, 19)),
             number_text(us, "{:.1f}"), number_text(numbers[2], "{:.1f}"), speedup,
             number_text(numbers[8], "{:.1e}"), verdict});
      });
  return table;
}

Table report_runs(const std::string& path, const ReportOptions& options) {
  Table table;
  table.name = "runs";
  table.columns = {
      "run",        "state",          "purpose",    "network",        "dataset",      "schedule",
      "method",     "seed",           "attempt",    "accuracy_pct",   "train_s",      "wall_s",
      "step_ms_q1", "step_ms_median", "step_ms_q3", "peak_rss_bytes", "timing_valid", "taint",
      "host",       "git_sha",        "dirty",      "started_utc",    "run_key",      "error"};
  table.text_columns = {"run",      "state",   "purpose", "network", "data set",
                        "schedule", "method",  "seed",    "attempt", "accuracy %",
                        "train s",  "step ms", "host",    "error"};
  auto db = open_snapshot(path);
  const std::string experiment = experiment_name(db, options.experiment);
  for_each_row(
      db,
      "SELECT r.run_id, r.state, c.purpose, m.network_label, c.dataset, m.schedule_label, "
      "m.method_label, c.seed, r.attempt, (SELECT 100 * value FROM metric x WHERE x.run_id = "
      "r.run_id "
      "AND name = 'accuracy' AND split = 'test' ORDER BY step DESC LIMIT 1), r.train_ns / 1e9, "
      "r.wall_ns / 1e9, r.step_ns_q1 / 1e6, r.step_ns_median / 1e6, r.step_ns_q3 / 1e6, "
      "r.peak_rss_bytes, r.timing_valid, r.taint, h.hostname, b.git_sha, b.dirty, r.started_utc, "
      "c.run_key, r.error FROM run r JOIN cell c USING(cell_id) JOIN host h USING(host_id) "
      "JOIN build b USING(build_id) JOIN experiment_cell m ON m.experiment_cell_id = "
      "(SELECT max(y.experiment_cell_id) FROM experiment_cell y JOIN experiment e "
      "USING(experiment_id) WHERE y.cell_id = c.cell_id AND (?1 = '' OR e.name = ?1)) "
      "ORDER BY r.run_id",
      [&](SQLite::Statement& row) {
        std::vector<Field> fields;
        for (int i = 0; i < row.getColumnCount(); ++i) {
          const auto column = row.getColumn(i);
          fields.push_back(column.isNull()      ? Field()
                           : column.isInteger() ? Field(column.getInt64())
                           : column.isFloat()   ? Field(column.getDouble())
                                                : Field(column.getString()));
        }
        std::string error = text_at(row, 23);
        if (error.size() > 80) {
          // Not inside a character: its further bytes in UTF-8 are 10xxxxxx.
          size_t end = 77;
          while (end > 0 && (static_cast<unsigned char>(error[end]) & 0xC0) == 0x80) --end;
          error = error.substr(0, end) + "...";
        }
        table.text_rows.push_back(
            {text_at(row, 0), text_at(row, 1), text_at(row, 2), text_at(row, 3), text_at(row, 4),
             text_at(row, 5), text_at(row, 6), text_at(row, 7), text_at(row, 8),
             number_text(fields[9], "{:.2f}"), number_text(fields[10], "{:.1f}"),
             number_text(fields[13], "{:.2f}"), text_at(row, 18), error});
        table.rows.push_back(std::move(fields));
      },
      experiment);
  return table;
}

Json run_details(const std::string& path, int64_t run_id) {
  auto db = open_snapshot(path);
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
    throw usage_error("no run {} in {}; `report runs` lists them", run_id, path);
  }
  Json run = runs[0];
  const Json config = take(run, "config"), environment = take(run, "environment");
  run["taint"] = take(run, "taint");
  return {
      {"schema", "approxtrain.run/1"},
      {"run", run},
      {"config", config},
      {"environment", environment},
      {"metrics", list("SELECT name, split, step, epoch, train_ns, value, special FROM metric "
                       "WHERE run_id = ? ORDER BY name, split, step")},
      {"layers", list("SELECT layer, product, method, calls, exact_calls, macs_dense, macs_done, "
                      "density FROM layer_metric WHERE run_id = ? ORDER BY layer, product")},
      {"blocks", list("SELECT pair, arm, block_order, steps, ns FROM timing_block "
                      "WHERE run_id = ? ORDER BY pair, block_order")}};
}

std::string render_run(const Json& details) {
  const auto text = [](const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float()) return shortest(value.get<double>());
    return value.is_null() ? "–" : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  const auto pairs = [&](const Json& object, const std::string& title) {
    Table table;
    table.title = title;
    table.text_columns = {"", ""};
    if (object.is_object()) {
      for (const auto& [key, value] : object.items()) {
        if (!value.is_null() && value != "") table.text_rows.push_back({key, text(value)});
      }
    }
    return render(table, "md") + "\n";
  };
  const auto list = [&](const Json& rows, const std::string& title,
                        const std::vector<std::string>& columns) {
    if (rows.empty()) return std::string();
    Table table;
    table.title = title;
    table.text_columns = columns;
    for (const auto& row : rows) {
      auto& texts = table.text_rows.emplace_back();
      for (const auto& column : columns) {
        const bool special = column == "value" && row.at(column).is_null();
        texts.push_back(text(row.at(special ? "special" : column)));
      }
    }
    return render(table, "md") + "\n";
  };
  std::string out =
      pairs(details.at("run"), fmt::format("Run {}", text(details.at("run").at("run_id")))) +
      pairs(details.at("config"), "Configuration") +
      pairs(details.at("environment"), "Environment") +
      list(details.at("metrics"), "Metrics",
           {"name", "split", "step", "epoch", "train_ns", "value"}) +
      list(details.at("layers"), "Layers",
           {"layer", "product", "method", "calls", "exact_calls", "macs_dense", "macs_done",
            "density"}) +
      list(details.at("blocks"), "Timing blocks", {"pair", "arm", "block_order", "steps", "ns"});
  out.pop_back();  // one empty line between sections, none at the end
  return out;
}

}  // namespace approx
