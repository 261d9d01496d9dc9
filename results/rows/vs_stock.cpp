// Of rows the speedup over a stock step (results/rows/rows.h).
#include <algorithm>
#include <set>

#include "results/rows/rows.h"

namespace approx {
namespace {

constexpr const char* kNoStock = "no timing with operators = library of this step on this machine";

// The network whose exact step a row's speedup is over.
const std::string& exact_network(const Row& row) {
  for (const auto* cell : row.cells) {
    if (row.notes[kOtherNetwork] && !cell->config.timed_against.empty())
      return cell->config.timed_against;
  }
  return row.first->config.network;
}

// Whether a row's speedup is over the exact step that a stock one was held against.
bool same_exact_step(const Row& row, const Row& stock) {
  const RunConfig &a = row.first->config, &b = stock.first->config;
  return exact_network(row) == b.network && a.dataset == b.dataset &&
         a.batch_size == b.batch_size && a.precision == b.precision && a.threads == b.threads &&
         a.device == b.device && a.recipe.image_size == b.recipe.image_size &&
         a.recipe.optimizer == b.recipe.optimizer;
}

// Whether LibTorch's own operators computed it.
bool is_stock(const Row& row) { return row.first->config.operators == OperatorSet::kLibrary; }

std::set<int64_t> hosts_of(const CellRuns& runs) {
  std::set<int64_t> hosts;
  for (const auto& [cell, run] : runs) hosts.insert(run->host_id);
  return hosts;
}

}  // namespace

// (exact / method) / (exact / stock): two timings against the same exact step, each in processes of
// its own.
void RowSet::judge_stock(Row& row) const {
  if (is_stock(row)) {
    row.no_vs_stock = "it is the stock step itself";
    return;
  }
  // The exact step stands at 1 over itself, whether or not that was timed.
  const bool is_exact = is_dense(*row.first) && !row.notes[kOtherNetwork];
  if (!is_exact && row.speedup.n == 0) {
    row.no_vs_stock = "its speed was not measured";
    return;
  }
  const auto runs = is_exact ? accuracy_runs(row, /*diverged=*/true) : row.timings;
  const auto hosts = hosts_of(runs);
  for (const auto& stock : rows_) {
    if (!is_stock(stock) || stock.speedup.n == 0 || !same_exact_step(row, stock)) continue;
    if (hosts.size() != 1 || hosts != hosts_of(stock.timings)) continue;
    const Ratio itself{stock.speedup.n, 1, 1.0, 1.0};
    row.vs_stock = ratio_of_ratios(is_exact ? itself : row.speedup, stock.speedup);
    if (is_exact) return;
    for (const auto& [cell, run] : runs) {
      row.notes[kStockBuild] |= std::ranges::any_of(
          stock.timings, [&](const CellRun& of) { return !same_build(*run, *of.run); });
    }
    return;
  }
  row.no_vs_stock = kNoStock;
}

bool RowSet::has_stock() const {
  return std::ranges::any_of(rows_, [](const Row& row) { return row.vs_stock.n > 0; });
}

std::string RowSet::stock_note() const {
  const bool any = std::ranges::any_of(rows_, [](const Row& row) { return row.speedup.n > 0; });
  if (!any) return "";
  const std::string exact =
      "speedup vs exact: over this program's best exact step, which has kernels of its own; ";
  return exact + "vs stock: " +
         (has_stock() ? "over a step of LibTorch's own operators alone, as PyTorch computes it"
                      : kNoStock);
}

}  // namespace approx
