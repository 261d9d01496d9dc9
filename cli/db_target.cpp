#include "cli/db_target.h"

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "cli/environment.h"
#include "cli/flags.h"
#include "cli/store.h"
#include "cli/text.h"
#include "core/config/catalogue.h"
#include "results/reports/targets_to_store.h"

namespace approx {
namespace {

struct TargetFlags {
  std::string experiment;  // "": all runs of the store
  Margin margin = kUsualMargin;
};

void store_targets(const TargetFlags& flags, const GlobalOptions& options) {
  const auto& given = flags.experiment;
  const std::string experiment = given.starts_with("@") ? given.substr(1) : given;
  const auto targets =
      targets_to_store(Snapshot(options.db), experiment, flags.margin, Catalogue::embedded());
  open_store(options).add_study(program_environment(), targets.record);
  for (const auto& line : targets.lines) std::fputs((printable(line) + "\n").c_str(), stdout);
  if (!targets.few) return;
  std::fputs(
      "fewer than 10 dense runs: reports say so below the target; train more seeds and store it "
      "again\n",
      stderr);
}

}  // namespace

void add_db_target(CLI::App& db, const GlobalOptions& options) {
  const auto flags = std::make_shared<TargetFlags>();
  auto* command = db.add_subcommand(
      "target", "Derive targets from exact trainings, and store them with these runs");
  command->footer("approxtrain db target quickstart --margin 0.5pp --db results.db");
  command->add_option("EXPERIMENT", flags->experiment,
                      "Only the runs of this experiment (default: all runs)");
  command
      ->add_option_function<std::string>(
          "--margin",
          [flags](const std::string& text) {
            const auto margin = parse_margin(text);
            if (!margin) {
              throw usage_error(
                  "--margin: \"{}\": expected points, 0.5 or 0.5pp, or a share of the dense error, "
                  "10%",
                  printable(text));
            }
            flags->margin = *margin;
          },
          "Distance below the median of the exact runs' best accuracies: points (0.5pp, the "
          "default) or a share of the dense error (10%)")
      ->type_name("MARGIN");
  command->callback([flags, &options] { store_targets(*flags, options); });
}

}  // namespace approx
