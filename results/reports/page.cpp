#include "results/reports/page.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "core/experiment/files.h"
#include "results/records/items.h"
#include "results/render/html.h"
#include "results/reports/page_summary.h"
#include "results/reports/paper_figure.h"
#include "results/reports/report.h"

namespace approx {
namespace {

// Takes out the rows of a study that its picture shows point by point, thousands of them.
void leave_to_picture(Table& table) {
  const auto part = std::ranges::find(table.columns, "part");
  if (part == table.columns.end() || !table.text_columns.empty()) return;
  const auto column = static_cast<size_t>(part - table.columns.begin());
  const size_t drawn = std::erase_if(table.rows, [&](const std::vector<Field>& row) {
    const auto* text = std::get_if<std::string>(&row[column]);
    return text != nullptr && (*text == "histogram" || *text == "pixel");
  });
  if (drawn == 0) return;
  table.notes.push_back(
      fmt::format("{} rows more are drawn above; report paper --format csv has them", drawn));
}

// Whether a table has all that a figure was drawn from, so that it needs no file of its own.
bool has_all_of(const Table& table, const Table& drawn) {
  return table.rows.size() == drawn.rows.size() && table.columns.size() <= drawn.columns.size() &&
         std::equal(table.columns.begin(), table.columns.end(), drawn.columns.begin());
}

// Machines, builds, data sets and runs, a line each: what it is ("machine NAME"), and what is known
// of it.
std::vector<std::pair<std::string, std::string>> provenance_of(const Snapshot& snapshot) {
  std::vector<std::pair<std::string, std::string>> lines;
  auto& db = snapshot.db();
  const auto is_set = [](SQLite::Statement& row, int at) {
    return row.getColumn(at).getInt() != 0;
  };
  for_each_row(db, "SELECT DISTINCT hostname, cpu_model, gpu_model, n_cores FROM host ORDER BY 1",
               [&](SQLite::Statement& row) {
                 const std::string gpu = text_at(row, 2);
                 lines.emplace_back("machine " + text_at(row, 0),
                                    fmt::format("{}, {} cores", text_at(row, 1), text_at(row, 3)) +
                                        (gpu.empty() ? "" : ", " + gpu));
               });
  for_each_row(db,
               "SELECT DISTINCT git_sha, dirty, compiler, torch FROM build WHERE build_id IN "
               "(SELECT build_id FROM run UNION SELECT build_id FROM kernel_run UNION "
               "SELECT build_id FROM study_run) ORDER BY build_id",
               [&](SQLite::Statement& row) {
                 lines.emplace_back(
                     "build " + text_at(row, 0).substr(0, 12) +
                         (is_set(row, 1) ? " with uncommitted changes" : ""),
                     fmt::format("{}, LibTorch {}", text_at(row, 2), text_at(row, 3)));
               });
  for_each_row(db, "SELECT name, variant, sha256, lossy FROM dataset ORDER BY name, variant",
               [&](SQLite::Statement& row) {
                 lines.emplace_back(
                     fmt::format("data {} {}", text_at(row, 0), text_at(row, 1)),
                     text_at(row, 2).substr(0, 16) + (is_set(row, 3) ? ", went through JPEG" : ""));
               });
  for_each_row(db, "SELECT min(started_utc), max(started_utc), count(*) FROM run",
               [&](SQLite::Statement& row) {
                 lines.emplace_back("runs", fmt::format("{}, {} to {}", text_at(row, 2),
                                                        text_at(row, 0), text_at(row, 1)));
               });
  return lines;
}

class PageMaker {
 public:
  PageMaker(const Snapshot& snapshot, const ReportOptions& options, std::string scale,
            const DrawSvg& draw, std::vector<std::string>& problems, const CommandText& command)
      : snapshot_(snapshot),
        options_(options),
        scale_(std::move(scale)),
        draw_(draw),
        problems_(problems),
        command_(command) {}

  HtmlPage make() {
    page_.title = "approxtrain: is approximate training worth it?";
    const Table all_rows = find_report("table").make(snapshot_, with_verdicts());
    add_summary(all_rows);
    add_report("advice", "Is it worth using?",
               "Each method against dense training on the same seeds and data.");
    add_breakeven();
    add_report("pareto", "Speed against accuracy", "");
    add_report("tta", "Time to target", "");
    add_papers();
    add_report("table", "All rows", "", all_rows);
    add_report(
        "cascade", "From a product to a training",
        "Where the speed of a product goes: into its layer, the step, the time to a target.");
    add_report("kernels", "Kernels", "One product of one layer at a time.");
    add_report(
        "cards", "What the methods' cards need",
        "A card (docs/methods/) says where a method pays and where not; the last column says "
        "what this store lacks for that.");
    if (page_.next.empty()) page_.next = next_step();
    page_.provenance = provenance_of(snapshot_);
    return std::move(page_);
  }

 private:
  static const Report& find_report(const char* name) {
    return Registry<Report>::instance().find(name);
  }

  ReportOptions with_verdicts() const {
    ReportOptions options = options_;
    options.verdicts = true;
    return options;
  }

  std::string typed(const std::vector<std::string>& words) const {
    return command_ ? command_(words) : fmt::format("approxtrain {}", fmt::join(words, " "));
  }

