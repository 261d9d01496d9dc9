#include "results/rows/kernel_lines.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "core/config/dense.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

std::optional<double> real_of(const Field& field) {
  const auto* real = std::get_if<double>(&field);
  return real != nullptr ? std::optional(*real) : std::nullopt;
}

// dividend / divisor, nothing where one of them is nothing.
Field quotient(const Field& dividend, const Field& divisor, double unit = 1) {
  const auto above = real_of(dividend), below = real_of(divisor);
  return above && below && *below > 0 ? Field(unit * *above / *below) : Field();
}

// Of the exact path: flops in a nanosecond.
Field baseline_gflops(const KernelLine& line) {
  return quotient(line.dense_flops, line.baseline_ns);
}

Field ceiling_percent(const KernelLine& line) {
  return quotient(line.gflops, line.ceiling_gflops, 100);
}

// Bytes in a nanosecond.
Field gigabytes(const KernelLine& line) { return quotient(line.bytes, line.ns); }

// Of the memory by which it is limited.
Field limit_gigabytes(const KernelLine& line) {
  const auto limit = line.memory_limit();
  return limit ? Field(limit->gbs) : line.memory_gbs;
}

Field memory_percent(const KernelLine& line) {
  return quotient(gigabytes(line), limit_gigabytes(line), 100);
}

// Which memory that is, where there is more than one.
Field memory_level(const KernelLine& line) {
  const auto limit = line.memory_limit();
  return limit && line.l2 ? Field(std::string(name(limit->level))) : Field();
}

std::string memory_text(const KernelLine& line) {
  const auto share = number_text(memory_percent(line), "{:.0f} %");
  return memory_level(line).index() == 0 ? share : share + " of " + text_of(memory_level(line));
}

// Of what a product with so many multiply-adds and bytes could reach: the limit that it is nearer
// to.
Field roofline_percent(const KernelLine& line) {
  const auto cores = real_of(ceiling_percent(line)), memory = real_of(memory_percent(line));
  if (!cores || !memory) return {};
  return std::max(*cores, *memory);
}

auto microseconds(Field KernelLine::*member) {
  return [member](const KernelLine& line) {
    const auto ns = real_of(line.*member);
    return number_text(ns ? Field(*ns / 1e3) : Field(), "{:.1f}");
  };
}

template <typename Value>
auto number(Value value, const char* format) {
  return [value, format](const KernelLine& line) {
    return number_text(std::invoke(value, line), format);
  };
}

std::string place_text(const KernelLine& line) {
  std::string text = fmt::format("{}, {}, {} {}", line.device, line.precision, line.threads,
                                 line.threads == 1 ? "thread" : "threads");
  if (line.cold) text += ", cold";
  if (line.launched) text += ", launched";
  return line.host.empty() ? text : text + ", " + line.host;
}

bool is_recorded(const KernelLine& line) { return line.run_key.index() != 0; }

Field operands_of(const KernelLine& line) {
  return std::string(is_recorded(line) ? "recorded" : "random");
}

// Which recording, as `report runs` and the names of its files have it.
std::string operands_text(const KernelLine& line) {
  if (!is_recorded(line)) return "random";
  return "recorded in " + text_of(line.run_key).substr(0, 12);
}

std::string chosen_text(const KernelLine& line) {
  const auto* chosen = std::get_if<int64_t>(&line.chosen);
  if (chosen == nullptr) return "–";
  return *chosen != 0 ? "yes" : "no";
}

std::string speedup_text(const KernelLine& line) {
  std::string text = number_text(line.ratio, "{:.2f}×");
  if (line.ratio_lo.index() != 0 && line.ratio_hi.index() != 0) {
    text += fmt::format(" [{}, {}]", number_text(line.ratio_lo, "{:.2f}"),
                        number_text(line.ratio_hi, "{:.2f}"));
  }
  return text;
}

std::string verdict_text(const KernelLine& line) {
  std::vector<std::string> remarks;
  if (line.is_baseline()) remarks.emplace_back("the fastest exact path");
  if (line.loses()) remarks.emplace_back("chosen, but slower than dense by more than 2 %");
  if (!line.reason.empty()) remarks.push_back(line.reason);
  if (remarks.empty()) return line.verdict;
  return fmt::format("{}: {}", line.verdict, fmt::join(remarks, "; "));
}

