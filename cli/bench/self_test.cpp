#include "cli/bench/self_test.h"

#include "base/error.h"
#include "cli/bench/shapes.h"
#include "results/render/column.h"

namespace approx {
namespace {

using SelfTestLine = std::pair<int64_t, FalseVerdicts>;

std::string share_text(int64_t part, int64_t whole) {
  const double percent =
      whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{} ({:.1f} %)", part, percent);
}

Columns<SelfTestLine> self_test_columns() {
  using Line = SelfTestLine;
  return {
      {.name = "threads",
       .header = "threads",
       .value = [](const Line& line) { return Field(line.first); }},
      {.name = "ratios",
       .header = "ratios of exact to exact",
       .value = [](const Line& line) { return Field(line.second.n); }},
      {.name = "false_verdicts",
       .header = "verdicts that are false",
       .value = [](const Line& line) { return Field(line.second.false_ones); },
       .text = [](const Line& line) { return share_text(line.second.false_ones, line.second.n); }},
      {.name = "intervals_without_1",
       .header = "intervals without 1",
       .value = [](const Line& line) { return Field(line.second.without_one); },
       .text = [](const Line& line) { return share_text(line.second.without_one, line.second.n); }},
      {.name = "passed", .header = "passed", .value = [](const Line& line) {
         return Field(std::string(line.second.passed() ? "yes" : "no"));
       }}};
}

}  // namespace

std::vector<ConvShape> self_test_shapes() {
  std::vector<ConvShape> shapes;
  for (const char* text :
       {"N8,C16,K16,H8,R3", "N8,C16,K32,H8,R3,S2", "N8,C32,K32,H8,R1", "N32,C64,K32,H1,R1"}) {
    shapes.push_back(parse_shape(text));
  }
  return shapes;
}

FalseVerdicts measure_false_verdicts(const std::vector<KernelCase>& exact, int64_t count,
                                     const BenchEffort& effort,
                                     const std::function<void(int64_t)>& note) {
  std::vector<Ratio> ratios;
  for (int64_t i = 0; i < count; ++i) {
    const KernelCase& kernel = exact[static_cast<size_t>(i) % exact.size()];
    ratios.push_back(measure_pairs(kernel, kernel, effort).ratio);
    note(i + 1);
  }
  return false_verdicts(ratios, effort.least_effect);
}

Table self_test_table(const std::vector<SelfTestLine>& by_threads) {
  Table table;
  table.name = "self-test";
  fill(table, self_test_columns(), by_threads);
  table.notes = {
      "a verdict is false if it says \"faster\" or \"slower\" of a product and itself; passed if "
      "at most 5 % are false"};
  return table;
}

}  // namespace approx
