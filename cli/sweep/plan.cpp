#include "cli/sweep/plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

#include "cli/text.h"
#include "core/experiment/run_choice.h"
#include "results/render/text_table.h"
#include "results/store/run_times.h"

namespace approx {
namespace {

// What the store, where there is one, knows of the runs: a dry run writes nothing.
std::vector<CellStatus> statuses(const Experiment& experiment, const std::string& db) {
  std::vector<CellStatus> known(experiment.runs().size());
  std::error_code error;
  if (!std::filesystem::exists(db, error)) return known;
  const RunStore store(db, RunStore::Mode::kRead);
  for (size_t i = 0; i < known.size(); ++i) {
    if (experiment.runs()[i].excluded.empty()) known[i] = store.status(experiment.runs()[i].key);
  }
  return known;
}

std::string stored_state(const CellStatus& status) {
  return std::string(status.state ? name(*status.state) : "");
}

// What runs take one by one, as far as it is known.
struct TimeLeft {
  double seconds = 0;
  int64_t known = 0;

  void add(const std::optional<double>& expected) {
    seconds += expected.value_or(0);
    known += expected ? 1 : 0;
  }

  std::string text(int64_t runs) const {
    if (known == 0) return "";
    const auto time = std::chrono::seconds(static_cast<int64_t>(std::ceil(seconds)));
    const std::string of = known == runs ? "" : fmt::format(" for {} of them", known);
    return fmt::format("; about {}{} one by one, by runs in the store", format_duration(time), of);
  }
};

class Plan {
 public:
  Plan(const Experiment& experiment, const std::string& db, const SweepOptions& sweep)
      : experiment_(experiment), known_(statuses(experiment, db)), times_(db), sweep_(sweep) {}

  void print_json() const {
    const auto names = run_names(experiment_.runs());
    Json runs = Json::array();
    for (size_t i = 0; i < known_.size(); ++i) {
      const auto& run = experiment_.runs()[i];
      const bool excluded = !run.excluded.empty();
      const auto seconds = excluded ? std::nullopt : times_.expected(run.config);
      runs.push_back({{"run_key", excluded ? Json(nullptr) : Json(run.key)},
                      {"method", run.method_label},
                      {"schedule", run.schedule_label},
                      {"network", run.network_label},
                      {"name", names[i]},
                      {"state", stored_state(known_[i])},
                      {"tainted", known_[i].tainted},
                      {"to_do", is_to_do(i)},
                      {"excluded", run.excluded},
                      {"expected_s", seconds ? Json(*seconds) : Json(nullptr)},
                      {"config", run.config}});
    }
    const Json plan = {{"schema", "approxtrain.plan/1"},
                       {"experiment", experiment_.id},
                       {"title", experiment_.title},
                       {"runs", runs}};
    std::fputs((json_text(plan, 2) + "\n").c_str(), stdout);
  }

  void print_table() const {
    const auto apart = settings_apart(experiment_.runs());
    const bool has_settings =
        std::any_of(apart.begin(), apart.end(), [](const auto& text) { return !text.empty(); });
    std::vector<std::vector<std::string>> rows;
    int64_t to_do = 0, excluded = 0;
    TimeLeft left;
    for (size_t i = 0; i < known_.size(); ++i) {
      const auto& run = experiment_.runs()[i];
      excluded += !run.excluded.empty();
      if (is_to_do(i)) {
        ++to_do;
        left.add(times_.expected(run.config));
      }
      auto& row = rows.emplace_back(std::vector<std::string>{
          run.excluded.empty() ? run.key.substr(0, 12) : "-", run.method_label, run.schedule_label,
          run.network_label, run.config.dataset, std::string(name(run.config.purpose)),
          fmt::format("{}", run.config.seed)});
      if (has_settings) row.push_back(apart[i]);
      row.push_back(state_text(i));
    }
    std::vector<std::string> header = {"run",      "method",  "schedule", "network",
                                       "data set", "purpose", "seed"};
    if (has_settings) header.emplace_back("setting");
    header.emplace_back("state");
    std::fputs(markdown_table(header, rows).c_str(), stdout);
    const std::string line =
        fmt::format("\n{}: {} runs, {} to do, {} excluded{}\n", experiment_.id,
                    rows.size() - static_cast<size_t>(excluded), to_do, excluded, left.text(to_do));
    std::fputs(line.c_str(), stdout);
  }

 private:
  bool is_to_do(size_t i) const {
    return experiment_.runs()[i].excluded.empty() && needs_run(known_[i], sweep_.rerun);
  }

  std::string state_text(size_t i) const {
    const auto& reason = experiment_.runs()[i].excluded;
    if (!reason.empty()) return "excluded: " + reason;
    std::string state = known_[i].state ? stored_state(known_[i]) : "to do";
    if (known_[i].tainted) state += ", tainted";
    if (known_[i].state && is_to_do(i)) state += ", to do again";
    return state;
  }

  const Experiment& experiment_;
  const std::vector<CellStatus> known_;
  const RunTimes times_;
  const SweepOptions& sweep_;
};

}  // namespace

void print_plan(const Experiment& experiment, const std::string& db, const SweepOptions& sweep,
                bool as_json) {
  const Plan plan(experiment, db, sweep);
  as_json ? plan.print_json() : plan.print_table();
}

}  // namespace approx
