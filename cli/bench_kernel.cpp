// bench-kernel: one product of one layer shape, exact against approximated.
//
// Measured by Google Benchmark as a library. Its own random interleaving
// shuffles the repetitions of all benchmarks together, which keeps drift from
// one side but leaves no two repetitions that belong to each other. A ratio
// with an interval needs pairs, so each repetition is registered as a benchmark
// of its own, in alternating order (exact, approximated; approximated, exact;
// ...), with a number of iterations fixed beforehand.
#include "cli/bench_kernel.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "cli/command.h"
#include "cli/engine_loader.h"
#include "cli/environment.h"
#include "cli/flags.h"
#include "cli/shapes.h"
#include "cli/store.h"
#include "cli/sweep/timing_lock.h"
#include "cli/text.h"
#include "results/render/text_table.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

using Clock = std::chrono::steady_clock;

// Rounds of repetitions that noise may ask for.
constexpr int kMostRounds = 5;

struct BenchFlags {
  std::string op = "weight_gradient", shapes, device = "cpu", format = "md";
  std::vector<std::string> shape_texts;
  std::string methods;
  int64_t threads = 1, repetitions = 20;
  Nanoseconds min_time = std::chrono::milliseconds(20);
  double max_noise = 5;
  bool no_store = false;
  bool quiet = false;              // print no table
  std::string experiment;          // the id of the one that asks for it
  std::vector<std::string> files;  // of that experiment
};

// Keeps the time of each benchmark by its name, and prints nothing.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& run : runs) {
      const std::string& name = run.run_name.function_name;
      if (run.error_occurred) {
        errors[name] = run.error_message;
      } else if (run.iterations > 0) {
        ns[name] = 1e9 * run.real_accumulated_time / static_cast<double>(run.iterations);
      }
    }
  }

  std::map<std::string, double> ns;  // of one iteration
  std::map<std::string, std::string> errors;
};

void run_state(benchmark::State& state, const std::function<void()>& work) {
  try {
    for ([[maybe_unused]] auto _ : state) work();
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Iterations that take at least `min_time`, after a first call that warms
// caches up.
int64_t iterations(const std::function<void()>& work, Nanoseconds min_time) {
  work();
  const double once = std::max(std::min(seconds_of(work), seconds_of(work)), 1e-8);
  const double wanted = std::chrono::duration<double>(min_time).count() / once;
  return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(wanted)), 1, 1'000'000);
}

// Appends pairs of times of one call, exact and approximated.
void measure_pairs(const KernelCase& exact, const KernelCase& approximated,
                   int64_t exact_iterations, int64_t approximated_iterations, int64_t pairs,
                   std::vector<double>& baseline_ns, std::vector<double>& ns) {
  benchmark::ClearRegisteredBenchmarks();
  const auto add = [](const std::string& name, const KernelCase& kernel, int64_t count) {
    benchmark::RegisterBenchmark(name.c_str(), run_state, kernel.run)
        ->Iterations(count)
        ->UseRealTime();
  };
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const auto add_exact = [&] { add(fmt::format("e{}", pair), exact, exact_iterations); };
    if (pair % 2 == 0) add_exact();
    add(fmt::format("a{}", pair), approximated, approximated_iterations);
    if (pair % 2 == 1) add_exact();
  }
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  if (!collector.errors.empty()) {
    throw Error(ErrorKind::kInternal, printable(collector.errors.begin()->second));
  }
  for (int64_t pair = 0; pair < pairs; ++pair) {
    baseline_ns.push_back(collector.ns.at(fmt::format("e{}", pair)));
    ns.push_back(collector.ns.at(fmt::format("a{}", pair)));
  }
}

std::string verdict_of(const Ratio& ratio) {
  switch (speed_change(ratio)) {
    case SpeedChange::kFaster:
      return "faster";
    case SpeedChange::kSlower:
      return "slower";
    case SpeedChange::kSame:
      return "same";
    case SpeedChange::kUndecided:
      break;
  }
  return "ambiguous";
}

Json shape_json(const ConvShape& shape) {
  return {{"batch", shape.batch},     {"in_channels", shape.in_channels},
          {"size", shape.size},       {"out_channels", shape.out_channels},
          {"kernel", shape.kernel},   {"stride", shape.stride},
          {"padding", shape.padding}, {"groups", shape.groups}};
}

double plan_time(const KernelCase& kernel, int64_t repetitions) {
  kernel.plan();
  std::vector<double> times;
  for (int64_t i = 0; i < repetitions; ++i) times.push_back(1e9 * seconds_of(kernel.plan));
  return quantile(times, 0.5);
}

// A number that JSON cannot hold goes beside its key into "special".
void set_number(Json& row, const char* key, double value) {
  row[key] = json_number(value);
  if (const auto special = special_name(value)) row["special"][key] = *special;
}

