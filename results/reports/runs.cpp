// The runs themselves, before anything is made of them.
#include <algorithm>

#include "results/records/contents.h"
#include "results/render/column.h"
#include "results/reports/report.h"
#include "results/store/database.h"

namespace approx {
namespace {

using Fields = std::vector<Field>;

// The start of a long message.
std::string shortened_text(const Field& field) {
  constexpr size_t kLongest = 80;
  std::string text = text_of(field);
  if (text.size() <= kLongest) return text;
  size_t end = kLongest - 3;
  // Not inside a character: its further bytes in UTF-8 are 10xxxxxx.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string one_decimal(const Field& field) { return number_text(field, "{:.1f}"); }
std::string two_decimals(const Field& field) { return number_text(field, "{:.2f}"); }

std::string images_text(const Field& field) {
  return field == Field(int64_t{0}) ? "all" : text_of(field);
}

// A column and the expression that it is read by. People see a setting where the runs differ in it.
struct RunColumn {
  const char* name;
  const char* expression;
  const char* header = "";
  std::string (*text)(const Field&) = text_of;
  bool setting = false;
};

constexpr RunColumn kRunColumns[] = {
    {"run", "r.run_id", "run"},
    {"state", "r.state"},
    {"",
     "CASE WHEN c.purpose = 'timing' AND r.state = 'finished' AND r.timing_valid = 0 THEN "
     "'finished, tainted' WHEN r.ended_by <> '' THEN r.state || ', ' || r.ended_by ELSE r.state "
     "END",
     "state"},
    {"purpose", "c.purpose", "purpose"},
    {"network", "m.network_label", "network"},
    {"dataset", "c.dataset", "data set"},
    {"schedule", "m.schedule_label", "schedule"},
    {"method", "m.method_label", "method"},
    {"learning_rate", "json_extract(c.recipe, '$.learning_rate')", "rate", text_of, true},
    {"epochs", "json_extract(c.recipe, '$.epochs')", "epochs", text_of, true},
    {"train_examples", "c.train_examples", "images", images_text, true},
    {"split", "c.split", "split", text_of, true},
    {"batch_size", "c.batch_size", "batch", text_of, true},
    {"precision", "c.precision", "precision", text_of, true},
    {"device", "c.device", "device", text_of, true},
    {"threads", "c.threads", "threads", text_of, true},
    {"seed", "c.seed", "seed"},
    {"attempt", "r.attempt", "attempt"},
    {"accuracy_pct",
     "(SELECT 100 * value FROM metric x WHERE x.run_id = r.run_id AND name = 'accuracy' AND "
     "split = 'test' ORDER BY step DESC LIMIT 1)",
     "accuracy %", two_decimals},
    {"train_s", "r.train_ns / 1e9", "train s", one_decimal},
    {"wall_s", "r.wall_ns / 1e9"},
    {"start_s", "r.start_ns / 1e9"},
    {"warmup_s", "r.warmup_ns / 1e9"},
    {"eval_s", "r.eval_ns / 1e9"},
    {"aside_s", "r.aside_ns / 1e9"},
    {"step_ms_q1", "r.step_ns_q1 / 1e6"},
    {"step_ms_median", "r.step_ns_median / 1e6", "step ms", two_decimals},
    {"step_ms_q3", "r.step_ns_q3 / 1e6"},
    {"peak_rss_bytes", "r.peak_rss_bytes"},
    {"timing_valid", "r.timing_valid"},
    {"taint", "r.taint"},
    {"host", "h.hostname", "host"},
    {"cpu", "h.cpu_model"},
    {"git_sha", "b.git_sha"},
    {"dirty", "b.dirty"},
    {"lossy_data",
     "coalesce((SELECT d.lossy FROM dataset d WHERE d.dataset_id = r.dataset_id), 0)"},
    {"ended_by", "r.ended_by"},
    {"started_utc", "r.started_utc"},
    {"run_key", "c.run_key"},
    {"error", "r.error", "error", shortened_text},
};

Fields fields_of(SQLite::Statement& row) {
  Fields fields;
  for (int i = 0; i < row.getColumnCount(); ++i) {
    const auto column = row.getColumn(i);
    fields.push_back(column.isNull()      ? Field()
                     : column.isInteger() ? Field(column.getInt64())
                     : column.isFloat()   ? Field(column.getDouble())
                                          : Field(column.getString()));
  }
  return fields;
}

// One row for each attempt at a run, with the settings of its cell; people see those of them in
// which the runs differ. All others are in `approxtrain show`.
Table report_runs(const Snapshot& snapshot, const ReportOptions& options) {
  std::vector<std::string> expressions;
  for (const auto& each : kRunColumns) expressions.emplace_back(each.expression);
  std::vector<Fields> lines;
  // Labels are those of the experiment that named the cell last.
  for_each_row(
      snapshot.db(),
      fmt::format("SELECT {} FROM run r JOIN cell c USING(cell_id) JOIN host h USING(host_id) "
                  "JOIN build b USING(build_id) JOIN experiment_cell m ON m.experiment_cell_id = "
                  "(SELECT max(y.experiment_cell_id) FROM experiment_cell y JOIN experiment e "
                  "USING(experiment_id) WHERE y.cell_id = c.cell_id AND (?1 = '' OR e.name = ?1)) "
                  "ORDER BY r.run_id",
                  fmt::join(expressions, ", ")),
      [&](SQLite::Statement& row) { lines.push_back(fields_of(row)); },
      experiment_name(snapshot.db(), options.experiment));
  Columns<Fields> columns;
  for (const auto& each : kRunColumns) {
    const size_t at = columns.size();
    const bool differ = std::any_of(lines.begin(), lines.end(), [&](const Fields& line) {
      return line[at] != lines.front()[at];
    });
    columns.push_back({.name = each.name,
                       .header = each.header,
                       .value = [at](const Fields& fields) { return fields[at]; },
                       .text = [at, &each](const Fields& fields) { return each.text(fields[at]); },
                       .shown = !each.setting || differ});
  }
  return table_of("", columns, lines);
}

REGISTER_REPORT("runs", report_runs)
    .at(8)
    .about("Every attempt at every run")
    .made_of("runs (train, sweep)");

}  // namespace
}  // namespace approx
