// added-report: how many seeds of each method are finished.
#include "results/render/column.h"
#include "results/reports/report.h"
#include "results/rows/rows.h"

namespace approx {
namespace {

Table added_report(const Snapshot& snapshot, const ReportOptions& options) {
  const RowSet set(snapshot, options);
  const Columns<Row> columns = {
      {.name = "method",
       .header = "method",
       .value = [](const Row& row) { return Field(row.first->method_label); }},
      {.name = "seeds", .header = "finished", .value = [](const Row& row) {
         return Field(row.finished);
       }}};
  Table table;
  table.name = "added";
  fill(table, columns, set.rows());
  return table;
}

REGISTER_REPORT("added-report", added_report).about("Finished seeds of each method");

}  // namespace
}  // namespace approx
