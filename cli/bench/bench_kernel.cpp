// bench-kernel: products of layers' shapes, exact against approximated; which variants are chosen
// for them; and whether its own verdicts can be trusted.
#include "cli/bench/bench_kernel.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "base/outputs.h"
#include "base/text.h"
#include "cli/bench/choices.h"
#include "cli/bench/products.h"
#include "cli/bench/rows.h"
#include "cli/bench/self_test.h"
#include "cli/bench/shape_flags.h"
#include "cli/bench/shapes.h"
#include "cli/command.h"
#include "cli/engine_loader.h"
#include "cli/environment.h"
#include "cli/flags.h"
#include "cli/process/timing_lock.h"
#include "cli/store.h"
#include "cli/tables.h"
#include "cli/text.h"
#include "core/config/dense.h"
#include "results/reports/kernels.h"

namespace approx {
namespace {

// The time of one measurement where there are many, or where a product takes microseconds.
constexpr Nanoseconds kShortTime = std::chrono::milliseconds(2);

constexpr const char* kRecordedIsRead = "is of the recorded operands that this command reads";

constexpr const char* kUnnamedShapes = "wang2019_table1";

std::string choices_of_environment() {
  const char* file = std::getenv("APPROXTRAIN_CUDNN_CHOICES");
  return file == nullptr ? "" : file;
}

struct BenchFlags {
  // What is benchmarked.
  std::string ops = "weight_gradient", methods, recorded, device = "cpu";
  ShapeFlags shapes;
  std::vector<double> densities;
  std::vector<Precision> precisions = {Precision::kFp32};
  std::vector<int64_t> threads = {1};
  bool chosen = false;
  bool cold = false;
  std::string graphs = "auto";
  std::string cudnn_choices = choices_of_environment();  // a file, "": none
  // How.
  BenchEffort effort;
  bool explain = false;
  std::optional<int64_t> self_test;  // ratios
  // Where it goes.
  std::string format;  // "": for a person
  bool no_store = false;
  bool require_clean = false;
  bool quiet = false;              // print no table
  std::string experiment;          // the id of the one that asks for it
  std::vector<std::string> files;  // of that experiment