Json measure(const KernelCase& exact, const KernelCase& kernel, const BenchFlags& flags) {
  Json row = {{"op", kernel.op},
              {"method", kernel.method},
              {"variant", kernel.variant},
              {"shape", shape_json(kernel.shape)},
              {"label", kernel.shape.label},
              {"precision", "fp32"},
              {"threads", flags.threads},
              {"device", flags.device},
              {"dense_flops", kernel.dense_flops},
              {"flops", kernel.flops},
              {"reason", ""}};
  try {
    // Right before fast: a wrong result is not timed.
    const auto [absolute, relative] = kernel.check();
    set_number(row, "max_abs_error", absolute);
    set_number(row, "max_rel_error", relative);
    if (!std::isfinite(absolute)) {
      row["verdict"] = "skipped";
      row["reason"] = "its result is not finite";
      row["ns"] = row["baseline_ns"] = Json::array();
      return row;
    }
    const Disturbance disturbance;
    const int64_t exact_iterations = iterations(exact.run, flags.min_time);
    const int64_t own_iterations = iterations(kernel.run, flags.min_time);
    std::vector<double> baseline_ns, ns;
    Ratio ratio;
    double noise = 0;
    for (int round = 0; round < kMostRounds; ++round) {
      measure_pairs(exact, kernel, exact_iterations, own_iterations, flags.repetitions, baseline_ns,
                    ns);
      ratio = ratio_of_pairs(baseline_ns, ns);
      noise = ratio.hi ? 50 * std::log(*ratio.hi / *ratio.lo) : 0;
      if (!ratio.hi || noise <= flags.max_noise) break;
    }
    std::vector<std::string> reasons = disturbance.taints();
    if (noise > flags.max_noise) {
      reasons.push_back(fmt::format("the interval is still ±{:.1f} % wide", noise));
    }
    row["ns"] = ns;
    row["baseline_ns"] = baseline_ns;
    row["ratio"] = ratio.ratio;
    row["ratio_lo"] = ratio.lo ? Json(*ratio.lo) : Json(nullptr);
    row["ratio_hi"] = ratio.hi ? Json(*ratio.hi) : Json(nullptr);
    row["gflops"] = kernel.flops / quantile(ns, 0.5);
    if (kernel.plan) row["plan_ns"] = plan_time(kernel, flags.repetitions);
    // A wide interval that excludes 1 still tells which is faster; the remark says how wide it is.
    row["verdict"] = verdict_of(ratio);
    row["reason"] = fmt::format("{}", fmt::join(reasons, "; "));
  } catch (const Error& error) {
    row["verdict"] = "skipped";
    row["reason"] = error.what();
    row["ns"] = row["baseline_ns"] = Json::array();
  }
  return row;
}

void print_rows(const std::vector<Json>& rows, const std::string& format) {
  if (format == "json") {
    const Json document = {{"schema", "approxtrain.kernels/1"}, {"rows", rows}};
    std::fputs((document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n").c_str(),
               stdout);
    return;
  }
  const bool csv = format == "csv";
  const auto median = [](const Json& times) {
    auto values = times.get<std::vector<double>>();
    return values.empty() ? std::nan("") : quantile(std::move(values), 0.5);
  };
  const auto cell = [&](double value, const char* text) {
    if (!std::isfinite(value)) return std::string(csv ? "" : "-");
    return csv ? shortest(value) : fmt::format(fmt::runtime(text), value);
  };
  const auto number = [](const Json& row, const char* key) {
    const auto found = row.find(key);
    return found != row.end() && found->is_number() ? found->get<double>() : std::nan("");
  };
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : rows) {
    std::string ratio = cell(number(row, "ratio"), "{:.3f}");
    std::vector<std::string> line = {row["label"], row["method"], row["variant"],
                                     cell(1e-6 * median(row["ns"]), "{:.4f}"),
                                     cell(1e-6 * median(row["baseline_ns"]), "{:.4f}")};
    const std::string lo = cell(number(row, "ratio_lo"), "{:.3f}"),
                      hi = cell(number(row, "ratio_hi"), "{:.3f}");
    if (csv) {
      line.insert(line.end(), {ratio, lo, hi});
    } else {
      line.push_back(ratio == "-" ? ratio : fmt::format("{} [{}, {}]", ratio, lo, hi));
    }
    line.insert(
        line.end(),
        {cell(number(row, "gflops"), "{:.2f}"), cell(1e-6 * number(row, "plan_ns"), "{:.4f}"),
         cell(number(row, "max_rel_error"), "{:.1e}"), row["verdict"], row["reason"]});
    cells.push_back(std::move(line));
  }
  std::vector<std::string> header = {"shape", "method", "variant", "ms", "exact ms"};
  if (csv) {
    header = {"shape",         "method",     "variant",    "ms",     "exact_ms",
              "speedup",       "speedup_lo", "speedup_hi", "gflops", "plan_ms",
              "max_rel_error", "verdict",    "reason"};
  } else {
    for (const char* name :
         {"speedup [95 %]", "GFLOP/s", "plan ms", "max rel. error", "verdict", "remarks"}) {
      header.emplace_back(name);
    }
  }
  std::fputs((csv ? csv_table(header, cells) : markdown_table(header, cells)).c_str(), stdout);
}

