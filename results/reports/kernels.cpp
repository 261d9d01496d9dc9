// Kernel benchmarks: one product of one layer's shape at a time, exact against approximated.
#include "results/reports/kernels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "results/reports/report.h"
#include "results/rows/row_columns.h"

namespace approx {
namespace {

using Number = std::optional<double>;

// dividend / divisor, nothing where one of them is nothing.
Number quotient(const Number& dividend, const Number& divisor, double unit = 1) {
  return dividend && divisor && *divisor > 0 ? Number(unit * *dividend / *divisor) : Number();
}

// Of the exact path: flops in a nanosecond.
Number baseline_gflops(const KernelLine& line) {
  return quotient(line.dense_flops, line.baseline_ns);
}

Number ceiling_percent(const KernelLine& line) {
  return quotient(line.gflops, line.ceiling_gflops, 100);
}

// Bytes in a nanosecond.
Number gigabytes(const KernelLine& line) { return quotient(line.bytes, line.ns); }

// Of the memory by which it is limited.
Number limit_gigabytes(const KernelLine& line) {
  const auto limit = line.memory_limit();
  return limit ? Number(limit->gbs) : line.memory_gbs;
}

Number memory_percent(const KernelLine& line) {
  return quotient(gigabytes(line), limit_gigabytes(line), 100);
}

// Which memory that is, where there is more than one.
std::optional<MemoryLevel> memory_level(const KernelLine& line) {
  const auto limit = line.memory_limit();
  return limit && line.l2 ? std::optional(limit->level) : std::nullopt;
}

std::string memory_text(const KernelLine& line) {
  const auto share = number_text(field(memory_percent(line)), "{:.0f} %");
  const auto level = memory_level(line);
  return level ? fmt::format("{} of {}", share, name(*level)) : share;
}

// Of what a product with so many multiply-adds and bytes could reach: the limit that it is nearer
// to.
Number roofline_percent(const KernelLine& line) {
  const auto cores = ceiling_percent(line), memory = memory_percent(line);
  return cores && memory ? std::max(cores, memory) : Number();
}

std::string place_text(const KernelLine& line) {
  std::string text = fmt::format("{}, {}, {} {}", line.device, line.precision, line.threads,
                                 line.threads == 1 ? "thread" : "threads");
  if (line.cold) text += ", cold";
  if (line.launched) text += ", launched";
  return line.host.empty() ? text : text + ", " + line.host;
}

bool is_recorded(const KernelLine& line) { return line.run_key.has_value(); }

// Which recording, as `report runs` and the names of its files have it.
std::string operands_text(const KernelLine& line) {
  return line.run_key ? "recorded in " + line.run_key->substr(0, 12) : "random";
}

// "heat: 3 repetitions", "" where none was left out.
std::string held_back_text(const KernelLine& line) {
  std::vector<std::string> texts;
  if (!line.held_back.is_object()) return "";
  for (const auto& [reason, repetitions] : line.held_back.items()) {
    texts.push_back(fmt::format("{}: {}", reason, repetitions.dump()));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string chosen_text(const KernelLine& line) {
  if (!line.chosen) return "–";
  return *line.chosen ? "yes" : "no";
}

std::string speedup_text(const KernelLine& line) {
  std::string text = number_text(field(line.ratio), "{:.2f}×");
  if (line.ratio_lo && line.ratio_hi) {
    text += fmt::format(" [{:.2f}, {:.2f}]", *line.ratio_lo, *line.ratio_hi);
  }
  return text;
}

std::string verdict_text(const KernelLine& line) {
  std::vector<std::string> remarks;
  if (line.is_baseline()) remarks.emplace_back("the fastest exact path");
  if (line.loses()) remarks.emplace_back("chosen, but slower than dense by more than 2 %");
  if (!line.reason.empty()) remarks.push_back(line.reason);
  if (const auto held_back = held_back_text(line); !held_back.empty()) {
    remarks.push_back(fmt::format("left out repetitions, held back by {}", held_back));
  }
  if (remarks.empty()) return line.verdict;
  return fmt::format("{}: {}", line.verdict, fmt::join(remarks, "; "));
}

// Whether something is known of it in any line.
template <typename Value>
bool known_anywhere(const std::vector<KernelLine>& lines, Value value) {
  return std::ranges::any_of(
      lines, [&](const KernelLine& line) { return std::invoke(value, line).has_value(); });
}

Columns<KernelLine> kernel_columns(const std::vector<KernelLine>& lines) {
  using Line = KernelLine;
  const bool recorded = std::ranges::any_of(lines, is_recorded);
  // Shown where something is known of it in any line.
  const auto if_known = [&](Column<Line> column, auto of) {
    column.shown = known_anywhere(lines, of);
    return column;
  };
  const auto known_number = [&](const char* name, const char* header, auto of, const char* format) {
    return if_known(number_column<Line>(name, header, of, format), of);
  };
  const auto time = [](const char* name, const char* header, Number Line::*ns) {
    const auto us = [ns](const Line& line) { return quotient(line.*ns, 1e3); };
    return Column<Line>{name, header, via(ns), number_column<Line>("", "", us, "{:.1f}").text};
  };
  const auto origin = [](const Line& line) { return is_recorded(line) ? "recorded" : "random"; };
  auto epoch = number_column<Line>("epoch", "epoch", &Line::epoch, "{:g}");
  epoch.shown = recorded;
  return {{.name = "op", .header = "product", .value = &Line::op},
          {.name = "shape", .header = "shape", .value = &Line::shape_name},
          {"operands", "operands", origin, operands_text, recorded},
          epoch,
          {.name = "step", .value = via(&Line::step)},
          {.name = "run_key", .value = via(&Line::run_key)},
          {.name = "trained_by", .value = via(&Line::trained_by)},
          {.name = "method", .header = "method", .value = &Line::method},
          {.name = "variant", .header = "variant", .value = &Line::variant},
          if_known({"chosen", "chosen", via(&Line::chosen), chosen_text}, &Line::chosen),
          {.name = "device", .header = "on", .value = &Line::device, .text = place_text},
          {.name = "precision", .value = &Line::precision},
          {.name = "threads", .value = &Line::threads},
          {.name = "caches", .value = [](const Line& line) { return line.cold ? "cold" : "warm"; }},
          {.name = "n", .value = &Line::n},
          known_number("clock_mhz", "MHz", &Line::clock_mhz, "{:.0f}"),
          {.name = "baseline_clock_mhz", .value = via(&Line::baseline_clock_mhz)},
          known_number("density", "density", &Line::density, "{:.3f}"),
          time("ns_median", "µs", &Line::ns),
          time("baseline_ns_median", "exact µs", &Line::baseline_ns),
          {.name = "baseline_variant", .value = &Line::baseline_variant},
          if_known(time("plan_ns", "choosing µs", &Line::plan_ns), &Line::plan_ns),
          number_column<Line>("gflops", "GFLOP/s", &Line::gflops, "{:.1f}"),
          {.name = "ceiling_gflops", .value = via(&Line::ceiling_gflops)},
          known_number("ceiling_pct", "of ceiling", ceiling_percent, "{:.0f} %"),
          known_number("gb_per_s", "GB/s", gigabytes, "{:.1f}"),
          {.name = "memory_gb_per_s", .value = via(limit_gigabytes)},
          {.name = "memory_level", .value = via(memory_level)},
          if_known({"memory_pct", "of memory", via(memory_percent), memory_text}, memory_level),
          known_number("roofline_pct", "of roofline", roofline_percent, "{:.0f} %"),
          known_number("baseline_gflops", "exact GFLOP/s", baseline_gflops, "{:.1f}"),
          {"speedup", "speedup", via(&Line::ratio), speedup_text},
          {.name = "speedup_lo", .value = via(&Line::ratio_lo)},
          {.name = "speedup_hi", .value = via(&Line::ratio_hi)},
          {.name = "max_abs_error", .value = via(&Line::max_abs_error)},
          number_column<Line>("max_rel_error", "max rel. error", &Line::max_rel_error, "{:.1e}"),
          {.name = "verdict", .header = "verdict", .value = &Line::verdict, .text = verdict_text},
          {.name = "chosen_loses", .value = via(&Line::loses)},
          {.name = "reason", .value = &Line::reason},
          {.name = "held_back", .value = held_back_text},
          {.name = "host", .value = &Line::host}};
}

// What the columns are, for people: of those that the table has.
std::vector<std::string> kernel_notes(const std::vector<KernelLine>& lines) {
  std::vector<std::string> notes;
  if (known_anywhere(lines, ceiling_percent)) {
    notes.emplace_back(
        "of ceiling: the share of the rate of multiply-adds in registers, with as many threads. On "
        "a GPU it is the share of the rate of a large matrix product");
    if (known_anywhere(lines, memory_level)) {
      notes.emplace_back("of memory: the share of the rate of a copy in the memory that limits it");
    }
    if (known_anywhere(lines, roofline_percent)) {
      notes.emplace_back(
          "of roofline: the larger of the shares of the ceiling and of the rate of a copy");
    }
  }
  if (known_anywhere(lines, &KernelLine::clock_mhz)) {
    notes.emplace_back(
        "MHz: the median clock between repetitions, of the core that starts the calls or of the "
        "GPU's multiprocessors");
  }
  if (known_anywhere(lines, &KernelLine::ratio_lo)) {
    notes.emplace_back(
        "[ ]: 95 % intervals of one process each. They say nothing about another process, and a "
        "speedup within 4 % of 1 is no evidence");
  }
  return notes;
}

// One row for each kernel case and machine: its last benchmark. Recorded operands stand behind
// random ones, in the order in which they were measured. The options have no meaning here.
Table report_kernels(const Snapshot& snapshot, const ReportOptions& /*options*/) {
  std::map<std::pair<int64_t, int64_t>, const KernelLine*> last;
  for (const auto& line : snapshot.kernels()) last[{line.case_id, line.host_id}] = &line;
  std::vector<KernelLine> lines;
  for (const auto& [of, line] : last) lines.push_back(*line);
  std::ranges::stable_sort(lines, {}, [](const KernelLine& line) {
    return std::tuple(line.host, line.device, line.precision, line.threads, line.op,
                      line.is_usual() ? 0 : line.case_id, line.shape_text, line.approximates(),
                      line.method, line.variant);
  });
  Table table = kernel_table(lines);
  table.notes = kernel_notes(lines);
  return table;
}

REGISTER_REPORT("kernels", report_kernels)
    .at(9)
    .without_images()
    .about("Kernel benchmarks: the newest result of each case")
    .made_of("kernel benchmarks (bench-kernel)")
    .drawn_by("kernels")
    .of_the_store();

}  // namespace

Table kernel_table(const std::vector<KernelLine>& lines) {
  Table table = table_of("", kernel_columns(lines), lines);
  table.name = "kernels";
  return table;
}

}  // namespace approx
