// `approxtrain report`: what the store holds, as tables, figures and a page.
#include "results/reports/report.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/plot.h"
#include "cli/schedule_picture.h"
#include "cli/text.h"
#include "core/config/catalogue.h"
#include "core/experiment/files.h"
#include "results/render/html.h"
#include "results/reports/paper_report.h"
#include "results/reports/stored_items.h"
#include "results/store/database.h"

namespace approx {
namespace {

struct ReportFlags {
  ReportOptions report;
  std::string format;  // "": the usual one, md
  std::string out;
  std::string item, scale;  // paper
  std::string a, b;         // compare
  std::vector<std::string> fail_on;
};

void put(const std::string& text, const ReportFlags& flags) {
  if (flags.out.empty() || flags.out == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    write_file(flags.out, text);
  }
}

// `script`: the one that draws this table, or nullptr.
void write(const Table& table, const ReportFlags& flags, const char* script) {
  if (flags.format == "svg" || flags.format == "png") {
    if (script == nullptr) {
      throw usage_error("--format {}: there is no picture of this table", flags.format);
    }
    put(draw(script, render(table, "csv"), flags.format), flags);
  } else {
    put(render(table, flags.format.empty() ? "md" : flags.format), flags);
  }
  if (table.rows.empty()) {
    std::fputs("nothing to report: the store has no such rows yet\n", stderr);
  }
}

// --- papers ---

Scale choose_scale(const Experiment& layout, const std::string& asked,
                   const std::map<std::string, StoredItem>& stored) {
  return asked.empty() ? most_measured(layout, stored) : parse_scale(asked);
}

struct PaperItem {
  Experiment layout, shown;
  Table table;
};

PaperItem paper_item(const std::string& name, const std::string& scale, const std::string& db,
                     const ReportOptions& options,
                     const std::map<std::string, StoredItem>& stored) {
  PaperItem item;
  item.layout = load_layout(name, Catalogue::embedded());
  const Scale chosen = choose_scale(item.layout, scale, stored);
  item.shown =
      chosen == Scale::kFull ? item.layout : load_layout(name, Catalogue::embedded(), chosen);
  item.table =
      report_paper(db, item.layout, item.shown, {.include_tainted = options.include_tainted});
  return item;
}

// What a figure of the paper is drawn from.
struct Drawing {
  const char* script = nullptr;
  Table table;
};

// Rows and columns of a heat map, with the text of each cell.
Table heat_table(const Table& paper) {
  const auto at = [&](const char* name) {
    const auto found = std::find(paper.columns.begin(), paper.columns.end(), name);
    return static_cast<size_t>(found - paper.columns.begin());
  };
  Table heat;
  heat.name = "heat";
  heat.columns = {"row", "column", "value", "text"};
  for (const auto& row : paper.rows) {
    const auto& quantity = std::get<std::string>(row[at("quantity")]);
    const auto* value = std::get_if<double>(&row[at("measured")]);
    if (quantity != "accuracy" || value == nullptr) continue;
    heat.rows.push_back({row[at("row")], row[at("column")], *value, fmt::format("{:.1f}", *value)});
  }
  return heat;
}

// The schedule of a picture item, layer by step; `which` of the file's.
Drawing picture_of(const PaperItem& item, size_t which) {
  const auto& schedule = item.layout.schedules[which];
  return {"schedule", schedule_picture(schedule.rules, item.layout.networks.at(0).text,
                                       stand_in_method(Catalogue::embedded()), /*steps=*/8,
                                       /*steps_per_epoch=*/100, /*total_steps=*/1000)};
}

Drawing drawing_of(const PaperItem& item, const std::string& db, const ReportOptions& options,
                   const std::map<std::string, StoredItem>& stored) {
  const auto& kind = item.layout.paper.kind;
  if (item.layout.kind == ItemKind::kStudy) {
    static const std::map<std::string, const char*> scripts = {
        {"matmul-error", "matmul_error"},
        {"layer-times", "layer_times"},
        {"pruned-channels", "pruned_channels"},
        {"densities", "pruning_histogram"}};
    const auto script = scripts.find(item.layout.study.name);
    const bool measured = stored.contains(item.shown.id) && item.table.rows.size() > 1;
    return {script == scripts.end() || !measured ? nullptr : script->second, item.table};
  }
  if (item.layout.kind == ItemKind::kKernels) return {"kernels", report_kernels(db)};
  if (item.layout.kind == ItemKind::kPicture) return picture_of(item, 0);
  if (item.layout.kind != ItemKind::kRuns || !stored.contains(item.shown.id)) return {};
  ReportOptions only = options;
  only.experiment = item.shown.id;
  if (kind == "curves") return {"curves", report_curves(db, only)};
  if (kind == "heat") return {"heat", heat_table(item.table)};
  if (kind == "bars") return {"bars", item.table};
  auto front = report_pareto(db, only);
  // Of what was not timed, the numbers themselves.
  if (front.rows.size() < 2) return {"bars", item.table};
  return {"pareto", std::move(front)};
}

void write_paper(const ReportFlags& flags, const GlobalOptions& options) {
  const auto stored = stored_items(options.db);
  const auto item = paper_item(flags.item, flags.scale, options.db, flags.report, stored);
  if (flags.format != "svg" && flags.format != "png") return write(item.table, flags, nullptr);
  const auto drawing = drawing_of(item, options.db, flags.report, stored);
  if (drawing.script == nullptr || drawing.table.rows.empty()) {
    throw usage_error("{}: there is nothing to draw yet; see --format md", item.layout.item);
  }
  put(draw(drawing.script, render(drawing.table, "csv"), flags.format), flags);
}

// --- the page ---

class PageMaker {
 public:
  PageMaker(const GlobalOptions& options, const ReportFlags& flags)
      : db_(options.db), flags_(flags), stored_(stored_items(options.db)) {}