// Whether something is known of it in any line.
template <typename Value>
bool known_anywhere(const std::vector<KernelLine>& lines, Value value) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const KernelLine& line) { return std::invoke(value, line).index() != 0; });
}

Columns<KernelLine> kernel_columns(const std::vector<KernelLine>& lines) {
  using Line = KernelLine;
  const bool recorded = std::ranges::any_of(lines, is_recorded);
  return {
      {.name = "op", .header = "product", .value = &Line::op},
      {.name = "shape", .header = "shape", .value = &Line::shape},
      {.name = "operands",
       .header = "operands",
       .value = operands_of,
       .text = operands_text,
       .shown = recorded},
      {.name = "epoch",
       .header = "epoch",
       .value = &Line::epoch,
       .text = number(&Line::epoch, "{:g}"),
       .shown = recorded},
      {.name = "step", .value = &Line::step},
      {.name = "run_key", .value = &Line::run_key},
      {.name = "trained_by", .value = &Line::trained_by},
      {.name = "method", .header = "method", .value = &Line::method},
      {.name = "variant", .header = "variant", .value = &Line::variant},
      {.name = "chosen",
       .header = "chosen",
       .value = &Line::chosen,
       .text = chosen_text,
       .shown = known_anywhere(lines, &Line::chosen)},
      {.name = "device", .header = "on", .value = &Line::device, .text = place_text},
      {.name = "precision", .value = &Line::precision},
      {.name = "threads", .value = &Line::threads},
      {.name = "caches",
       .value = [](const Line& line) { return Field(std::string(line.cold ? "cold" : "warm")); }},
      {.name = "n", .value = &Line::n},
      {.name = "density",
       .header = "density",
       .value = &Line::density,
       .text = number(&Line::density, "{:.3f}"),
       .shown = known_anywhere(lines, &Line::density)},
      {.name = "ns_median", .header = "µs", .value = &Line::ns, .text = microseconds(&Line::ns)},
      {.name = "baseline_ns_median",
       .header = "exact µs",
       .value = &Line::baseline_ns,
       .text = microseconds(&Line::baseline_ns)},
      {.name = "baseline_variant", .value = &Line::baseline_variant},
      {.name = "plan_ns",
       .header = "choosing µs",
       .value = &Line::plan_ns,
       .text = microseconds(&Line::plan_ns),
       .shown = known_anywhere(lines, &Line::plan_ns)},
      {.name = "gflops",
       .header = "GFLOP/s",
       .value = &Line::gflops,
       .text = number(&Line::gflops, "{:.1f}")},
      {.name = "ceiling_gflops", .value = &Line::ceiling_gflops},
      {.name = "ceiling_pct",
       .header = "of ceiling",
       .value = ceiling_percent,
       .text = number(ceiling_percent, "{:.0f} %"),
       .shown = known_anywhere(lines, ceiling_percent)},
      {.name = "gb_per_s",
       .header = "GB/s",
       .value = gigabytes,
       .text = number(gigabytes, "{:.1f}"),
       .shown = known_anywhere(lines, gigabytes)},
      {.name = "memory_gb_per_s", .value = limit_gigabytes},
      {.name = "memory_level", .value = memory_level},
      {.name = "memory_pct",
       .header = "of memory",
       .value = memory_percent,
       .text = memory_text,
       .shown = known_anywhere(lines, memory_level)},
      {.name = "roofline_pct",
       .header = "of roofline",
       .value = roofline_percent,
       .text = number(roofline_percent, "{:.0f} %"),
       .shown = known_anywhere(lines, roofline_percent)},
      {.name = "baseline_gflops",
       .header = "exact GFLOP/s",
       .value = baseline_gflops,
       .text = number(baseline_gflops, "{:.1f}"),
       .shown = known_anywhere(lines, baseline_gflops)},
      {.name = "speedup", .header = "speedup", .value = &Line::ratio, .text = speedup_text},
      {.name = "speedup_lo", .value = &Line::ratio_lo},
      {.name = "speedup_hi", .value = &Line::ratio_hi},
      {.name = "max_abs_error", .value = &Line::max_abs_error},
      {.name = "max_rel_error",
       .header = "max rel. error",
       .value = &Line::max_rel_error,
       .text = number(&Line::max_rel_error, "{:.1e}")},
      {.name = "verdict", .header = "verdict", .value = &Line::verdict, .text = verdict_text},
      {.name = "chosen_loses",
       .value = [](const Line& line) { return Field(int64_t{line.loses()}); }},
      {.name = "reason", .value = &Line::reason},
      {.name = "host", .value = &Line::host}};
}

}  // namespace

