#include "results/reports/sweep_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/json.h"
#include "core/experiment/grid.h"
#include "results/render/column.h"
#include "results/store/ending.h"
#include "results/store/json_values.h"
#include "results/store/run_state.h"

namespace approx {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr size_t kMostFailures = 10;
constexpr std::streamoff kTail = 64 << 10;  // of a file of events

// The last lines of a run's events, of a file that may be of any size.
void read_last_events(const std::string& path, RunAtWork& run) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(0, std::ios::end);
  const std::streamoff size = in.tellg();
  if (!in || size <= 0) return;
  in.seekg(std::max<std::streamoff>(0, size - kTail));
  std::string line;
  if (size > kTail) std::getline(in, line);  // begins in its middle
  while (std::getline(in, line) && !in.eof()) {
    const Json event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (text_or(event, "event", "") != "metric") continue;
    run.epoch = integer_or_none(event, "epoch").value_or(run.epoch);
    const auto value = event.find("value");
    if (text_or(event, "name", "") == "accuracy" && text_or(event, "split", "train") != "train" &&
        value != event.end() && value->is_number()) {
      run.accuracy = value->get<double>();
    }
  }
}

RunAtWork at_work(const std::string& label, const std::string& host, const std::string& folder) {
  RunAtWork run{.label = label, .host = host};
  std::error_code error;
  run.here = fs::is_directory(folder, error);
  if (!run.here) return run;
  run.gone = gone({.run_directory = folder});
  const std::string events = folder + "/events.jsonl";
  const auto written = fs::last_write_time(events, error);
  if (!error) {
    run.silent = std::chrono::duration_cast<seconds>(fs::file_time_type::clock::now() - written);
  }
  read_last_events(events, run);
  return run;
}

std::string time_text(seconds time) {
  const auto s = time.count();
  if (s < 120) return fmt::format("{} s", s);
  if (s < 7200) return fmt::format("{} min", s / 60);
  return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
}

std::string line_of(const RunAtWork& run) {
  std::string text = run.label;
  if (run.epoch > 0) text += fmt::format(", epoch {}", run.epoch);
  if (run.accuracy) text += fmt::format(", accuracy {:.2f} %", 100 * *run.accuracy);
  if (!run.here) return fmt::format("running on {}: {}", run.host, text);
  if (run.gone) return fmt::format("gone, the next sweep takes it up: {}", text);
  if (run.silent) text += fmt::format(", {} since its last event", time_text(*run.silent));
  return "running: " + text;
}

}  // namespace

int64_t SweepStatus::runs() const {
  return finished + diverged + cut_off + to_do +
         static_cast<int64_t>(running.size() + failed.size());
}

std::vector<SweepStatus> sweep_status(const Snapshot& snapshot, const std::string& experiment) {
  std::vector<SweepStatus> sweeps;
  std::map<std::string, std::pair<double, int64_t>> wall;  // seconds and runs, by experiment
  // Of each cell the attempt that counts: the last with a result, else the last.
  for_each_row(
      snapshot.db(),
      "SELECT e.name, m.method_label, m.schedule_label, m.network_label, c.dataset, c.seed, "
      "r.state, r.error, r.run_directory, h.hostname, r.wall_ns "
      "FROM experiment e JOIN experiment_cell m USING(experiment_id) JOIN cell c USING(cell_id) "
      "LEFT JOIN run r ON r.run_id = (SELECT x.run_id FROM run x WHERE x.cell_id = c.cell_id "
      "ORDER BY x.state IN ('finished', 'diverged') DESC, x.attempt DESC LIMIT 1) "
      "LEFT JOIN host h USING(host_id) WHERE ?1 = '' OR e.name = ?1 "
      "ORDER BY e.experiment_id, m.position, c.cell_id",
      [&](SQLite::Statement& row) {
        const std::string name_of = text_at(row, 0);
        if (sweeps.empty() || sweeps.back().experiment != name_of) {
          sweeps.push_back({.experiment = name_of});
        }
        SweepStatus& sweep = sweeps.back();
        if (row.getColumn(6).isNull()) {
          ++sweep.to_do;
          return;
        }
        const std::string label = run_text({text_at(row, 1), text_at(row, 2), text_at(row, 3)},
                                           text_at(row, 4), row.getColumn(5).getInt64());
        const RunState state = stored_run_state(text_at(row, 6));
        if (state == RunState::kRunning) {
          sweep.running.push_back(at_work(label, text_at(row, 9), text_at(row, 8)));
        } else if (is_result(state)) {
          ++(state == RunState::kFinished ? sweep.finished : sweep.diverged);
          if (const auto ns = optional_integer(row.getColumn(10))) {
            auto& [sum, count] = wall[name_of];
            sum += static_cast<double>(*ns) / 1e9, ++count;
          }
        } else if (state == RunState::kTimeout) {
          ++sweep.cut_off;
        } else if (is_done_again(state)) {
          ++sweep.to_do;
        } else {
          sweep.failed.push_back({label, text_at(row, 6), text_at(row, 7)});
        }
      },
      experiment);
  if (sweeps.empty() && !experiment.empty()) {
    throw usage_error("{}: no experiment {} is in it", snapshot.path(), experiment);
  }
  for (auto& sweep : sweeps) {
    const auto& [sum, count] = wall[sweep.experiment];
    const auto at_once = static_cast<double>(sweep.running.size());
    const double open = static_cast<double>(sweep.to_do) + at_once / 2;
    if (count == 0 || open == 0) continue;
    sweep.left = seconds(
        static_cast<int64_t>(sum / static_cast<double>(count) * open / std::max(1.0, at_once)));
  }
  return sweeps;
}

Table status_table(const std::vector<SweepStatus>& sweeps) {
  using Line = SweepStatus;
  const Columns<Line> columns = {
      {.name = "experiment", .header = "experiment", .value = &Line::experiment},
      {.name = "runs", .header = "runs", .value = &Line::runs},
      {.name = "finished", .header = "finished", .value = &Line::finished},
      {.name = "diverged", .header = "diverged", .value = &Line::diverged},
      {.name = "cut_off", .header = "cut off", .value = &Line::cut_off},
      {"failed", "failed", via(&Line::failed, &std::vector<FailedRun>::size)},
      {"running", "running", via(&Line::running, &std::vector<RunAtWork>::size)},
      {.name = "to_do", .header = "to do", .value = &Line::to_do},
      {"left_s", "left, about", via(&Line::left, &seconds::count),
       [](const Line& line) { return line.left ? time_text(*line.left) : "–"; }}};
  Table table = table_of("", columns, sweeps);
  table.name = "sweeps";
  for (const auto& sweep : sweeps) {
    for (const auto& run : sweep.running) table.notes.push_back(line_of(run));
    for (size_t i = 0; i < std::min(sweep.failed.size(), kMostFailures); ++i) {
      const auto& run = sweep.failed[i];
      table.notes.push_back(fmt::format("{}: {}: {}", run.state, run.label, run.error));
    }
    if (sweep.failed.size() > kMostFailures) {
      table.notes.push_back(fmt::format("and {} more of {}: see report runs",
                                        sweep.failed.size() - kMostFailures, sweep.experiment));
    }
  }
  return table;
}

}  // namespace approx