  std::string make() {
    page_.title = "approxtrain: is approximate training worth it?";
    page_.summary =
        "What was measured, beside what the papers report. Every number comes from the store this "
        "page was made from; nothing on it was typed.";
    add("advice", "Is it worth using?",
        "Each method against dense training on the same seeds, "
        "data and machine.",
        report_advice(db_, flags_.report), nullptr);
    add("pareto", "Speed against accuracy", "", report_pareto(db_, flags_.report), "pareto");
    add("tta", "Time to target", "", report_tta(db_, flags_.report), "tta");
    add_papers();
    add("table", "All rows", "", report_table(db_, flags_.report), nullptr);
    add("kernels", "Kernels", "One product of one layer at a time.", report_kernels(db_),
        "kernels");
    add_provenance();
    return render_html(page_);
  }

 private:
  void add(const char* id, const char* title, const char* text, Table table, const char* script) {
    if (table.rows.empty()) return;
    HtmlSection section{.id = id, .title = title, .text = text};
    section.attributes = {{"part", "summary"}};
    if (script != nullptr) add_figure(section, title, script, table);
    table.title.clear();
    section.tables.push_back(std::move(table));
    page_.sections.push_back(std::move(section));
  }

  void add_figure(HtmlSection& section, const std::string& title, const char* script,
                  const Table& table) const {
    const std::string csv = render(table, "csv");
    HtmlFigure figure{.title = title, .csv = csv};
    try {
      figure.svg = draw(script, csv, "svg");
    } catch (const Error& error) {
      figure.caption = fmt::format("Not drawn: {}", error.what());
    }
    section.figures.push_back(std::move(figure));
  }

  void add_papers() {
    for (const auto& [name, path] : known_experiments()) {
      PaperItem item;
      try {
        item = paper_item(path, flags_.scale, db_, flags_.report, stored_);
      } catch (const Error& error) {
        std::fputs((printable(error.what()) + "\n").c_str(), stderr);
        continue;
      }
      if (item.layout.paper.item.empty()) continue;
      const bool measured = stored_.contains(item.shown.id);
      HtmlSection section{.id = item.layout.item, .title = item.layout.title};
      section.text =
          item.layout.kind == ItemKind::kNotRun
              ? "NOT RUN: " + item.layout.not_run
              : fmt::format("{} scale{}{}", approx::name(item.shown.scale),
                            item.shown.scale_note.empty() ? "" : ": ", item.shown.scale_note);
      section.attributes = {{"paper", name.substr(0, name.find(':'))},
                            {"state", item.layout.kind == ItemKind::kPicture ? "a picture"
                                      : measured                             ? "measured"
                                                                             : "not run"}};
      if (item.layout.kind == ItemKind::kPicture) {
        for (size_t i = 0; i < item.layout.schedules.size(); ++i) {
          const auto picture = picture_of(item, i);
          add_figure(section, item.layout.schedules[i].label, picture.script, picture.table);
        }
      } else if (measured) {
        const auto drawing = drawing_of(item, db_, flags_.report, stored_);
        if (drawing.script != nullptr && !drawing.table.rows.empty()) {
          add_figure(section, item.layout.paper.item, drawing.script, drawing.table);
        }
      }
      item.table.title.clear();
      section.tables.push_back(std::move(item.table));
      page_.sections.push_back(std::move(section));
    }
  }

