#include "results/reports/kernels.h"

#include "base/numbers.h"
#include "results/render/column.h"
#include "results/reports/report.h"
#include "results/store/database.h"

namespace approx {
namespace {

struct KernelLine {
  std::string op, shape, method, variant, device, precision, verdict, reason, host;
  int64_t threads = 0, n = 0;
  // Numbers, or nothing.
  Field ns, baseline_ns, gflops, ratio, ratio_lo, ratio_hi, plan_ns, max_abs_error, max_rel_error;
};

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
  return {.op = text("op"),
          .shape = shape_text(text("label"), text("shape")),
          .method = text("method"),
          .variant = text("variant"),
          .device = text("device"),
          .precision = text("precision"),
          .verdict = text("verdict"),
          .reason = text("reason"),
          .host = text("hostname"),
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
          .max_rel_error = real("max_rel_error")};
}

std::string microseconds_text(const KernelLine& line) {
  const auto* ns = std::get_if<double>(&line.ns);
  return number_text(ns != nullptr ? Field(*ns / 1e3) : Field(), "{:.1f}");
}

std::string speedup_text(const KernelLine& line) {
  std::string text = number_text(line.ratio, "{:.2f}×");
  if (line.ratio_lo.index() != 0 && line.ratio_hi.index() != 0) {
    text += fmt::format(" [{}, {}]", number_text(line.ratio_lo, "{:.2f}"),
                        number_text(line.ratio_hi, "{:.2f}"));
  }
  return text;
}

const Columns<KernelLine>& kernel_columns() {
  static const Columns<KernelLine> columns = {
      {.name = "op", .header = "product", .value = &KernelLine::op},
      {.name = "shape", .header = "shape", .value = &KernelLine::shape},
      {.name = "method", .header = "method", .value = &KernelLine::method},
      {.name = "variant", .header = "variant", .value = &KernelLine::variant},
      {.name = "device",
       .header = "on",
       .value = &KernelLine::device,
       .text =
           [](const KernelLine& line) {
             return fmt::format("{}, {}, {} {}, {}", line.device, line.precision, line.threads,
                                line.threads == 1 ? "thread" : "threads", line.host);
           }},
      {.name = "precision", .value = &KernelLine::precision},
      {.name = "threads", .value = &KernelLine::threads},
      {.name = "n", .value = &KernelLine::n},
      {.name = "ns_median", .header = "µs", .value = &KernelLine::ns, .text = microseconds_text},
      {.name = "baseline_ns_median", .value = &KernelLine::baseline_ns},
      {.name = "gflops",
       .header = "GFLOP/s",
       .value = &KernelLine::gflops,
       .text = [](const KernelLine& line) { return number_text(line.gflops, "{:.1f}"); }},
      {.name = "speedup", .header = "speedup", .value = &KernelLine::ratio, .text = speedup_text},
      {.name = "speedup_lo", .value = &KernelLine::ratio_lo},
      {.name = "speedup_hi", .value = &KernelLine::ratio_hi},
      {.name = "plan_ns", .value = &KernelLine::plan_ns},
      {.name = "max_abs_error", .value = &KernelLine::max_abs_error},
      {.name = "max_rel_error",
       .header = "max rel. error",
       .value = &KernelLine::max_rel_error,
       .text = [](const KernelLine& line) { return number_text(line.max_rel_error, "{:.1e}"); }},
      {.name = "verdict",
       .header = "verdict",
       .value = &KernelLine::verdict,
       .text =
           [](const KernelLine& line) {
             return line.reason.empty() ? line.verdict : line.verdict + ": " + line.reason;
           }},
      {.name = "reason", .value = &KernelLine::reason},
      {.name = "host", .value = &KernelLine::host}};
  return columns;
}

}  // namespace

Table report_kernels(const std::string& path, const ReportOptions& /*options*/) {
  std::vector<KernelLine> lines;
  auto db = open_snapshot(path);
  for_each_row(
      db,
      "SELECT k.*, hostname FROM v_kernel k JOIN host USING(host_id) "
      "WHERE kernel_run_id = (SELECT max(kernel_run_id) FROM v_kernel x WHERE x.op = k.op AND "
      "x.method = k.method AND x.variant = k.variant AND x.shape = k.shape AND "
      "x.precision = k.precision AND x.threads = k.threads AND x.device = k.device AND "
      "x.host_id = k.host_id) "
      "ORDER BY hostname, device, precision, threads, op, shape, method <> 'dense', method, "
      "variant",
      [&](SQLite::Statement& row) { lines.push_back(read_line(row)); });
  Table table;
  table.name = "kernels";
  fill(table, kernel_columns(), lines);
  return table;
}

REGISTER_REPORT("kernels", report_kernels)
    .at(9)
    .about("Kernel benchmarks: the last of each case")
    .drawn_by("kernels")
    .of_the_store();

}  // namespace approx
