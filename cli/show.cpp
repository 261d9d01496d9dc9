// `approxtrain show`: everything about one thing.
#include <cstdio>
#include <limits>
#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/method_card.h"
#include "cli/tables.h"
#include "results/reports/run_details.h"

namespace approx {
namespace {

void add_show_method(CLI::App& show, GlobalOptions& options) {
  struct MethodFlags {
    std::string name, format;
  };
  auto* method = show.add_subcommand(
      "method",
      "Show what a method does and costs, where it pays and where not, and what the database has");
  method->footer("approxtrain show method zero");
  const auto flags = std::make_shared<MethodFlags>();
  method->add_option("METHOD", flags->name, "name of a method; `list methods` shows all")
      ->required();
  add_choice(*method, "--format", flags->format, {"md", "json"}, "Markdown or one JSON document");
  method->callback([flags, &options] {
    const auto& info = Catalogue::embedded().method(flags->name);
    const Json card = method_card(info, Snapshot::or_empty(options.db));
    const auto text = flags->format == "json" ? json_text(card, 1) + "\n" : card_text(card);
    std::fputs(text.c_str(), stdout);
  });
}

}  // namespace

void add_show(CLI::App& app, GlobalOptions& options) {
  auto* show = app.add_subcommand("show", "Show everything about one run or one method");
  show->footer(
      "approxtrain show run 12 --db results.db\n"
      "approxtrain show method zero");
  show->require_subcommand(1);

  struct RunFlags {
    int64_t id = 0;
    std::string format;  // "": for a person
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
    if (flags->format == "json") {
      std::fputs((json_text(details, 1) + "\n").c_str(), stdout);
      return;
    }
    std::string text;  // an empty line between sections, none at the end
    for (const auto& table : run_tables(details)) {
      text += (text.empty() ? "" : "\n") + table_text(table, {.format = flags->format});
    }
    std::fputs(text.c_str(), stdout);
  });
  add_show_method(*show, options);
}

}  // namespace approx
