// `approxtrain report`: what the store holds, as tables, figures and a page.
#include "results/reports/report.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/plot.h"
#include "cli/tables.h"
#include "cli/text.h"
#include "core/config/catalogue.h"
#include "core/experiment/experiment.h"
#include "results/records/items.h"
#include "results/records/snapshot.h"
#include "results/reports/compare.h"
#include "results/reports/page.h"
#include "results/reports/paper_figure.h"

namespace approx {
namespace {

struct ReportFlags {
  ReportOptions report;
  std::string format;  // "": the usual one, for a person
  std::string out;
  ColumnFlags columns;
  std::string experiment;   // of a command line without a report's name
  std::string item, scale;  // paper
  std::string a, b;         // compare
  std::vector<std::string> fail_on;
};

void put(const std::string& text, const ReportFlags& flags) { print_or_write(text, flags.out); }

TableOutput output_of(const ReportFlags& flags, const GlobalOptions& options) {
  return {.format = flags.format, .out = flags.out, .columns = &flags.columns, .options = &options};
}

// Why a report has no rows.
std::string why_empty(const Report& report, const Table& table) {
  if (!table.notes.empty()) return fmt::format("{} has no rows: {}", report.name, table.notes[0]);
  if (report.needs.empty()) return "the store has no such rows yet";
  return fmt::format("{} needs {}; there are none that count", report.name, report.needs);
}

bool is_picture(const ReportFlags& flags) { return flags.format == "svg" || flags.format == "png"; }

// `script`: the one that draws this table, or "". `if_empty`: why it has no rows where it has none.
void write_table(const Table& table, const ReportFlags& flags, const GlobalOptions& options,
                 const std::string& script, const std::string& if_empty) {
  if (is_picture(flags)) {
    if (script.empty()) {
      throw usage_error("--format {}: this table has no picture; take --format csv", flags.format);
    }
    put(draw(script, render(table, "csv"), flags.format), flags);
  } else {
    put(table_text(table, output_of(flags, options)), flags);
  }
  if (table.rows.empty()) {
    std::fputs(fmt::format("nothing to report: {}\n", if_empty).c_str(), stderr);
  }
}

// At which other scale there would be a picture of an item that has none here.
std::string other_scale(const Snapshot& snapshot, const PaperItem& item, const ReportFlags& flags) {
  const auto most = paper_item(snapshot, flags.item, "", flags.report);
  const bool measured = snapshot.items().measured(most.shown);
  if (!measured || most.shown.scale == item.shown.scale) return "";
  return fmt::format(", or take --scale {}, which has results", name(most.shown.scale));
}

void write_paper(const ReportFlags& flags, const GlobalOptions& options) {
  const auto snapshot = Snapshot::or_empty(options.db);
  const auto item = paper_item(snapshot, flags.item, flags.scale, flags.report);
  if (!is_picture(flags)) {
    return write_table(item.table, flags, options, "", "the store has no such rows yet");
  }
  const auto drawing = paper_drawing(snapshot, item, flags.report);
  if (drawing.empty()) {
    throw usage_error("{} ({} scale): there is nothing to draw yet; see --format md{}",
                      item.layout.item, name(item.shown.scale), other_scale(snapshot, item, flags));
  }
  put(draw(drawing.script, render(drawing.table, "csv"), flags.format), flags);
}

void write_page(const ReportFlags& flags, const GlobalOptions& options) {
  if (!flags.format.empty()) throw usage_error("--format: the page is always HTML; leave it out");
  const auto draw_svg = [](const std::string& script, const std::string& csv) {
    return draw(script, csv, "svg");
  };
  can_draw();  // said before, and not below each picture: there is no folder to draw in
  std::vector<std::string> problems;
  const auto typed = [&options](const std::vector<std::string>& words) {
    return command_text(words, options);
  };
  put(report_page(Snapshot(options.db), flags.report, flags.scale, draw_svg, problems, typed),
      flags);
  for (const auto& problem : problems) std::fputs((printable(problem) + "\n").c_str(), stderr);
}

void write_comparison(const ReportFlags& flags, const GlobalOptions& options) {
  std::vector<std::string> gates;
  for (const Change loss : kLosses) gates.emplace_back(name(loss));
  for (const auto& gate : flags.fail_on) {
    if (std::find(gates.begin(), gates.end(), gate) == gates.end()) {
      throw usage_error("--fail-on: \"{}\"{}; known: {}", printable(gate),
                        did_you_mean(gate, gates), fmt::join(gates, ", "));
    }
  }
  std::vector<Change> losses;
  const Table table = report_compare(Snapshot(flags.a), Snapshot(flags.b), flags.report, &losses);
  write_table(table, flags, options, "", "the two stores have no row in common");
  if (table.rows.empty() && !flags.fail_on.empty()) {
    std::fputs("approxtrain: --fail-on: the stores have no row in common, so nothing was checked\n",
               stderr);
    throw Exit{static_cast<int>(ErrorKind::kGate)};
  }
  int64_t failed = 0;
  for (const Change loss : losses) {
    failed += std::count(flags.fail_on.begin(), flags.fail_on.end(), name(loss));
  }
  if (failed == 0) return;
  std::fputs(fmt::format("approxtrain: {} {} {}\n", failed, failed == 1 ? "row is" : "rows are",
                         fmt::join(flags.fail_on, " or "))
                 .c_str(),
             stderr);
  throw Exit{static_cast<int>(ErrorKind::kGate)};
}

// Takes a word behind `report` that names no report for an experiment, or for a slip.
void check_experiment(const std::string& word, const Snapshot& snapshot,
                      std::vector<std::string> reports) {
  const std::string id = word.starts_with('@') ? word.substr(1) : word;
  if (snapshot.items().has(id)) return;
  for (const auto& [name, item] : snapshot.items().all()) reports.push_back(name);
  const std::string meant = did_you_mean(id, reports);
  if (meant.empty()) return;  // the report says that there is none
  throw usage_error("report: no report and no experiment \"{}\" in the store{}", printable(word),
                    meant);
}

}  // namespace

void add_report(CLI::App& app, GlobalOptions& options) {
  auto* report = app.add_subcommand("report", "Show the results as tables, figures or a page");
  report->footer(
      "approxtrain report paper wang2019:table5\n"
      "approxtrain report html --out report.html");
  const auto flags = std::make_shared<ReportFlags>();
  flags->report.catalogue = &Catalogue::embedded();
  add_choice(*report, "--format", flags->format,
             {"md", "csv", "json", "jsonl", "tex", "svg", "png"},
             "Markdown, CSV, JSON, JSON lines or LaTeX (default: Markdown, on a terminal a table "
             "that fits it); svg and png draw a picture");
  report->add_option("--out", flags->out, "Write to this file instead of standard output");
  add_column_flags(*report, flags->columns);
  report->add_flag("--include-tainted", flags->report.include_tainted,
                   "Use timing runs too that were disturbed or shared the machine");
  report
      ->add_option_function<std::string>(
          "--margin",
          [flags](const std::string& text) {
            flags->report.margin = parse_margin(text);
            if (flags->report.margin) return;
            throw usage_error(
                "--margin: \"{}\": expected points, 0.5 or 0.5pp, or a share of the dense error, "
                "10%",
                printable(text));
          },
          "Accuracy that a method may lose, in points (0.5pp) or as a share of the dense error "
          "(10%). Default: 10% for advice, 0.5pp for compare and for targets that are not given")
      ->type_name("MARGIN");
  report
      ->add_option_function<std::string>(
          "--target",
          [flags](const std::string& text) {
            const auto target =
                parse_target(text.find(">=") == std::string::npos ? "accuracy>=" + text : text);
            if (!target) {
              throw usage_error("--target: \"{}\": expected a share such as 0.9 or accuracy>=0.9",
                                printable(text));
            }
            flags->report.target = target->value;
          },
          "Accuracy to reach, as a share (0.9), in table, tta, profile, advice and cascade. "
          "Default: the experiment's target, else one from dense (in table none)")
      ->type_name("SHARE");
  // The options above may stand before or after the name of the table.
  const auto add_table = [&](const std::string& name, const std::string& about) {
    auto* table = report->add_subcommand(name, about);
    table->fallthrough();
    table->footer(fmt::format("approxtrain report {} --format csv --out {}.csv", name, name));
    return table;
  };
  const auto add_experiment = [&](CLI::App* table, std::string& experiment) {
    return table->add_option("EXPERIMENT", experiment,
                             "Only the runs of this experiment (wang2019:table5)");
  };
  const auto add_scale = [&](CLI::App* table) {
    table
        ->add_option("--scale", flags->scale,
                     "full, reduced or smoke (default: the one with most results)")
        ->type_name("SCALE");
  };
  const auto* second = add_experiment(report, flags->experiment);
  std::vector<std::pair<CLI::App*, const Report*>> tables;
  for (const auto* kind : reports()) {
    auto* table = add_table(kind->name, kind->summary);
    if (kind->of_experiment) {
      add_experiment(table, flags->report.experiment);
      table->footer(fmt::format("approxtrain report {} wang2019:table5", kind->name));
    }
    tables.emplace_back(table, kind);
  }
  auto* paper = add_table("paper", "A table or figure of a paper, its numbers beside ours");
  paper
      ->add_option("ITEM", flags->item,
                   "Table or figure, such as wang2019:table5; `list papers` shows all")
      ->required();
  add_scale(paper);
  paper->footer("approxtrain report paper wang2019:table5 --scale reduced");
  auto* compare = add_table("compare", "How the rows of two databases differ: B against A");
  compare->add_option("A", flags->a, "The database to compare with")->required();
  compare->add_option("B", flags->b, "The database that is judged")->required();
  compare
      ->add_option_function<std::string>(
          "--fail-on", [flags](const std::string& text) { flags->fail_on = split_list(text); },
          "End with exit code 4 if a row has one of these verdicts: slower, inferior, differs")
      ->type_name("VERDICT,...");
  compare->footer("approxtrain report compare before.db after.db --fail-on slower,inferior");
  auto* html = add_table("html", "Everything as one page that opens from disk");
  html->footer("approxtrain report html --out report.html");
  add_scale(html);
  report->require_subcommand(0, 1);
  report->callback([=, &options] {
    check_printed_or_written(flags->out);
    const bool is_page = html->parsed() || is_picture(*flags);
    if (is_page && !flags->columns.names.empty()) {
      throw usage_error("--columns: a {} has no columns to choose; leave it out",
                        html->parsed() ? "page" : "picture");
    }
    flags->report.verdicts = is_fitted(output_of(*flags, options)) || flags->format == "tex" ||
                             !flags->columns.names.empty();
    // Words that the named report does not take come to `report` itself.
    const auto named = report->get_subcommands();
    if (!named.empty() && second->count() > 0) {
      throw usage_error("report: unexpected argument \"{}\"; see approxtrain report {} --help",
                        printable(flags->experiment), named.front()->get_name());
    }
    if (paper->parsed()) return write_paper(*flags, options);
    if (compare->parsed()) return write_comparison(*flags, options);
    if (html->parsed()) return write_page(*flags, options);
    for (const auto& [table, kind] : tables) {
      if (table->parsed()) {
        const Table made = kind->make(Snapshot(options.db), flags->report);
        return write_table(made, *flags, options, kind->script, why_empty(*kind, made));
      }
    }
    const auto check_word = [&](const Snapshot& snapshot) {
      if (flags->experiment.empty()) return;
      std::vector<std::string> names = {"paper", "compare", "html"};
      for (const auto& [table, kind] : tables) names.push_back(kind->name);
      check_experiment(flags->experiment, snapshot, std::move(names));
    };
    // A slip in the word is said before a missing store.
    if (!std::filesystem::exists(options.db)) check_word(Snapshot::or_empty(options.db));
    const Snapshot snapshot(options.db);
    check_word(snapshot);
    flags->report.experiment = flags->experiment;
    const Report& usual = Registry<Report>::instance().find("table");
    const Table made = usual.make(snapshot, flags->report);
    write_table(made, *flags, options, "", why_empty(usual, made));
  });
}

}  // namespace approx
