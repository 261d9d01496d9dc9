// tune-kernels: a table of kernel rules, measured on the machine at hand.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/known_names.h"
#include "base/text.h"
#include "cli/bench/network_shapes.h"
#include "cli/bench/pairs.h"
#include "cli/bench/shape_flags.h"
#include "cli/bench/tuned_rules.h"
#include "cli/command.h"
#include "cli/engine_loader.h"
#include "cli/environment.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/process/timing_lock.h"
#include "products/rules.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

constexpr const char* kTunedNetworks = "resnet20,resnet18,vgg19";

struct TuneFlags {
  std::string variants;
  ShapeFlags shapes{.networks = {}, .shapes = {}, .texts = {}, .batch = 32};
  int64_t threads = 1;
  BenchEffort effort{.repetitions = 9, .min_time = std::chrono::milliseconds(5)};
  std::string out;
  bool require_clean = false;
};

using Note = std::function<void(const std::string&)>;

// Whether the first case is no slower than the second, by the median of pairs measured side by
// side.
bool is_no_slower(const std::vector<KernelCase>& cases, const BenchEffort& effort) {
  const auto times =
      times_of({timed_case(cases[0], effort), timed_case(cases[1], effort)}, effort.repetitions).ns;
  std::vector<double> ratios;
  for (size_t i = 0; i < times[0].size(); ++i) ratios.push_back(times[1][i] / times[0][i]);
  return quantile(std::move(ratios), 0.5) >= 1;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The variants with a rule that this command measures: the ones that a CPU computes.
std::vector<RuledVariant> measurable_variants() {
  auto variants = Catalogue::embedded().ruled_variants;
  std::erase_if(variants, [](const RuledVariant& variant) { return !variant.on_cpu; });
  return variants;
}

void check_variants(const std::vector<std::string>& names) {
  const auto known = names_of(measurable_variants());
  for (const auto& name : names) {
    if (contains(known, name)) continue;
    throw usage_error("--variant: {} has no rule{}", quote(name), known_names(name, known));
  }
}

std::string densities_text(const std::optional<Bounds<double>>& densities) {
  if (!densities) return "never pays";
  return densities->most <= 1 ? fmt::format("pays up to {:.3g}", densities->most)
                              : fmt::format("pays from {:.3g} on", densities->least);
}

// A row for each variant and class of shapes, in the order in which they are met: where on no shape
// of the class the variant was slower than its rival.
std::vector<KernelRule> measured_rules(Engine& engine, const std::vector<ConvShape>& shapes,
                                       const TuneFlags& flags, const Note& note) {
  const auto wanted = split_list(flags.variants);
  std::vector<KernelRule> rules;
  for (const auto& variant : measurable_variants()) {
    if (!wanted.empty() && !contains(wanted, variant.name)) continue;
    for (const auto& shape : shapes) {
      const auto cases = [&](double density) {
        return engine.rule_cases(shape, variant, density, flags.threads);
      };
      if (cases(0.5).empty()) continue;
      KernelRule rule = class_of(shape, variant);
      rule.density = paying_densities(
          variant, [&](double density) { return is_no_slower(cases(density), flags.effort); });
      note(fmt::format("{} {}: {} {} against {}", shape.label, name(variant.product), variant.name,
                       densities_text(rule.density), variant.rival));
      add_rule(rules, rule);
    }
  }
  return rules;
}

// The sources that measured: "commit abc123, with uncommitted changes".
std::string sources_text(const Json& environment) {
  const auto commit = environment.value("git_sha", "");
  return fmt::format("{}{}",
                     commit.empty() ? "an unknown commit" : "commit " + commit.substr(0, 12),
                     environment.value("dirty", false) ? ", with uncommitted changes" : "");
}

std::string tuned_text(const std::vector<KernelRule>& measured, const Json& environment,
                       int64_t threads) {
  const auto& builtin = builtin_kernel_rules();
  return fmt::format(
      "# Where approximated variants pay, measured by approxtrain tune-kernels with {} {} on {}.\n"
      "# Measured by {}.\n"
      "{}"
      "# Of shapes that were not measured: version {} of the built-in table.\n"
      "{}",
      threads, threads == 1 ? "thread" : "threads",
      printable(environment.value("cpu_model", "a machine of unknown kind")),
      sources_text(environment), text_of(measured), builtin.version(), text_of(builtin.rows()));
}

void tune(const TuneFlags& flags, const GlobalOptions& options) {
  const Note note = [&](const std::string& text) {
    if (options.progress != "none") std::fputs((text + "\n").c_str(), stderr);
  };
  if (flags.require_clean) require_clean({});
  check_variants(split_list(flags.variants));
  auto shapes = named_shapes(flags.shapes);
  check_printed_or_written(flags.out);  // before minutes of measuring, not after them
  if (shapes.empty()) {
    shapes = network_shapes(networks_named(Catalogue::embedded(), split_list(kTunedNetworks)),
                            flags.shapes.batch);
  }
  const auto lock = TimingLock::acquire([] { return false; }, note);
  Engine& engine = load_engine();
  const auto measured = measured_rules(engine, shapes, flags, note);
  const std::string text =
      tuned_text(measured, merged_environment(engine.environment()), flags.threads);
  print_or_write(text, flags.out);
}

}  // namespace

void add_tune_kernels(CLI::App& app, GlobalOptions& options) {
  auto* command = app.add_subcommand(
      "tune-kernels", "Measure where approximated kernels pay, and write a table of rules");
  command->footer(
      "approxtrain tune-kernels --threads 2 --out here.rules\n"
      "approxtrain sweep @steps --kernel-rules here.rules");
  auto flags = std::make_shared<TuneFlags>();
  add_shape_flags(*command, flags->shapes, fmt::format("the layers of {}", kTunedNetworks));
  command
      ->add_option("--variant", flags->variants, "variants whose rules are measured (default all)")
      ->type_name("NAME,...");
  add_integer(*command, "--threads", flags->threads, 1, 4096, "threads of the kernels (default 1)");
  add_integer(*command, "--repetitions", flags->effort.repetitions, 3, 10'000,
              "pairs of measurements, one of a variant and one without it (default 9)");
  add_duration(*command, "--min-time", flags->effort.min_time,
               "time of one measurement (default 5ms)");
  command->add_option("--out", flags->out, "file of the table (default: standard output)")
      ->type_name("FILE");
  add_require_clean(*command, flags->require_clean);
  command->callback([flags, &options] { tune(*flags, options); });
}

}  // namespace approx