  void add_provenance() {
    auto store = open_snapshot(db_);
    for_each_row(store,
                 "SELECT DISTINCT hostname, cpu_model, gpu_model, n_cores FROM host ORDER BY 1",
                 [&](SQLite::Statement& row) {
                   std::string what = fmt::format("{}, {} cores", row.getColumn(1).getString(),
                                                  row.getColumn(3).getInt64());
                   if (const auto gpu = row.getColumn(2).getString(); !gpu.empty()) {
                     what += ", " + gpu;
                   }
                   page_.provenance.emplace_back("machine " + row.getColumn(0).getString(), what);
                 });
    for_each_row(store,
                 "SELECT DISTINCT git_sha, dirty, compiler, torch FROM build ORDER BY build_id",
                 [&](SQLite::Statement& row) {
                   page_.provenance.emplace_back(
                       "build " + row.getColumn(0).getString().substr(0, 12) +
                           (row.getColumn(1).getInt() != 0 ? " with uncommitted changes" : ""),
                       fmt::format("{}, LibTorch {}", row.getColumn(2).getString(),
                                   row.getColumn(3).getString()));
                 });
    for_each_row(
        store, "SELECT name, variant, sha256, lossy FROM dataset ORDER BY name, variant",
        [&](SQLite::Statement& row) {
          page_.provenance.emplace_back(
              fmt::format("data {} {}", row.getColumn(0).getString(), row.getColumn(1).getString()),
              row.getColumn(2).getString().substr(0, 16) +
                  (row.getColumn(3).getInt() != 0 ? ", went through JPEG" : ""));
        });
    for_each_row(store, "SELECT min(started_utc), max(started_utc), count(*) FROM run",
                 [&](SQLite::Statement& row) {
                   page_.provenance.emplace_back(
                       "runs",
                       fmt::format("{}, {} to {}", row.getColumn(2).getInt64(),
                                   row.getColumn(0).getString(), row.getColumn(1).getString()));
                 });
  }

