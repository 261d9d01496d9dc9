#include "results/records/kernels.h"

#include <cmath>
#include <map>
#include <utility>

#include "base/numbers.h"
#include "core/config/dense.h"
#include "results/records/sound_numbers.h"

namespace approx {
namespace {

// By the names that events and the store have for them.
constexpr std::pair<const char*, std::string KernelLine::*> kTexts[] = {
    {"op", &KernelLine::op},
    {"label", &KernelLine::label},
    {"method", &KernelLine::method},
    {"variant", &KernelLine::variant},
    {"device", &KernelLine::device},
    {"precision", &KernelLine::precision},
    {"verdict", &KernelLine::verdict},
    {"reason", &KernelLine::reason},
    {"baseline_variant", &KernelLine::baseline_variant}};
constexpr std::pair<const char*, std::optional<double> KernelLine::*> kNumbers[] = {
    {"gflops", &KernelLine::gflops},
    {"ratio", &KernelLine::ratio},
    {"ratio_lo", &KernelLine::ratio_lo},
    {"ratio_hi", &KernelLine::ratio_hi},
    {"plan_ns", &KernelLine::plan_ns},
    {"max_abs_error", &KernelLine::max_abs_error},
    {"max_rel_error", &KernelLine::max_rel_error},
    {"dense_flops", &KernelLine::dense_flops},
    {"density", &KernelLine::density},
    {"ceiling_gflops", &KernelLine::ceiling_gflops},
    {"bytes", &KernelLine::bytes},
    {"memory_gbs", &KernelLine::memory_gbs}};

Json parsed(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// The value of a key of an object; nothing where it has none of that type.
template <typename T>
std::optional<T> value_in(const Json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto it = object.find(key);
  if (it == object.end()) return std::nullopt;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!it->is_string()) return std::nullopt;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    if (!holds_whole<int64_t>(*it)) return std::nullopt;
  } else {
    if (!it->is_number()) return std::nullopt;
  }
  return it->get<T>();
}

// A number that is not finite is null in its place and named in `special`.
std::optional<double> special_in(const Json& special, const char* key) {
  const auto name = value_in<std::string>(special, key);
  return name ? std::optional(special_value(*name)) : std::nullopt;
}

// Takes what has the same names in an event and in the store: `text` and `number` give what stands
// under a name.
void take_named(const auto& text, const auto& number, const Json& special, KernelLine& line) {
  for (const auto& [name, member] : kTexts) line.*member = text(name);
  for (const auto& [name, member] : kNumbers) {
    line.*member = number(name);
    if (!(line.*member)) line.*member = special_in(special, name);
  }
}

void take_shape(Json shape, KernelLine& line) {
  line.shape = std::move(shape);
  if (!line.shape.is_object()) return;
  line.cold = line.shape.contains("cold");
  line.launched = line.shape.contains("launched");
  line.recorded = line.shape.contains("recorded");
  if (!line.recorded) return;
  const Json& training = line.shape["recorded"];
  line.run_key = value_in<std::string>(training, "run_key");
  line.trained_by = value_in<std::string>(training, "method");
  line.step = value_in<int64_t>(training, "step");
  line.epoch = value_in<double>(training, "epoch");
}

std::optional<double> finite(const std::optional<double>& number) {
  return number && std::isfinite(*number) ? number : std::nullopt;
}

}  // namespace

std::optional<L2> l2_of(const Json& json) {
  const Json l2 = json.is_object() ? json.value("l2", Json()) : Json();
  const L2 found{.bytes = value_in<double>(l2, "bytes").value_or(0),
                 .gbs = value_in<double>(l2, "gbs").value_or(0)};
  return found.bytes > 0 && found.gbs > 0 ? std::optional(found) : std::nullopt;
}

std::optional<MemoryLimit> memory_limit(std::optional<double> bytes, bool cold,
                                        std::optional<double> memory_gbs,
                                        const std::optional<L2>& l2) {
  if (!bytes) return std::nullopt;
  if (l2 && !cold && *bytes <= l2->bytes) {
    return MemoryLimit{.level = MemoryLevel::kL2, .gbs = l2->gbs};
  }
  if (!memory_gbs || !(*memory_gbs > 0)) return std::nullopt;
  return MemoryLimit{.level = MemoryLevel::kMemory, .gbs = *memory_gbs};
}

double share_of(const MemoryLimit& limit, double bytes, double ns) {
  return bytes / ns / limit.gbs;  // bytes in a nanosecond are gigabytes in a second
}