  // On top of everything: what was compared, whether any of it is worth it, what is missing.
  void add_summary(const Table& all_rows) {
    auto summary = page_summary(snapshot_, with_verdicts(), all_rows,
                                [this](const auto& words) { return typed(words); });
    page_.summary = summary.sentence.empty() ? "No method has a verdict yet." : summary.sentence;
    page_.summary +=
        "\n\nEvery number comes from the store this page was made from; nothing on it was typed. A "
        "file of a table has seven digits of each number, report NAME --format csv has all.";
    if (!summary.next.empty()) page_.next = "What to do next: " + summary.next;
    HtmlSection section{.id = "summary", .title = "In short"};
    section.attributes = {{"part", "summary"}};
    section.listed = std::move(summary.compared);
    for (Table* table : {&summary.verdicts, &summary.missing}) {
      if (!table->text_rows.empty()) section.tables.push_back(std::move(*table));
    }
    if (!section.listed.empty()) page_.sections.push_back(std::move(section));
  }

  // An item that two cores could measure, that is not in the store yet, and whose paper has others
  // there; without one what the experiments of the store lack.
  std::string next_step() const {
    const std::string again = "make this page again with approxtrain report html.";
    for (const auto& [paper, item] : unmeasured_) {
      if (!measured_papers_.contains(paper)) continue;
      return fmt::format("What to do next: {} measures another item of its paper; then {}",
                         typed({"sweep", "@" + item, "--scale", "reduced"}), again);
    }
    return fmt::format("What to do next: {} says what each verdict rests on; add runs, and {}",
                       typed({"report", "advice"}), again);
  }

  void add_report(const char* name, const char* title, const char* text) {
    add_report(name, title, text, find_report(name).make(snapshot_, options_));
  }

  void add_report(const char* name, const char* title, const char* text, Table table) {
    if (table.rows.empty()) return;
    const Report& report = find_report(name);
    HtmlSection section{.id = name, .title = title, .text = text};
    section.attributes = {{"part", "summary"}};
    if (!report.script.empty()) add_figure(section, title, {report.script, table}, &table);
    add_table(section, std::move(table));
    page_.sections.push_back(std::move(section));
  }

  // The report is an error where a store has no exact trainings of several lengths.
  void add_breakeven() {
    try {
      add_report("breakeven", "How fast must a method be to pay?",
                 "A method pays where its speedup is above break-even: where it is above the black "
                 "curve, which exact trainings of several lengths make.");
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUsage) throw;
    }
  }

  static void add_table(HtmlSection& section, Table table) {
    table.title.clear();  // the section has it
    section.tables.push_back(std::move(table));
  }

  // `beside`: the table that stands below the figure, or none.
  void add_figure(HtmlSection& section, const std::string& title, const Drawing& drawing,
                  const Table* beside) const {
    constexpr size_t kMostRowsOfFile = 1000;
    const Table short_numbers = with_short_numbers(drawing.table);
    const std::string csv = render(short_numbers, "csv");
    HtmlFigure figure{.title = title};
    try {
      figure.svg = draw_(drawing.script, csv);
    } catch (const Error& error) {
      figure.caption = fmt::format("Not drawn: {}", error.what());
    }
    const bool offered = (beside == nullptr || !has_all_of(*beside, drawing.table)) &&
                         drawing.table.rows.size() <= kMostRowsOfFile;
    if (offered) figure.csv = csv;
    section.figures.push_back(std::move(figure));
  }

  void add_papers() {
    for (const auto& [name, path] : known_experiments()) {
      PaperItem item;
      try {
        item = paper_item(snapshot_, path, scale_, options_);
      } catch (const Error& error) {
        problems_.emplace_back(error.what());
        continue;
      }
      if (item.layout.paper.item.empty()) continue;
      add_paper(name.substr(0, name.find(':')), std::move(item));
    }
  }

  void add_paper(const std::string& paper, PaperItem item) {
    const Experiment& layout = item.layout;
    const bool measured = snapshot_.items().measured(item.shown);
    const auto* not_run = layout.as<NotRunItem>();
    const auto* picture = layout.as<PictureItem>();
    HtmlSection section{.id = layout.item, .title = layout.title};
    section.text = not_run != nullptr ? "NOT RUN: " + not_run->why
                                      : fmt::format("{} scale", approx::name(item.shown.scale));
    section.attributes = {{"paper", paper},
                          {"state", picture != nullptr ? "a picture"
                                    : measured         ? "measured"
                                                       : "not run"}};
    if (picture != nullptr) {
      for (const auto& schedule : picture->schedules) {
        add_figure(section, schedule.label,
                   picture_drawing(*picture, schedule, *options_.catalogue), nullptr);
      }
    } else if (measured) {
      const auto drawing = paper_drawing(snapshot_, item, options_);
      if (!drawing.empty()) {
        add_figure(section, layout.paper.item, drawing, &item.table);
        leave_to_picture(item.table);
      }
    }
    section.folded = !measured && picture == nullptr;
    const bool could_be =
        section.folded && not_run == nullptr &&
        std::count(layout.scales.begin(), layout.scales.end(), Scale::kReduced) > 0;
    if (could_be) unmeasured_.emplace_back(paper, layout.item);
    if (measured) measured_papers_.insert(paper);
    add_table(section, std::move(item.table));
    page_.sections.push_back(std::move(section));
  }

  std::vector<std::pair<std::string, std::string>> unmeasured_;  // paper and item
  std::set<std::string> measured_papers_;
  const Snapshot& snapshot_;
  const ReportOptions& options_;
  const std::string scale_;
  const DrawSvg& draw_;
  std::vector<std::string>& problems_;
  const CommandText& command_;
  HtmlPage page_;
};

}  // namespace

std::string report_page(const Snapshot& snapshot, const ReportOptions& options,
                        const std::string& scale, const DrawSvg& draw,
                        std::vector<std::string>& problems, const CommandText& command) {
  return render_html(PageMaker(snapshot, options, scale, draw, problems, command).make());
}

}  // namespace approx
