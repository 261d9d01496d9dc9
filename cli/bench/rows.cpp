#include "cli/bench/rows.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/numbers.h"
#include "cli/process/disturbance.h"
#include "core/config/dense.h"

namespace approx {
namespace {

Json shape_json(const ConvShape& shape) {
  Json json = {{"batch", shape.batch},     {"in_channels", shape.in_channels},
               {"size", shape.size},       {"out_channels", shape.out_channels},
               {"kernel", shape.kernel},   {"stride", shape.stride},
               {"padding", shape.padding}, {"groups", shape.groups}};
  if (const auto& origin = shape.recorded) {
    json["recorded"] = {{"run_key", origin->run_key}, {"network", origin->network},
                        {"method", origin->method},   {"layer", origin->layer},
                        {"step", origin->step},       {"epoch", origin->epoch}};
  }
  return json;
}

// Whether a GPU's calls are launched each by itself and not captured.
bool is_launched(const KernelSetting& setting) {
  return setting.device == name(DeviceKind::kCuda) && !setting.graphs;
}

// A number that JSON cannot hold goes beside its key into "special".
void set_number(Json& row, const char* key, double value) {
  row[key] = json_number(value);
  if (const auto special = special_name(value)) row["special"][key] = *special;
}

Json empty_row(const KernelCase& kernel, const BenchPlace& place) {
  const auto limit = [](double a_second) { return a_second > 0 ? Json(a_second / 1e9) : Json(); };
  Json shape = shape_json(kernel.shape);
  if (place.setting.cold) shape["cold"] = true;  // another case than that of warm caches
  if (is_launched(place.setting)) shape["launched"] = true;  // likewise
  Json row = {{"op", kernel.op},
              {"method", kernel.method},
              {"variant", kernel.variant},
              {"chosen", kernel.chosen},
              {"shape", shape},
              {"label", kernel.shape.label},
              {"precision", name(kernel.precision)},
              {"threads", place.setting.threads},
              {"device", place.setting.device},
              {"dense_flops", kernel.dense_flops},
              {"flops", kernel.flops},
              {"density", kernel.flops / kernel.dense_flops},
              {"bytes", kernel.bytes > 0 ? Json(kernel.bytes) : Json()},
              {"ceiling_gflops", limit(place.roofline.flops)},
              {"memory_gbs", limit(place.roofline.bytes)},
              {"ns", Json::array()},
              {"baseline_ns", Json::array()},
              {"baseline_variant", ""},
              {"verdict", "skipped"},
              {"reason", ""}};
  if (Json l2 = l2_json(place.roofline); !l2.is_null()) row["l2"] = std::move(l2);
  return row;
}

// Right before fast: whether the result is one that may be timed; else the row says why not.
bool passes_check(const KernelCase& kernel, Json& row) {
  const auto [absolute, relative] = kernel.check();
  set_number(row, "max_abs_error", absolute);
  set_number(row, "max_rel_error", relative);
  if (std::isfinite(absolute)) return true;
  row["reason"] = "its result is not finite";
  return false;
}

// What a row keeps of the device. Clocks that are not known of every repetition are left out.
void set_clocks(Json& row, const std::vector<double>& mhz, const std::vector<double>& baseline_mhz,
                const std::map<std::string, int64_t>& held_back) {
  const auto set = [&row](const char* key, const char* times, const std::vector<double>& clocks) {
    if (clocks.empty() || clocks.size() != row[times].size()) return;
    Json& khz = row[key] = Json::array();
    for (const double clock : clocks) khz.push_back(std::llround(1e3 * clock));
  };
  set("clock_khz", "ns", mhz);
  set("baseline_clock_khz", "baseline_ns", baseline_mhz);
  if (!held_back.empty()) row["held_back"] = held_back;
}

void set_times(Json& row, const std::vector<double>& ns, const std::vector<double>& baseline_ns,
               const Ratio& ratio, const BenchEffort& effort) {
  row["ns"] = ns;
  row["baseline_ns"] = baseline_ns;
  row["ratio"] = ratio.ratio;
  row["ratio_lo"] = ratio.lo ? Json(*ratio.lo) : Json(nullptr);
  row["ratio_hi"] = ratio.hi ? Json(*ratio.hi) : Json(nullptr);
  row["gflops"] = row["flops"].get<double>() / quantile(ns, 0.5);
  // A wide interval that excludes 1 still tells which is faster; the remark says how wide it is.
  row["verdict"] = verdict_of(ratio, effort.least_effect);
}

// What a reader of a verdict must know, after what disturbed it.
void add_reasons(std::vector<std::string>& reasons, const Ratio& ratio, const BenchEffort& effort) {
  if (const auto why = why_ambiguous(ratio, effort.least_effect); !why.empty()) {
    reasons.push_back(why);
  }
  if (ratio.lo && effort.least_effect != kLeastEffect) {
    reasons.push_back(fmt::format("--least-effect {:g} %", 100 * effort.least_effect));
  }
}

void add_remark(std::vector<std::string>& reasons, const KernelCase& kernel) {
  if (!kernel.remark) return;
  if (const auto remark = kernel.remark(); !remark.empty()) reasons.push_back(remark);
}

std::function<void()> complete(const KernelCase& kernel, const std::function<void()>& work) {
  return [&kernel, work] {
    work();
    if (kernel.wait) kernel.wait();
  };
}

// Why a case has no times. Without the device there are none for any other either.
void set_reason(Json& row, const Error& error) {
  if (error.kind() == ErrorKind::kDevice) throw error;
  row["reason"] = error.what();
}

// Fills the rows of the exact paths; returns the fastest.
const KernelCase& measure_exact(const std::vector<const KernelCase*>& paths,
                                std::vector<Json>& rows, const BenchEffort& effort) {
  std::vector<TimedCase> cases;
  std::vector<size_t> places;  // their rows
  for (size_t i = 0; i < paths.size(); ++i) {
    try {
      if (!passes_check(*paths[i], rows[i])) continue;
      cases.push_back(timed_case(*paths[i], effort));
      places.push_back(i);
    } catch (const Error& error) {
      set_reason(rows[i], error);
    }
  }
  if (cases.empty()) {
    throw Error(ErrorKind::kInternal, "the engine has no exact path for this shape");
  }
  const Disturbance disturbance;
  const auto measured = times_of(cases, std::max(effort.repetitions, effort.min_samples));
  const auto& times = measured.ns;
  const auto taints = disturbance.taints();
  const auto fastest =
      static_cast<size_t>(std::min_element(times.begin(), times.end(),
                                           [](const auto& a, const auto& b) {
                                             return quantile(a, 0.5) < quantile(b, 0.5);
                                           }) -
                          times.begin());
  for (size_t i = 0; i < times.size(); ++i) {
    Json& row = rows[places[i]];
    const Ratio ratio = i == fastest ? Ratio() : ratio_of_mirrored(times[fastest], times[i]);
    set_times(row, times[i], times[fastest], ratio, effort);
    set_clocks(row, measured.clock_mhz[i], measured.clock_mhz[fastest], measured.held_back);
    if (i == fastest) row["verdict"] = "same";  // as itself, without an interval
    row["baseline_variant"] = cases[fastest].kernel->variant;
    auto reasons = taints;
    add_reasons(reasons, ratio, effort);
    add_remark(reasons, *cases[i].kernel);
    row["reason"] = fmt::format("{}", fmt::join(reasons, "; "));
  }
  return *cases[fastest].kernel;
}

void measure_method(const KernelCase& baseline, const KernelCase& kernel, Json& row,
                    const BenchEffort& effort) {
  try {
    if (!passes_check(kernel, row)) return;
    const Disturbance disturbance;
    const PairTimes pairs = measure_pairs(baseline, kernel, effort);
    std::vector<std::string> reasons = disturbance.taints();
    add_reasons(reasons, pairs.ratio, effort);
    for (const auto& criterion : pairs.unmet) reasons.push_back("not met: " + criterion);
    if (kernel.plan)
      row["plan_ns"] = median_time(complete(kernel, kernel.plan), effort.repetitions);
    add_remark(reasons, kernel);
    set_times(row, pairs.ns, pairs.baseline_ns, pairs.ratio, effort);
    set_clocks(row, pairs.clock_mhz, pairs.baseline_clock_mhz, pairs.held_back);
    row["baseline_variant"] = baseline.variant;
    row["reason"] = fmt::format("{}", fmt::join(reasons, "; "));
  } catch (const Error& error) {
    set_reason(row, error);
  }
}

}  // namespace

Json l2_json(const Roofline& roofline) {
  if (!(roofline.l2_bytes > 0)) return nullptr;
  return {{"bytes", roofline.l2_size}, {"gbs", roofline.l2_bytes / 1e9}};
}

std::vector<Json> measure_cases(const std::vector<KernelCase>& cases, const BenchPlace& place,
                                const BenchEffort& effort,
                                const std::function<void(const KernelCase&)>& note) {
  std::vector<Json> rows;
  for (const auto& kernel : cases) rows.push_back(empty_row(kernel, place));
  std::vector<const KernelCase*> exact;
  for (const auto& kernel : cases) {
    if (is_dense(kernel.method)) exact.push_back(&kernel);  // they come first
  }
  if (!exact.empty()) note(*exact.front());
  const KernelCase& baseline = measure_exact(exact, rows, effort);
  for (size_t i = exact.size(); i < cases.size(); ++i) {
    note(cases[i]);
    measure_method(baseline, cases[i], rows[i], effort);
  }
  return rows;
}

}  // namespace approx