std::string KernelLine::shape_name() const {
  if (!label.empty()) return label;
  if (!shape.is_object()) return shape_text;
  std::string out;
  for (const auto& [key, value] : shape.items()) {
    if (key != "label") out += (out.empty() ? "" : " ") + key + "=" + value.dump();
  }
  return out;
}

std::optional<MemoryLimit> KernelLine::memory_limit() const {
  return approx::memory_limit(bytes, cold, memory_gbs, l2);
}

bool KernelLine::approximates() const { return !is_dense(method); }

bool KernelLine::is_baseline() const {
  return is_dense(method) && !baseline_variant.empty() && variant == baseline_variant;
}

bool KernelLine::loses() const {
  return chosen.value_or(false) && ratio && *ratio < 1 - kLeastEffect;
}

std::optional<Ratio> KernelLine::speedup() const {
  if (!approximates() || !finite(ratio)) return std::nullopt;
  return sound_ratio({n, *ratio, finite(ratio_lo), finite(ratio_hi)}, {"kernel run", run_id});
}

KernelLine kernel_line(const Json& row) {
  KernelLine line;
  take_named([&](const char* name) { return row.value(name, std::string()); },
             [&](const char* name) { return value_in<double>(row, name); },
             row.value("special", Json::object()), line);
  const auto median = [&](const char* key) -> std::optional<double> {
    auto times = row.value(key, std::vector<double>());
    return times.empty() ? std::nullopt : std::optional(quantile(std::move(times), 0.5));
  };
  line.ns = median("ns"), line.baseline_ns = median("baseline_ns");
  line.n = static_cast<int64_t>(row.value("ns", Json::array()).size());
  const auto clock = [&](const char* key) -> std::optional<double> {
    const auto khz = median(key);
    return khz ? std::optional(1e-3 * *khz) : std::nullopt;
  };
  line.clock_mhz = clock("clock_khz"), line.baseline_clock_mhz = clock("baseline_clock_khz");
  line.held_back = row.value("held_back", line.held_back);
  line.threads = row.value("threads", line.threads);
  if (row.contains("chosen")) line.chosen = row["chosen"].get<bool>();
  take_shape(row.value("shape", Json::object()), line);
  line.l2 = l2_of(row);
  return line;
}

std::vector<KernelLine> read_kernels(SQLite::Database& db) {
  std::map<int64_t, std::optional<L2>> l2;  // by run
  for_each_row(db, "SELECT kernel_run_id, environment FROM kernel_run",
               [&](SQLite::Statement& row) {
                 l2[integer_at(row, "kernel_run_id")] = l2_of(parsed(text_at(row, "environment")));
               });
  std::vector<KernelLine> lines;
  for_each_row(db,
               "SELECT v_kernel.*, hostname FROM v_kernel JOIN host USING(host_id) "
               "ORDER BY kernel_case_id, kernel_run_id",
               [&](SQLite::Statement& row) {
                 KernelLine& line = lines.emplace_back();
                 line.run_id = integer_at(row, "kernel_run_id");
                 line.case_id = integer_at(row, "kernel_case_id");
                 line.host_id = integer_at(row, "host_id");
                 line.experiment = text_at(row, "experiment");
                 line.host = text_at(row, "hostname");
                 for (const auto& [column, member] : kTexts) line.*member = text_at(row, column);
                 const Json special = parsed(text_at(row, "special"));
                 for (const auto& [column, member] : kNumbers) {
                   line.*member = optional_real(row.getColumn(column));
                   if (!(line.*member)) line.*member = special_in(special, column);
                 }
                 line.ns = optional_real(row.getColumn("ns_median"));
                 line.baseline_ns = optional_real(row.getColumn("baseline_ns_median"));
                 line.clock_mhz = optional_real(row.getColumn("clock_mhz"));
                 line.baseline_clock_mhz = optional_real(row.getColumn("baseline_clock_mhz"));
                 line.held_back = parsed(text_at(row, "held_back"));
                 line.n = integer_at(row, "n");
                 line.threads = integer_at(row, "threads");
                 if (!row.getColumn("chosen").isNull()) line.chosen = flag_at(row, "chosen");
                 line.shape_text = text_at(row, "shape");
                 take_shape(parsed(line.shape_text), line);
                 line.l2 = l2[line.run_id];
               });
  return lines;
}

}  // namespace approx
