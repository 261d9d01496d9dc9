#include "results/store/item_rows.h"

#include "results/stats/stats.h"
#include "results/store/json_values.h"
#include "results/store/origin.h"

namespace approx {
namespace {

// The median and quartiles of nanoseconds, nothing of none.
struct TimeSummary {
  std::optional<double> median, q1, q3;
};

TimeSummary summary_of(const std::vector<int64_t>& ns) {
  if (ns.empty()) return {};
  const auto quarters = quartiles({ns.begin(), ns.end()});
  return {quarters.median, quarters.q1, quarters.q3};
}

// The numbers of a row. One that is not finite is no value, and named in special().
class RowNumbers {
 public:
  explicit RowNumbers(const Json& row) : row_(row) {}

  std::optional<double> operator()(const char* key) {
    const auto it = row_.find(key);
    if (it == row_.end()) return std::nullopt;
    const auto given = row_.find("special");
    const bool marked = given != row_.end() && given->is_object() && given->contains(key);
    if (it->is_null() && !marked) return std::nullopt;
    const StoredNumber number = to_number(*it, marked ? (*given)[key] : Json(nullptr));
    if (number.special) special_[key] = *number.special;
    return number.value;
  }

  const Json& special() const { return special_; }

 private:
  const Json& row_;
  Json special_ = Json::object();
};

// Finds or adds what was measured.
int64_t kernel_case_id(SQLite::Database& db, const Json& row, const Json& shape) {
  const std::string op = text_or(row, "op", ""), method = text_or(row, "method", ""),
                    variant = text_or(row, "variant", ""), shape_column = json_text(shape),
                    precision = text_or(row, "precision", "fp32"),
                    device = text_or(row, "device", "cpu");
  const int64_t threads = integer_or_none(row, "threads").value_or(1);
  execute(db,
          "INSERT INTO kernel_case(op, method, variant, shape, precision, threads, device) "
          "VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
          op, method, variant, shape_column, precision, threads, device);
  int64_t id = 0;
  for_each_row(
      db,
      "SELECT kernel_case_id FROM kernel_case WHERE op = ? AND method = ? AND variant = ? AND "
      "shape = ? AND precision = ? AND threads = ? AND device = ?",
      [&](SQLite::Statement& found) { id = found.getColumn(0).getInt64(); }, op, method, variant,
      shape_column, precision, threads, device);
  return id;
}

// 1 or 0, nothing where the row does not say.
std::optional<int64_t> flag_or_none(const Json& row, const char* key) {
  const auto it = row.find(key);
  if (it == row.end() || !it->is_boolean()) return std::nullopt;
  return it->get<bool>() ? 1 : 0;
}

void write_kernel_row(SQLite::Database& db, int64_t kernel_run_id, const Json& row) {
  const Json shape = row.value("shape", Json::object());
  const int64_t kernel_case = kernel_case_id(db, row, shape);
  const auto ns = times_of(row, "ns"), baseline_ns = times_of(row, "baseline_ns");
  const auto times = summary_of(ns), baseline = summary_of(baseline_ns);
  RowNumbers number(row);
  const auto ratio = number("ratio"), ratio_lo = number("ratio_lo"), ratio_hi = number("ratio_hi"),
             gflops = number("gflops"), dense_flops = number("dense_flops"),
             flops = number("flops"), plan_ns = number("plan_ns"),
             max_abs_error = number("max_abs_error"), max_rel_error = number("max_rel_error"),
             density = number("density"), ceiling_gflops = number("ceiling_gflops"),
             bytes = number("bytes"), memory_gbs = number("memory_gbs");
  execute(db,
          "INSERT OR REPLACE INTO kernel_result(kernel_run_id, kernel_case_id, n, ns_median, "
          "ns_q1, ns_q3, ns, baseline_n, baseline_ns_median, baseline_ns, ratio, ratio_lo, "
          "ratio_hi, gflops, dense_flops, flops, plan_ns, max_abs_error, max_rel_error, "
          "special, verdict, reason, label, baseline_variant, chosen, density, ceiling_gflops, "
          "bytes, memory_gbs) "
          "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
          "?, ?)",
          kernel_run_id, kernel_case, ns.size(), times.median, times.q1, times.q3, to_blob(ns),
          baseline_ns.size(), baseline.median, to_blob(baseline_ns), ratio, ratio_lo, ratio_hi,
          gflops, dense_flops, flops, plan_ns, max_abs_error, max_rel_error,
          json_text(number.special()), text_or(row, "verdict", "ambiguous"),
          text_or(row, "reason", ""), text_or(row, "label", text_or(shape, "label", "")),
          text_or(row, "baseline_variant", ""), flag_or_none(row, "chosen"), density,
          ceiling_gflops, bytes, memory_gbs);
}

}  // namespace

void write_study(SQLite::Database& db, const Stamp& stamp, const Json& environment,
                 const StudyRecord& study) {
  execute(db,
          "INSERT INTO study_run(experiment, name, params, methods, host_id, build_id, "
          "started_utc, environment, content, uid) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
          study.experiment, study.name, json_text(study.params), json_text(study.methods),
          host_id(db, environment), build_id(db, environment), stamp.utc,
          environment_column(environment), json_text(study.content), stamp.uid);
}

void write_kernel_results(SQLite::Database& db, const Stamp& stamp, const Json& environment,
                          const std::vector<Json>& rows, const std::string& experiment) {
  execute(db,
          "INSERT INTO kernel_run(host_id, build_id, started_utc, environment, experiment, uid) "
          "VALUES(?, ?, ?, ?, ?, ?)",
          host_id(db, environment), build_id(db, environment), stamp.utc,
          environment_column(environment), experiment, stamp.uid);
  const int64_t kernel_run_id = db.getLastInsertRowid();
  for (const auto& row : rows) write_kernel_row(db, kernel_run_id, row);
}

}  // namespace approx