  // Every one that is asked for, in the order of the flags.
  std::vector<KernelSetting> settings() const {
    std::vector<KernelSetting> all;
    for (const int64_t count : threads) {
      for (const Precision precision : precisions) {
        all.push_back({.device = device,
                       .precision = precision,
                       .threads = count,
                       .cold = cold,
                       .graphs = graphs != "off",
                       .cudnn_choices = cudnn_choices});
      }
    }
    return all;
  }
};

using Note = std::function<void(const std::string&)>;

// That the file of choices is none that was read, or that belongs to a store.
void check_choices(const BenchFlags& flags) {
  if (!flags.cudnn_choices.empty()) check_output(flags.cudnn_choices);
}

std::vector<ConvShape> benched_shapes(const BenchFlags& flags) {
  if (!flags.recorded.empty()) keep_folder(flags.recorded, kRecordedIsRead);
  auto shapes = named_shapes(flags.shapes);
  if (shapes.empty() && flags.recorded.empty()) shapes = load_shapes(kUnnamedShapes);
  check_choices(flags);
  return flags.recorded.empty() ? shapes : load_engine().recorded_shapes(flags.recorded);
}

// Nobody computes the gradient of the images.
bool is_computed(const ConvShape& shape, Product product) {
  return product != Product::kDataGradient || !shape.recorded || !shape.recorded->reads_images;
}

std::vector<BenchedProduct> products_of(const BenchFlags& flags) {
  return benched_products(Catalogue::embedded(), split_list(flags.ops),
                          split_methods(flags.methods), flags.densities);
}

void print_table(const Table& table, const std::string& format) {
  std::fputs(table_text(table, {.format = format}).c_str(), stdout);
}

// What was measured of the machine beside the kernels, for a setting.
struct Ceiling {
  KernelSetting setting;
  Roofline roofline;
};

std::string l2_text(const Roofline& roofline) {
  return fmt::format("; a copy within the L2, which holds {:.1f} MB: {:.1f} GB/s",
                     roofline.l2_size / 1e6, roofline.l2_bytes / 1e9);
}

std::string ceilings_text(const std::vector<Ceiling>& ceilings) {
  std::vector<std::string> computes, copies;
  std::string l2;
  for (const auto& [setting, roofline] : ceilings) {
    const std::string on =
        setting.device == "cpu"
            ? fmt::format("{} {}", setting.threads, setting.threads == 1 ? "thread" : "threads")
            : std::string(name(setting.precision));
    const auto add = [&](std::vector<std::string>& to, double a_second, const char* unit) {
      auto text = fmt::format("{:.1f} {} with {}", a_second / 1e9, unit, on);
      if (a_second > 0 && std::ranges::find(to, text) == to.end()) to.push_back(std::move(text));
    };
    add(computes, roofline.flops, "GFLOP/s");
    add(copies, roofline.bytes, "GB/s");
    if (roofline.l2_bytes > 0) l2 = l2_text(roofline);
  }
  const bool on_cpu = ceilings.front().setting.device == "cpu";
  return fmt::format("{}: {}; a copy in memory: {}{}",
                     on_cpu ? "Multiply-adds in registers" : "A matrix product",
                     fmt::join(computes, ", "), fmt::join(copies, ", "), l2);
}

void print_rows(const std::vector<Json>& rows, const std::vector<Ceiling>& ceilings,
                const std::string& format) {
  if (format == "json") {
    Json document = {
        {"schema", "approxtrain.kernels/3"}, {"ceilings", Json::array()}, {"rows", rows}};
    for (const auto& [setting, roofline] : ceilings) {
      document["ceilings"].push_back({{"threads", setting.threads},
                                      {"precision", name(setting.precision)},
                                      {"gflops", roofline.flops / 1e9},
                                      {"memory_gbs", roofline.bytes / 1e9}});
      if (Json l2 = l2_json(roofline); !l2.is_null()) {
        document["ceilings"].back()["l2"] = std::move(l2);
      }
    }
    const auto text = json_text(document, 2);
    std::fputs((text + "\n").c_str(), stdout);
    return;
  }
  std::vector<KernelLine> lines;
  for (const auto& row : rows) lines.push_back(kernel_line(row));
  Table table = kernel_table(lines);
  if (!ceilings.empty()) table.title = ceilings_text(ceilings);
  print_table(table, format);
}

void explain(const BenchFlags& flags) {
  const auto shapes = benched_shapes(flags);
  const auto products = products_of(flags);
  Engine& engine = load_engine();
  const KernelSetting setting = flags.settings().front();
  std::vector<KernelChoice> choices;
  for (const auto& shape : shapes) {
    for (const auto& [product, methods] : products) {
      if (!is_computed(shape, product)) continue;
      for (auto& choice : engine.kernel_choices(shape, product, methods, setting)) {
        choices.push_back(std::move(choice));
      }
    }
  }
  print_table(choices_table(choices), flags.format);
}

// Throws Exit where too many verdicts are false.
void self_test(const BenchFlags& flags, const Note& note) {
  const auto named = named_shapes(flags.shapes);
  check_choices(flags);
  const auto shapes = named.empty() ? self_test_shapes() : named;
  const auto products =
      benched_products(Catalogue::embedded(), split_list(flags.ops), {std::string(kDense)});
  const auto lock = TimingLock::acquire([] { return false; }, note);
  Engine& engine = load_engine();
  std::vector<std::pair<int64_t, FalseVerdicts>> found;
  bool passed = true;
  for (const auto& setting : flags.settings()) {
    if (setting.precision != flags.precisions.front()) continue;
    std::vector<KernelCase> exact;
    for (const auto& shape : shapes) {
      for (const auto& each : products) {
        for (auto& kernel : engine.kernel_cases(shape, each.product, {}, setting)) {
          if (kernel.chosen) exact.push_back(std::move(kernel));
        }
      }
    }
    const auto progress = [&](int64_t done) {
      if (done % 20 == 0) note(fmt::format("self-test: {} of {} ratios", done, *flags.self_test));
    };
    found.emplace_back(setting.threads,
                       measure_false_verdicts(exact, *flags.self_test, flags.effort, progress));
    passed = passed && found.back().second.passed();
  }
  print_table(self_test_table(found), flags.format);
  if (!passed) throw Exit{static_cast<int>(ErrorKind::kGate)};
}

void measure(const BenchFlags& flags, const GlobalOptions& options, const Note& note) {
  const auto shapes = benched_shapes(flags);
  const auto products = products_of(flags);
  // Before hours of measuring rather than after them.
  std::optional<RunStore> store;
  if (!flags.no_store) store.emplace(open_store(options));

  const auto lock = TimingLock::acquire([] { return false; }, note);
  Engine& engine = load_engine();
  std::vector<Json> all_rows;
  std::vector<Ceiling> ceilings;
  for (const auto& setting : flags.settings()) {
    ceilings.push_back({setting, engine.roofline(setting)});
    const BenchPlace place{.setting = setting, .roofline = ceilings.back().roofline};
    std::vector<Json> rows;
    for (const auto& shape : shapes) {
      for (const auto& [product, methods] : products) {
        if (!is_computed(shape, product)) continue;
        auto cases = engine.kernel_cases(shape, product, methods, setting);
        if (flags.chosen) {
          std::erase_if(cases, [](const KernelCase& kernel) {
            return !kernel.chosen && !is_dense(kernel.method);
          });
        }
        const auto measured =
            measure_cases(cases, place, flags.effort, [&](const KernelCase& kernel) {
              note(fmt::format("{} {} {} {} {}", shape.label, kernel.op, name(kernel.precision),
                               kernel.method, kernel.variant));
            });
        rows.insert(rows.end(), measured.begin(), measured.end());
      }
    }
    if (store) {
      Json environment = merged_environment(engine.environment());
      environment["threads"] = setting.threads;
      environment["device"] = setting.device;
      environment["isolated"] = true;
      environment["cold"] = setting.cold;
      environment["graphs"] = setting.device == name(DeviceKind::kCuda) && setting.graphs;
      if (Json l2 = l2_json(place.roofline); !l2.is_null()) environment["l2"] = std::move(l2);
      mark_changed(environment, changed_experiments(flags.files));
      store->add_kernel_results(environment, rows, flags.experiment);
    }
    all_rows.insert(all_rows.end(), rows.begin(), rows.end());
  }
  if (!flags.quiet) print_rows(all_rows, ceilings, flags.format);
}

void bench(const BenchFlags& flags, const GlobalOptions& options) {
  const Note note = [&](const std::string& text) {
    if (options.progress != "none") std::fputs((text + "\n").c_str(), stderr);
  };
  if (flags.require_clean) require_clean(flags.files);
  if (flags.explain) return explain(flags);
  if (flags.self_test) return self_test(flags, note);
  measure(flags, options, note);
}

}  // namespace

void run_kernel_item(const Experiment& experiment, const KernelItem& item,
                     const GlobalOptions& options) {
  BenchFlags flags;
  flags.ops = item.op;
  flags.shapes.shapes = item.shapes;
  flags.shapes.texts = item.shape_texts;
  flags.methods = fmt::format("{}", fmt::join(item.methods, ","));
  flags.threads = {item.threads};
  flags.device = name(item.device);
  flags.precisions = item.precisions;
  flags.effort.repetitions = item.repetitions;
  if (item.device == DeviceKind::kCuda) flags.effort.min_time = kShortTime;
  if (experiment.scale == Scale::kSmoke) flags.effort.min_time = std::chrono::milliseconds(1);
  flags.quiet = true;
  flags.experiment = experiment.id;
  flags.files = experiment.files;
  bench(flags, options);
}

void add_bench_kernel(CLI::App& app, GlobalOptions& options) {
  auto* command = app.add_subcommand(
      "bench-kernel", "Time the products of layers by every method, beside the exact ones");
  command->footer(
      "approxtrain bench-kernel --network resnet20 --op all --method sdgp:n=2,m=4\n"
      "approxtrain bench-kernel --shape N128,C64,K64,H8,R3 --threads 1,2\n"
      "approxtrain bench-kernel --network resnet20 --op all --explain\n"
      "approxtrain bench-kernel --recorded operands --method stochastic_pruning\n"
      "approxtrain bench-kernel --self-test");
  auto flags = std::make_shared<BenchFlags>();
  command
      ->add_option("--op", flags->ops,
                   "forward, data_gradient, weight_gradient, or all that the method approximates "
                   "(default weight_gradient)")
      ->type_name("PRODUCT,...");
  auto* recorded =
      command
          ->add_option("--recorded", flags->recorded,
                       "use the operands that train --record saved here, not random ones")
          ->type_name("DIR");
  for (auto* named : add_shape_flags(*command, flags->shapes, kUnnamedShapes)) {
    recorded->excludes(named);
  }
  command
      ->add_option("--method", flags->methods,
                   "methods (default: all that approximate these products)")
      ->type_name("NAME,...");
  add_reals(*command, "--densities", flags->densities, 0, 1,
            "prune dY at random to these densities beforehand, and time both gradients. Without "
            "--method no method is timed beside them");
  command->add_flag("--chosen", flags->chosen,
                    "time only the variants that a layer would take, and all exact paths");
  add_integers(*command, "--threads", flags->threads, 1, 4096, "numbers of threads (default 1)");
  add_choice(*command, "--device", flags->device, {"cpu", "cuda"},
             "device that computes (default cpu)");
  command
      ->add_option_function<std::string>(
          "--precision",
          [flags](const std::string& text) {
            flags->precisions.clear();
            for (const auto& word : split_list(text)) {
              flags->precisions.push_back(parse<Precision>(word, "--precision"));
            }
          },
          "precisions of the operands: fp32, bf16; cuda: tf32, fp16 (default fp32)")
      ->type_name("P,...")
      ->excludes(recorded);
  command->add_flag("--cold", flags->cold,
                    "clear the caches before each call. By default a call finds there what the "
                    "call before has left");
  add_choice(*command, "--graphs", flags->graphs, {"auto", "off"},
             "on cuda: auto replays recorded calls, as captured training steps do; off launches "
             "each call (default auto)");
  command
      ->add_option("--cudnn-choices", flags->cudnn_choices,
                   "on a GPU: file that keeps the fastest cuDNN engine of each product for the "
                   "next time (APPROXTRAIN_CUDNN_CHOICES)")
      ->type_name("FILE");
  add_duration(*command, "--warmup", flags->effort.warmup,
               "call each case for this time before it is measured (default: three calls)");
  add_integer(*command, "--repetitions", flags->effort.repetitions, 2, 10'000,
              "pairs of exact and approximated measurements in a round (default 20)");
  add_integer(
      *command, "--min-samples", flags->effort.min_samples, 2, 1'000'000,
      "least number of pairs; rounds go on until it and --max-noise are reached (default 2)");
  auto* min_time =
      add_duration(*command, "--min-time", flags->effort.min_time,
                   "time of one measurement (default 20ms; 2ms in the self-test and on cuda)");
  add_real(*command, "--max-noise", flags->effort.max_noise, 0.1, 100,
           "largest half width of the interval, in percent; above it another round is measured "
           "(default 5)");
  command
      ->add_option_function<std::string>(
          "--least-effect",
          [flags](const std::string& text) {
            const bool percent = text.ends_with('%');
            const auto number = parse_real(trim(percent ? text.substr(0, text.size() - 1) : text));
            if (!number || *number < 0.1 || *number > 50) {
              throw usage_error("--least-effect: \"{}\" is not a percentage from 0.1 to 50",
                                printable(text));
            }
            flags->effort.least_effect = *number / 100;
          },
          "smallest change of time that gets a verdict, in percent (default 2)")
      ->type_name("PERCENT");
  add_duration(*command, "--timeout", flags->effort.timeout,
               "end a case after this time even if --max-noise or --min-samples is not reached, "
               "and say so (default: after five rounds)");
  auto* explained =
      command->add_flag("--explain", flags->explain,
                        "time nothing: show which variant each plan takes, and why not the others");
  command
      ->add_option_function<std::string>(
          "--self-test",
          [flags](const std::string& text) {
            flags->self_test = text.empty() ? 200 : parse_integer(text, 1, 100'000);
            if (flags->self_test) return;
            throw usage_error("--self-test: \"{}\" is not a whole number from 1 to 100000",
                              printable(text));
          },
          "compare the exact product with itself, N times (default 200), and count the verdicts "
          "that see a difference. Exit code 4 if more than 5 % do")
      ->type_name("[N]")
      ->expected(0, 1)
      ->excludes(explained)
      ->excludes(recorded);
  add_choice(*command, "--format", flags->format, {"md", "csv", "json"},
             "Markdown, CSV or JSON (default: Markdown, on a terminal a table that fits it)");
  command->add_flag("--no-store", flags->no_store, "keep no record in the database");
  add_require_clean(*command, flags->require_clean);
  command->callback([flags, min_time, &options] {
    const bool is_short = flags->self_test || flags->device == name(DeviceKind::kCuda);
    if (is_short && min_time->count() == 0) flags->effort.min_time = kShortTime;
    bench(*flags, options);
  });
}

}  // namespace approx