  const std::string db_;
  const ReportFlags& flags_;
  const std::map<std::string, StoredItem> stored_;
  HtmlPage page_;
};

// --- comparison ---

void write_comparison(const ReportFlags& flags) {
  static const std::vector<std::string> gates = {"slower", "inferior", "differs"};
  for (const auto& gate : flags.fail_on) {
    if (std::find(gates.begin(), gates.end(), gate) == gates.end()) {
      throw usage_error("--fail-on: \"{}\"{}; known: {}", printable(gate),
                        did_you_mean(gate, gates), fmt::join(gates, ", "));
    }
  }
  std::vector<std::string> failures;
  const Table table = report_compare(flags.a, flags.b, flags.report, &failures);
  write(table, flags, nullptr);
  if (table.rows.empty() && !flags.fail_on.empty()) {
    std::fputs("approxtrain: --fail-on: the stores have no row in common, so nothing was checked\n",
               stderr);
    throw Exit{static_cast<int>(ErrorKind::kGate)};
  }
  int64_t failed = 0;
  for (const auto& failure : failures) {
    failed += std::count(flags.fail_on.begin(), flags.fail_on.end(), failure);
  }
  if (failed == 0) return;
  std::fputs(fmt::format("approxtrain: {} {} {}\n", failed, failed == 1 ? "row is" : "rows are",
                         fmt::join(flags.fail_on, " or "))
                 .c_str(),
             stderr);
  throw Exit{static_cast<int>(ErrorKind::kGate)};
}

}  // namespace

void add_report(CLI::App& app, GlobalOptions& options) {
  auto* report = app.add_subcommand("report", "Tables, figures and a page of what the store holds");
  report->footer(
      "approxtrain report paper wang2019:table5\n"
      "approxtrain report html --out report.html");
  const auto flags = std::make_shared<ReportFlags>();
  flags->report.catalogue = &Catalogue::embedded();
  add_choice(*report, "--format", flags->format,
             {"md", "csv", "json", "jsonl", "tex", "svg", "png"},
             "Markdown (the default), CSV, one JSON document, a JSON object a line, a LaTeX table; "
             "svg and png draw what has a picture");
  report->add_option("--out", flags->out, "Write to a file, not to standard output");
  report->add_flag("--include-tainted", flags->report.include_tainted,
                   "Count timing runs that were disturbed or shared the machine");
  add_real(*report, "--margin", flags->report.margin, 0.001, 100,
           "Points of accuracy that a method may lose (default 0.5)");
  report
      ->add_option_function<std::string>(
          "--target",
          [flags](const std::string& text) {
            const auto sign = text.find(">=");
            const std::string number = sign == std::string::npos ? text : text.substr(sign + 2);
            const bool named = sign == std::string::npos || text.substr(0, sign) == "accuracy";
            char* end = nullptr;
            const double value = std::strtod(number.c_str(), &end);
            if (!named || end == number.c_str() || *end != '\0' || !(value > 0 && value <= 1)) {
              throw usage_error("--target: \"{}\": expected a share such as 0.9 or accuracy>=0.9",
                                printable(text));
            }
            flags->report.target = value;
          },
          "Accuracy to reach, a share (tta, profile; default the experiment's, else from dense)")
      ->type_name("SHARE");
  // The options above may stand before or after the name of the table.
  const auto add_table = [&](const char* name, const char* about) {
    auto* table = report->add_subcommand(name, about);
    table->fallthrough();
    return table;
  };
  const auto add_experiment = [&](CLI::App* table) {
    table->add_option("EXPERIMENT", flags->report.experiment,
                      "Only the runs of this experiment (wang2019:table5)");
  };
  const auto add_scale = [&](CLI::App* table) {
    table
        ->add_option("--scale", flags->scale,
                     "full, reduced or smoke (default that with most results)")
        ->type_name("SCALE");
  };
  using Make = Table (*)(const std::string&, const ReportOptions&);
  struct Kind {
    const char* name;
    const char* about;
    Make make;
    const char* script;  // plots/NAME.gp
  };
  static constexpr Kind kKinds[] = {
      {"table", "Accuracy, loss against dense, speedup: one row a method", report_table, nullptr},
      {"tta", "Time to a target, with the runs that never reach it", report_tta, "tta"},
      {"pareto", "Speedup against loss, and what is on the front", report_pareto, "pareto"},
      {"profile", "Performance profiles over networks and data sets", report_profile, "profile"},
      {"curves", "Accuracy and loss over the epochs", report_curves, "curves"},
      {"layers", "What each product of each layer did", report_layers, "density"},
      {"advice", "Whether each method is worth using, and at what risk", report_advice, nullptr},
      {"runs", "Every attempt at every run", report_runs, nullptr}};
  add_experiment(report);
  std::vector<std::pair<CLI::App*, const Kind*>> tables;
  for (const auto& kind : kKinds) {
    auto* table = add_table(kind.name, kind.about);
    add_experiment(table);
    tables.emplace_back(table, &kind);
  }
  auto* kernels = add_table("kernels", "Kernel benchmarks: the last of each case");
  auto* paper = add_table("paper", "A table or figure of a paper, its numbers beside ours");
  paper->add_option("ITEM", flags->item, "Such as wang2019:table5; `list papers` has them")
      ->required();
  add_scale(paper);
  auto* compare = add_table("compare", "What is the same in two stores, B against A");
  compare->add_option("A", flags->a, "A database")->required();
  compare->add_option("B", flags->b, "Another")->required();
  compare
      ->add_option_function<std::string>(
          "--fail-on", [flags](const std::string& text) { flags->fail_on = split_list(text); },
          "End with exit code 4 if a row is slower, inferior or differs")
      ->type_name("VERDICT,...");
  auto* html = add_table("html", "Everything as one page that opens from disk");
  add_scale(html);
  report->require_subcommand(0, 1);
  report->callback([=, &options] {
    if (paper->parsed()) return write_paper(*flags, options);
    if (compare->parsed()) return write_comparison(*flags);
    if (html->parsed()) {
      if (!flags->format.empty()) throw usage_error("--format: the page is HTML and nothing else");
      return put(PageMaker(options, *flags).make(), *flags);
    }
    if (kernels->parsed()) return write(report_kernels(options.db), *flags, "kernels");
    for (const auto& [table, kind] : tables) {
      if (table->parsed())
        return write(kind->make(options.db, flags->report), *flags, kind->script);
    }
    write(report_table(options.db, flags->report), *flags, nullptr);
  });
}

}  // namespace approx
