// `approxtrain show`: everything about one thing.
#include <cstdio>
#include <limits>
#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "results/reports/run_details.h"

namespace approx {

void add_show(CLI::App& app, GlobalOptions& options) {
  auto* show = app.add_subcommand("show", "Show everything about one run");
  show->footer("approxtrain show run 12 --db results.db");
  show->require_subcommand(1);

  struct RunFlags {
    int64_t id = 0;
    std::string format = "md";
  };
  auto* run =
      show->add_subcommand("run", "Show a run's configuration, environment, metrics and layers");
  const auto flags = std::make_shared<RunFlags>();
  add_integer(*run, "ID", flags->id, 1, std::numeric_limits<int64_t>::max(),
              "The run's number in `report runs`")
      ->required();
  add_choice(*run, "--format", flags->format, {"md", "json"}, "Markdown or one JSON document");
  run->callback([flags, &options] {
    const Json details = run_details(Snapshot(options.db), flags->id);
    const std::string text =
        flags->format == "json" ? json_text(details, 1) + "\n" : render_run(details);
    std::fputs(text.c_str(), stdout);
  });
}

}  // namespace approx