std::optional<MemoryLimit> KernelLine::memory_limit() const {
  return approx::memory_limit(real_of(bytes), cold, real_of(memory_gbs), l2);
}

bool KernelLine::is_baseline() const {
  return is_dense(method) && !baseline_variant.empty() && variant == baseline_variant;
}

bool KernelLine::loses() const {
  const auto* taken = std::get_if<int64_t>(&chosen);
  const auto speed = real_of(ratio);
  return taken != nullptr && *taken != 0 && speed && *speed < 1 - kLeastEffect;
}

void KernelLine::take_origin(const Json& shape) {
  if (!shape.is_object()) return;
  cold = shape.contains("cold");
  launched = shape.contains("launched");
  const auto found = shape.find("recorded");
  if (found == shape.end() || !found->is_object()) return;
  const auto text = [&](const char* key) {
    const auto it = found->find(key);
    return it != found->end() && it->is_string() ? Field(it->get<std::string>()) : Field();
  };
  run_key = text("run_key");
  trained_by = text("method");
  if (const auto it = found->find("step"); it != found->end() && holds_whole<int64_t>(*it)) {
    step = it->get<int64_t>();
  }
  if (const auto it = found->find("epoch"); it != found->end() && it->is_number()) {
    epoch = it->get<double>();
  }
}

KernelLine kernel_line(const Json& row) {
  const auto text = [&](const char* key) { return row.value(key, std::string()); };
  const auto special = row.value("special", Json::object());
  const auto real = [&](const char* key) {
    const auto it = row.find(key);
    if (it != row.end() && it->is_number()) return Field(it->get<double>());
    return special.contains(key) ? Field(special_value(special[key].get<std::string>())) : Field();
  };
  const auto median = [&](const char* key) {
    auto times = row.value(key, std::vector<double>());
    return times.empty() ? Field() : Field(quantile(std::move(times), 0.5));
  };
  KernelLine line{.op = text("op"),
                  .shape = kernel_shape_text(text("label"), row.value("shape", Json::object())),
                  .method = text("method"),
                  .variant = text("variant"),
                  .device = text("device"),
                  .precision = text("precision"),
                  .verdict = text("verdict"),
                  .reason = text("reason"),
                  .host = {},
                  .baseline_variant = text("baseline_variant"),
                  .threads = row.value("threads", int64_t{1}),
                  .n = static_cast<int64_t>(row.value("ns", Json::array()).size()),
                  .ns = median("ns"),
                  .baseline_ns = median("baseline_ns"),
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
                  .chosen = {},
                  .run_key = {},
                  .trained_by = {},
                  .step = {},
                  .epoch = {}};
  line.take_origin(row.value("shape", Json::object()));
  line.l2 = l2_of(row);
  if (row.contains("chosen")) line.chosen = int64_t{row["chosen"].get<bool>()};
  return line;
}

Table kernel_table(const std::vector<KernelLine>& lines) {
  Table table;
  table.name = "kernels";
  fill(table, kernel_columns(lines), lines);
  return table;
}

std::vector<std::string> kernel_notes(const std::vector<KernelLine>& lines) {
  std::vector<std::string> notes;
  if (known_anywhere(lines, ceiling_percent)) {
    std::string note =
        "of ceiling: the share of the rate of multiply-adds in registers of so many threads, on a "
        "GPU of that of a large matrix product";
    if (known_anywhere(lines, memory_level)) {
      note += "; of memory: of the rate of a copy in the memory that limits it";
    }
    if (known_anywhere(lines, roofline_percent)) {
      note += "; of roofline: the larger of the shares of the ceiling and of the rate of a copy";
    }
    notes.push_back(std::move(note));
  }
  if (known_anywhere(lines, &KernelLine::ratio_lo)) {
    notes.emplace_back(
        "[ ]: 95 % intervals, each of one process: they say nothing of the next one, and within 4 "
        "% of 1 a speedup is no evidence");
  }
  return notes;
}

std::string kernel_shape_text(const std::string& label, const Json& shape) {
  if (!label.empty()) return label;
  std::string out;
  for (const auto& [key, value] : shape.items()) {
    if (key != "label") out += (out.empty() ? "" : " ") + key + "=" + value.dump();
  }
  return out;
}

}  // namespace approx
