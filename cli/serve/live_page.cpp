#include "cli/serve/live_page.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "cli/serve/line_chart.h"
#include "cli/serve/method_colours.h"
#include "results/render/html_text.h"
#include "results/render/shown_columns.h"

namespace approx {

extern const char* const kReportCss;  // results/render/report.css
extern const char* const kLiveCss;    // cli/serve/live.css
extern const char* const kLiveJs;     // cli/serve/live.js

namespace {

// More are not read, and cost time to send and to lay out.
constexpr size_t kMostRows = 300, kMostLines = 40, kMostValues = 60;

const std::string& fact(const LiveRun& run, std::string_view key) {
  return run.facts[fact_named(key)];
}

// Whether a fact of a run is unknown because the run has not begun. Such a run does not count as
// different from others.
bool is_unknown(const LiveRun& run, size_t at) {
  return run.run_id == 0 && run.facts[at].empty() && kFacts[at].key != std::string_view("schedule");
}

std::string counted(size_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

// `more`: attributes.
std::string part(std::string_view id, std::string_view inner, std::string_view more = "") {
  return fmt::format("<div class=\"part\" id=\"{}\"{}>\n{}</div>\n", id, more, inner);
}

std::string section(std::string_view id, std::string_view title, std::string_view inner) {
  return part(id, inner.empty() ? ""
                                : fmt::format("<section aria-labelledby=\"_{0}\">\n<h2 id=\"_{0}\">"
                                              "{1}</h2>\n{2}</section>\n",
                                              id, title, inner));
}

// --- how it stands ---

std::string now_part(const LiveStore& store) {
  std::map<std::string, size_t> states;
  for (const auto& run : store.runs()) ++states[fact(run, "state")];
  const auto take = [&](const std::string& state) {
    const auto found = states.find(state);
    const size_t count = found == states.end() ? 0 : found->second;
    if (found != states.end()) states.erase(found);
    return count;
  };
  const size_t done = take("finished") + take("finished, tainted") + take("diverged");
  const size_t at_work = take("running"), to_do = take("to do");
  std::string text =
      fmt::format("{} of {} done", done, counted(store.runs().size(), "run", "runs"));
  if (at_work > 0) text += fmt::format(", {} at work", at_work);
  if (to_do > 0) text += fmt::format(", {} to do", to_do);
  for (const auto& [state, count] : states) text += fmt::format(", {} {}", count, state);
  if (store.runs().empty()) text = "No trainings yet";
  std::string out = fmt::format("<p class=\"now\" data-short=\"{}/{}\">{}.</p>\n", done,
                                store.runs().size(), html_escape(text));
  if (!store.problem().empty()) {
    out += fmt::format("<p class=\"problem\">{}</p>\n", html_escape(store.problem()));
  }
  return part("now", out, " aria-live=\"polite\"");
}

// --- filters ---

// The id of a box. It depends on the fact and the value alone, so the page can restore the focus
// after it was renewed.
std::string box_id(const Fact& about, const std::string& value) {
  return fmt::format("f-{}-{:x}", about.key, std::hash<std::string>()(value));
}

std::string fact_boxes(const LiveStore& store, const Choice& choice, size_t at) {
  const Fact& about = kFacts[at];
  std::vector<std::pair<std::string, size_t>> values;  // with how many runs are shown by each
  const auto place = [&](const std::string& value) {
    const auto found =
        std::ranges::find(values, value, [](const auto& pair) { return pair.first; });
    return found == values.end() ? values.insert(found, std::pair(value, size_t{0})) : found;
  };
  for (const auto& run : store.runs()) {
    if (is_unknown(run, at)) continue;
    const auto found = place(run.facts[at]);
    if (choice.shows(run, at)) ++found->second;
  }
  const auto chosen = choice.facts.find(about.key);
  const bool used = chosen != choice.facts.end();
  if (values.size() < 2 && !used) return "";
  if (used) {
    for (const auto& value : chosen->second) place(value);
  }
  std::string out = fmt::format("<fieldset>\n<legend>{}</legend>\n", html_escape(about.word));
  size_t shown = 0;
  for (const auto& [value, count] : values) {
    const bool checked = used && chosen->second.contains(value);
    if (++shown > kMostValues && !checked) continue;
    out += fmt::format(
        "<label><input type=\"checkbox\" id=\"{}\" name=\"{}\" value=\"{}\"{}> <span>{}</span> "
        "<span class=\"count\">{}</span></label>\n",
        box_id(about, value), about.key, html_escape(value), checked ? " checked" : "",
        value.empty() ? "<em>none</em>" : html_escape(value), count);
  }
  if (shown > kMostValues) {
    out += fmt::format("<p class=\"none\">and {} more</p>\n", shown - kMostValues);
  }
  return out + "</fieldset>\n";
}

std::string filters_part(const LiveStore& store, const Choice& choice) {
  std::string out = "<fieldset>\n<legend>curves against</legend>\n";
  for (const bool time : {false, true}) {
    const char* word = time ? "time" : "epoch";
    out += fmt::format(
        "<label><input type=\"radio\" id=\"x-{0}\" name=\"x\" value=\"{0}\"{1}> <span>{0}</span>"
        "</label>\n",
        word, time == choice.by_time ? " checked" : "");
  }
  out += "</fieldset>\n";
  for (size_t i = 0; i < kFacts.size(); ++i) out += fact_boxes(store, choice, i);
  if (!choice.facts.empty()) out += "<p><a id=\"all\" href=\"./\">Show everything</a></p>\n";
  return part("filters", out);
}

// --- tables ---

std::string sweeps_part(const LiveStore& store) {
  if (store.sweeps().empty()) return part("sweeps", "");
  return section("sweeps", "Sweeps", html_table(status_table(store.sweeps()), "_t1", "sweeps"));
}

// The rows of `report table` to which the shown runs belong, with the columns of a screen.
std::string verdicts_part(const LiveStore& store, const std::vector<const LiveRun*>& runs) {
  Table table = store.verdicts();
  constexpr std::array kKeys = {"network", "dataset", "schedule", "method"};
  std::array<size_t, kKeys.size()> at{};
  for (size_t i = 0; i < kKeys.size(); ++i) {
    at[i] = static_cast<size_t>(std::ranges::find(table.columns, kKeys[i]) - table.columns.begin());
    if (at[i] == table.columns.size()) return part("verdicts", "");
  }
  std::set<std::array<std::string, kKeys.size()>> shown;
  for (const auto* run : runs) {
    shown.insert({fact(*run, "network"), fact(*run, "dataset"), fact(*run, "schedule"),
                  fact(*run, "method")});
  }
  Table kept = table;
  kept.rows.clear(), kept.text_rows.clear();
  for (size_t row = 0; row < table.rows.size(); ++row) {
    std::array<std::string, kKeys.size()> key;
    for (size_t i = 0; i < key.size(); ++i) key[i] = text_of(table.rows[row][at[i]]);
    if (!shown.contains(key)) continue;
    kept.rows.push_back(table.rows[row]);
    if (row < table.text_rows.size()) kept.text_rows.push_back(table.text_rows[row]);
  }
  if (kept.rows.empty()) return part("verdicts", "");
  ShownTable screen = shown_columns(kept, {}, /*all=*/false);
  Table fitted = {.name = "table", .columns = kept.columns, .rows = kept.rows};
  fitted.text_columns = std::move(screen.text.columns);
  fitted.text_rows = std::move(screen.text.rows);
  fitted.starred = std::move(screen.text.starred);
  fitted.notes = kept.notes;
  std::string out;
  if (kept.rows.size() == table.rows.size() && !table.screen.headline.empty()) {
    out += "<p>" + html_escape(table.screen.headline) + "</p>\n";
  }
  if (!screen.shared.empty()) {
    out += "<p class=\"shared\">" + html_escape(shared_text(screen.shared)) + "</p>\n";
  }
  return section("verdicts", "Methods", out + html_table(fitted, "_t2", "methods"));
}

// Sorts runs at work first, then the others by their beginning, the latest first. Runs that have
// not begun come last.
std::vector<const LiveRun*> by_interest(std::vector<const LiveRun*> runs) {
  std::ranges::stable_sort(runs, [](const LiveRun* a, const LiveRun* b) {
    if (a->at_work != b->at_work) return a->at_work;
    return a->started > b->started;
  });
  return runs;
}

// The facts in which runs differ; always the state.
std::vector<size_t> differing_facts(const std::vector<const LiveRun*>& runs) {
  std::vector<size_t> found;
  for (size_t i = 0; i < kFacts.size(); ++i) {
    std::set<std::string_view> values;
    for (const auto* run : runs) {
      if (!is_unknown(*run, i)) values.insert(run->facts[i]);
    }
    if (values.size() > 1 || kFacts[i].key == std::string_view("state")) found.push_back(i);
  }
  return found;
}

std::string number_or_dash(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "–";
}

// "2026-11-22T22:15:00Z" as a person reads it, in one piece.
std::string time_text(const std::string& utc) {
  std::string text = utc.substr(0, 19);
  if (const size_t at = text.find('T'); at != text.npos) text.replace(at, 1, "\u00a0");
  return text;
}

std::string runs_part(const std::vector<const LiveRun*>& chosen) {
  if (chosen.empty()) return part("runs", "");
  const auto facts = differing_facts(chosen);
  SharedValues shared;
  for (size_t i = 0; i < kFacts.size(); ++i) {
    const bool same = std::ranges::find(facts, i) == facts.end();
    if (!same) continue;
    const auto known =
        std::ranges::find_if(chosen, [&](const LiveRun* run) { return !run->facts[i].empty(); });
    if (known != chosen.end()) shared.emplace_back(kFacts[i].word, (*known)->facts[i]);
  }
  auto runs = by_interest(chosen);
  Table table = {.name = "runs"};
  if (runs.size() > kMostRows) {
    table.notes.push_back(
        fmt::format("{} of {} runs: runs at work come first, then the latest; the filter finds "
                    "the others",
                    kMostRows, runs.size()));
    runs.resize(kMostRows);
  }
  const bool any_error = std::ranges::any_of(runs, [](auto* run) { return !run->error.empty(); });
  table.columns = {"run"};
  table.text_columns = {"run"};
  for (const size_t i : facts) {
    table.columns.emplace_back(kFacts[i].key);
    table.text_columns.emplace_back(kFacts[i].word);
  }
  for (const auto& [name, header] :
       {std::pair("epoch", "epoch"), std::pair("accuracy_pct", "accuracy %"),
        std::pair("train_s", "train s"), std::pair("started_utc", "began (UTC)")}) {
    table.columns.emplace_back(name);
    table.text_columns.emplace_back(header);
  }
  if (any_error) table.columns.emplace_back("error"), table.text_columns.emplace_back("error");
  // These stay columns also where all runs have one value, since that changes while a sweep runs.
  table.screen.results = {"state", "epoch", "accuracy %", "train s", "began (UTC)"};
  for (const auto* run : runs) {
    const auto percent = run->accuracy ? std::optional(100 * *run->accuracy) : std::nullopt;
    auto& values = table.rows.emplace_back();
    auto& texts = table.text_rows.emplace_back();
    const auto add = [&](Field value, std::string text) {
      values.push_back(std::move(value));
      texts.push_back(std::move(text));
    };
    add(run->run_id != 0 ? Field(run->run_id) : Field(),
        run->run_id != 0 ? fmt::to_string(run->run_id) : "–");
    for (const size_t i : facts) add(Field(run->facts[i]), run->facts[i]);
    add(field(run->epoch), number_or_dash(run->epoch, 0));
    add(field(percent), number_or_dash(percent, 2));
    add(field(run->train_s), number_or_dash(run->train_s, 1));
    add(Field(run->started), time_text(run->started));
    if (any_error) add(Field(run->error), run->error);
  }
  std::string out;
  if (!shared.empty()) {
    out += "<p class=\"shared\">" + html_escape(shared_text(shared)) + "</p>\n";
  }
  return section("runs", "Runs", out + html_table(table, "_t3", "runs"));
}

// --- curves ---

std::string legend(const std::vector<std::string>& methods,
                   const std::map<std::string, std::string>& colours) {
  std::string out = "<ul class=\"legend\">\n";
  for (const auto& method : methods) {
    const auto& colour = colours.at(method);
    out += fmt::format(
        "<li><svg viewBox=\"0 0 16 8\" aria-hidden=\"true\"><path d=\"M0 4H16\" stroke=\"{}\" "
        "stroke-width=\"3\"/></svg> {}</li>\n",
        colour == "#000000" ? "currentColor" : colour, html_escape(method));
  }
  return out + "</ul>\n";
}

std::string figure(const Chart& chart) {
  const std::string svg = line_chart(chart);
  if (svg.empty()) return "";
  return fmt::format("<figure>\n<h3>{}</h3>\n{}</figure>\n", html_escape(chart.title), svg);
}

// A line a run, in the colour of its method.
std::string curves_part(const LiveStore& store, const Choice& choice,
                        const std::vector<const LiveRun*>& chosen) {
  std::vector<std::string> methods;  // of all runs: a filter changes no colour
  for (const auto& run : store.runs()) {
    if (std::ranges::find(methods, fact(run, "method")) == methods.end()) {
      methods.push_back(fact(run, "method"));
    }
  }
  const auto colours = method_colours(methods);
  const std::string x = choice.by_time ? "seconds of training" : "epoch";
  Chart accuracy = {.title = "Accuracy", .x = x, .y = "accuracy, %", .lines = {}};
  Chart loss = {.title = "Loss on training images", .x = x, .y = "loss", .lines = {}};
  std::set<std::string> drawn;
  size_t lines = 0, left_out = 0;
  const auto add = [&](const LiveRun& run, const std::vector<LivePoint>& points, double unit,
                       Chart& chart) {
    ChartLine line = {.label = run.label + (run.at_work ? ", at work" : ""),
                      .colour = colours.at(fact(run, "method")),
                      .open = run.at_work,
                      .points = {}};
    for (const auto& point : points) {
      line.points.emplace_back(choice.by_time ? point.seconds : point.epoch, unit * point.value);
    }
    chart.lines.push_back(std::move(line));
  };
  for (const auto* run : by_interest(chosen)) {
    if (run->run_id == 0 || fact(*run, "purpose") != "accuracy") continue;
    if (lines == kMostLines) {
      ++left_out;
      continue;
    }
    const LiveCurve curve = store.curve(*run);
    if (curve.accuracy().empty() && curve.loss.empty()) continue;
    ++lines;
    drawn.insert(fact(*run, "method"));
    add(*run, curve.accuracy(), 100, accuracy);
    add(*run, curve.loss, 1, loss);
  }
  const std::string figures = figure(accuracy) + figure(loss);
  if (figures.empty()) return part("curves", "");
  std::erase_if(methods, [&](const auto& method) { return !drawn.contains(method); });
  std::string out = "<div class=\"charts\">\n" + figures + "</div>\n" + legend(methods, colours);
  out += "<p class=\"none\">A line is a run. Bold lines are at work.";
  if (left_out > 0) {
    out += fmt::format(
        " {} are drawn: runs at work first, then the latest. {} are not; the filter "
        "finds them.",
        counted(lines, "run", "runs"), left_out);
  }
  return section("curves", "Curves", out + "</p>\n");
}

std::string main_parts(const LiveStore& store, const Choice& choice) {
  const auto runs = chosen_runs(store, choice);
  std::string out;
  if (runs.empty() && !store.runs().empty()) {
    out = "<p class=\"none\">No run fits the filter.</p>\n";
  }
  return now_part(store) + part("empty", out) + sweeps_part(store) + verdicts_part(store, runs) +
         curves_part(store, choice, runs) + runs_part(runs);
}

}  // namespace

bool Choice::shows(const LiveRun& run, size_t except) const {
  for (const auto& [key, values] : facts) {
    const size_t at = fact_named(key);
    if (at != except && !values.contains(run.facts[at])) return false;
  }
  return true;
}

Choice choice_of(const HttpFields& query) {
  Choice choice;
  for (const auto& [name, value] : query) {
    if (fact_named(name) < kFacts.size()) choice.facts[name].insert(value);
    if (name == "x") choice.by_time = value == "time";
  }
  return choice;
}

std::vector<const LiveRun*> chosen_runs(const LiveStore& store, const Choice& choice) {
  std::vector<const LiveRun*> runs;
  for (const auto& run : store.runs()) {
    if (choice.shows(run)) runs.push_back(&run);
  }
  return runs;
}

std::string live_parts(const LiveStore& store, const Choice& choice) {
  return filters_part(store, choice) + main_parts(store, choice);
}

std::string live_page(const LiveStore& store, const Choice& choice, const std::string& nonce) {
  const std::string name = std::filesystem::path(store.path()).filename().string();
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en-GB\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n";
  out += fmt::format("<title>{}</title>\n<style nonce=\"{}\">\n{}{}</style>\n</head>\n",
                     html_escape(name), nonce, kReportCss, kLiveCss);
  out += "<body id=\"_top\">\n<a class=\"skip\" href=\"#_report\">Skip to the results</a>\n";
  out += fmt::format("<div class=\"page\">\n<header>\n<h1>{}</h1>\n", html_escape(name));
  out +=
      "<p id=\"link\" class=\"link\" data-state=\"off\">Reload to renew this page."
      "</p>\n</header>\n";
  // A browser without scripts sends the form.
  out +=
      "<aside>\n<details class=\"fold\" id=\"fold\">\n<summary>Filter</summary>\n"
      "<form id=\"filter\" method=\"get\" action=\"./\" autocomplete=\"off\">\n" +
      filters_part(store, choice) +
      "<noscript><button>Apply</button></noscript>\n</form>\n</details>\n</aside>\n";
  out += "<main id=\"_report\">\n" + main_parts(store, choice) + "</main>\n";
  out += "<footer><a href=\"#_top\">Back to the top</a></footer>\n</div>\n";
  return out +
         fmt::format("<script nonce=\"{}\">\n{}</script>\n</body>\n</html>\n", nonce, kLiveJs);
}

}  // namespace approx