// Every method that can approximate `product`, with its defaults.
std::vector<std::string> default_methods(Product product) {
  std::vector<std::string> methods;
  for (const auto& info : Catalogue::embedded().methods) {
    const auto& products = info.products;
    if (std::find(products.begin(), products.end(), product) != products.end()) {
      methods.push_back(info.name);
    }
  }
  return methods;
}

void bench(const BenchFlags& flags, const GlobalOptions& options) {
  Product product = Product::kWeightGradient;
  for (const Product each : kAllProducts) {
    if (name(each) == flags.op) product = each;
  }
  std::vector<ConvShape> shapes;
  for (const auto& text : flags.shape_texts) shapes.push_back(parse_shape(text));
  if (!flags.shapes.empty() || shapes.empty()) {
    const auto named = load_shapes(flags.shapes.empty() ? "wang2019_table1" : flags.shapes);
    shapes.insert(shapes.end(), named.begin(), named.end());
  }
  std::vector<std::string> methods = split_methods(flags.methods);
  if (methods.empty()) methods = default_methods(product);
  for (auto& method : methods) {
    method = Catalogue::embedded().method_params(method).full_text();
  }
  // Before hours of measuring rather than after them.
  std::optional<RunStore> store;
  if (!flags.no_store) store.emplace(open_store(options));

  const auto note = [&](const std::string& text) {
    if (options.progress != "none") std::fputs((text + "\n").c_str(), stderr);
  };
  const auto lock = TimingLock::acquire([] { return false; }, note);
  Engine& engine = load_engine();
  std::vector<Json> rows;
  for (const auto& shape : shapes) {
    const auto cases = engine.kernel_cases(shape, product, methods, flags.device, flags.threads);
    if (cases.empty()) throw Error(ErrorKind::kInternal, "the engine has no kernel for this shape");
    for (const auto& kernel : cases) {
      note(fmt::format("{} {} {}", shape.label, kernel.method, kernel.variant));
      rows.push_back(measure(cases.front(), kernel, flags));
    }
  }
  if (!flags.quiet) print_rows(rows, flags.format);
  if (store) {
    Json environment = merged_environment(engine.environment());
    environment["threads"] = flags.threads;
    environment["device"] = flags.device;
    environment["isolated"] = true;
    mark_changed(environment, changed_experiments(flags.files));
    store->add_kernel_results(environment, rows, flags.experiment);
  }
}

}  // namespace

void run_kernel_item(const Experiment& experiment, const KernelItem& item,
                     const GlobalOptions& options) {
  BenchFlags flags;
  flags.op = item.op;
  flags.shapes = item.shapes;
  flags.shape_texts = item.shape_texts;
  flags.methods = fmt::format("{}", fmt::join(item.methods, ","));
  flags.threads = item.threads;
  flags.repetitions = item.repetitions;
  if (experiment.scale == Scale::kSmoke) flags.min_time = std::chrono::milliseconds(1);
  flags.quiet = true;
  flags.experiment = experiment.id;
  flags.files = experiment.files;
  bench(flags, options);
}

void add_bench_kernel(CLI::App& app, GlobalOptions& options) {
  auto* command = app.add_subcommand("bench-kernel", "Time one product of a layer by every method");
  command->footer(
      "approxtrain bench-kernel --shape N128,C64,K64,H8,R3 "
      "--method topk_position");
  auto flags = std::make_shared<BenchFlags>();
  std::vector<std::string> products;
  for (const Product product : kAllProducts) products.emplace_back(name(product));
  add_choice(*command, "--op", flags->op, products, "product (default weight_gradient)");
  command
      ->add_option("--shapes", flags->shapes,
                   "file of shapes, or its name (default "
                   "wang2019_table1)")
      ->type_name("FILE");
  command
      ->add_option("--shape", flags->shape_texts,
                   "N batch, C and K channels in and out, H size, R filter, S "
                   "stride, P padding; "
                   "may be repeated")
      ->type_name("N,C,K,H,R")
      ->allow_extra_args(false);
  command->add_option("--method", flags->methods, "methods (default all for this product)")
      ->type_name("NAME,...");
  add_integer(*command, "--threads", flags->threads, 1, 4096, "default 1");
  add_choice(*command, "--device", flags->device, {"cpu", "cuda"}, "default cpu");
  add_integer(*command, "--repetitions", flags->repetitions, 2, 10'000,
              "pairs of exact and approximated measurements (default 20)");
  add_duration(*command, "--min-time", flags->min_time, "of one measurement (default 20ms)");
  add_real(*command, "--max-noise", flags->max_noise, 0.1, 100,
           "half width of the interval in percent above which more is "
           "measured, up to five times "
           "as much (default 5)");
  add_choice(*command, "--format", flags->format, {"md", "csv", "json"}, "default md");
  command->add_flag("--no-store", flags->no_store, "keep no record in the database");
  command->callback([flags, &options] { bench(*flags, options); });
}

}  // namespace approx
