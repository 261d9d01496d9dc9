// Kernel benchmarks: one product of one layer's shape at a time, exact against approximated.
#include "base/error.h"
#include "base/numbers.h"
#include "results/reports/report.h"
#include "results/rows/kernel_lines.h"
#include "results/store/database.h"

namespace approx {
namespace {

// The shape as an object, or the text of the column where that is none.
std::string stored_shape_text(const std::string& label, const Json& shape,
                              const std::string& text) {
  return shape.is_object() || !label.empty() ? kernel_shape_text(label, shape) : text;
}

KernelLine read_line(SQLite::Statement& row) {
  const auto text = [&](const char* name) { return row.getColumn(name).getString(); };
  // A number that is not finite is null in its column and named in `special`.
  const Json special = Json::parse(text("special"), nullptr, /*allow_exceptions=*/false);
  const auto real = [&](const char* name) {
    if (const auto value = optional_real(row.getColumn(name))) return Field(*value);
    if (!special.is_object() || !special.contains(name) || !special[name].is_string()) {
      return Field();
    }
    return Field(special_value(special[name].get<std::string>()));
  };
  const Json shape = Json::parse(text("shape"), nullptr, /*allow_exceptions=*/false);
  KernelLine line{.op = text("op"),
                  .shape = stored_shape_text(text("label"), shape, text("shape")),
                  .method = text("method"),
                  .variant = text("variant"),
                  .device = text("device"),
                  .precision = text("precision"),
                  .verdict = text("verdict"),
                  .reason = text("reason"),
                  .host = text("hostname"),
                  .baseline_variant = text("baseline_variant"),
                  .threads = row.getColumn("threads").getInt64(),
                  .n = row.getColumn("n").getInt64(),
                  .ns = real("ns_median"),
                  .baseline_ns = real("baseline_ns_median"),
                  .gflops = real("gflops"),
                  .ratio = real("ratio"),
                  .ratio_lo = real("ratio_lo"),
                  .ratio_hi = real("ratio_hi"),
                  .plan_ns = real("plan_ns"),
                  .max_abs_error = real("max_abs_error"),
                  .max_rel_error = real("max_rel_error"),
                  .dense_flops = real("dense_flops"),
                  .density = real("density"),
                  .ceiling_gflops = real("ceiling_gflops"),
                  .bytes = real("bytes"),
                  .memory_gbs = real("memory_gbs"),
                  .chosen = field(optional_integer(row.getColumn("chosen"))),
                  .run_key = {},
                  .trained_by = {},
                  .step = {},
                  .epoch = {}};
  line.take_origin(shape);
  line.l2 = l2_of(Json::parse(text("environment"), nullptr, /*allow_exceptions=*/false));
  return line;
}

// One row for each kernel case and machine: its last benchmark. The options have no meaning
// here.
Table report_kernels(const Snapshot& snapshot, const ReportOptions& /*options*/) {
  std::vector<KernelLine> lines;
  for_each_row(
      snapshot.db(),
      // Recorded operands behind random ones, in the order in which they were measured.
      fmt::format(
          "SELECT k.*, hostname, r.environment FROM v_kernel k JOIN host USING(host_id) "
          "JOIN kernel_run r ON r.kernel_run_id = k.kernel_run_id "
          "WHERE k.kernel_run_id = (SELECT max(kernel_run_id) FROM v_kernel x WHERE x.op = k.op "
          "AND "
          "x.method = k.method AND x.variant = k.variant AND x.shape = k.shape AND "
          "x.precision = k.precision AND x.threads = k.threads AND x.device = k.device AND "
          "x.host_id = k.host_id) "
          "ORDER BY hostname, device, precision, threads, op, "
          "CASE WHEN {} THEN NULL ELSE kernel_case_id END, shape, method <> 'dense', method, "
          "variant",
          kRandomOperands),
      [&](SQLite::Statement& row) { lines.push_back(read_line(row)); });
  Table table = kernel_table(lines);
  table.notes = kernel_notes(lines);
  return table;
}

REGISTER_REPORT("kernels", report_kernels)
    .at(9)
    .about("Kernel benchmarks: the last of each case")
    .made_of("kernel benchmarks (bench-kernel)")
    .drawn_by("kernels")
    .of_the_store();

}  // namespace
}  // namespace approx
