#include "results/store/rebuild.h"

#include <SQLiteCpp/Savepoint.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "base/files.h"
#include "base/numbers.h"
#include "results/store/database.h"
#include "results/store/journal.h"
#include "results/store/journal_entries.h"
#include "results/store/origin.h"
#include "results/store/run_folders.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

// Does `work`, or nothing of it and says why at `place`. Whether it is done.
bool attempt(SQLite::Database& db, const std::string& place, std::vector<std::string>& missing,
             const std::function<void()>& work) {
  SQLite::Savepoint savepoint(db, "attempt");
  try {
    work();
    savepoint.release();
    return true;
  } catch (const std::exception& error) {
    missing.push_back(fmt::format("{}: {}", place, error.what()));
    savepoint.rollback();
    return false;
  }
}

void apply_journal(SQLite::Database& db, const JournalFiles& files, int64_t number,
                   const std::string& runs, std::vector<std::string>& missing) {
  const std::string path = files.lines(number);
  std::error_code ignored;
  const auto unreadable = read_journal(path, [&](const JournalEntry& entry) {
    if (!entry.entry.contains("op")) {  // its head
      if (entry.entry.value("base", Json()) != true || fs::exists(files.base(number), ignored)) {
        return;
      }
      missing.push_back(fmt::format("{}: what the journal begins with", files.base(number)));
      return;
    }
    attempt(db, fmt::format("{}: line {}", path, entry.line), missing, [&] {
      for (const auto& what : apply_entry(db, entry, runs)) missing.push_back(what);
    });
  });
  for (const int64_t line : unreadable) {
    missing.push_back(fmt::format("{}: line {} is not readable", path, line));
  }
}

// A run that is known by its folder alone.
struct FoundRun {
  std::string directory, key;
  int64_t number = 0;  // of the folder: in the order of the attempts
  Json task;
  Outcome log;
};

void add_folders(SQLite::Database& db, std::set<std::string>& folders) {
  for_each_row(db, "SELECT run_directory FROM run", [&](SQLite::Statement& row) {
    folders.insert(fs::path(text_at(row, 0)).filename().string());
  });
}

// The folders of runs that a store or a journal tells of.
std::set<std::string> known_folders(SQLite::Database& db, const JournalFiles& files) {
  std::set<std::string> folders;
  add_folders(db, folders);
  std::error_code ignored;
  for (const int64_t number : files.numbers()) {
    read_journal(files.lines(number), [&](const JournalEntry& entry) {
      const Json directory = entry.entry.value("directory", Json());
      if (!directory.is_string()) return;
      folders.insert(fs::path(directory.get<std::string>()).filename().string());
    });
    if (!fs::exists(files.base(number), ignored)) continue;
    auto base = open_snapshot(files.base(number));
    add_folders(base, folders);
  }
  return folders;
}

// The other folders in which something was computed, those of a run in the order in which they
// began.
std::vector<FoundRun> unknown_runs(const std::set<std::string>& known, const std::string& runs,
                                   std::vector<std::string>& missing) {
  std::vector<FoundRun> found;
  std::error_code error;
  for (const auto& folder : fs::directory_iterator(runs, error)) {
    const std::string path = folder.path().string(), name = folder.path().filename().string();
    const auto number = parse_integer(name.substr(name.rfind('-') + 1));
    if (known.contains(name) || !number || !is_plain_file(path + "/" + kEventsFile)) continue;
    if (!is_plain_file(path + "/" + kTaskFile)) {
      missing.push_back(fmt::format("{}: without {}", path, kTaskFile));
      continue;
    }
    std::ifstream in(path + "/" + kTaskFile);
    Json task = Json::parse(in, nullptr, /*allow_exceptions=*/false);
    if (!task.is_object() || !task.value("run_key", Json()).is_string()) {
      missing.push_back(fmt::format("{}: {} does not say what it computed", path, kTaskFile));
      continue;
    }
    const std::string key = task["run_key"].get<std::string>();
    found.push_back({.directory = fs::absolute(path).string(),
                     .key = key,
                     .number = *number,
                     .task = std::move(task),
                     .log = Outcome(read_events_before_damage(path))});
  }
  std::sort(found.begin(), found.end(), [](const FoundRun& a, const FoundRun& b) {
    return std::tie(a.key, a.number) < std::tie(b.key, b.number);
  });
  return found;
}

constexpr const char* kRebuilt = "rebuilt";

void adopt(SQLite::Database& db, const FoundRun& run, ExperimentWriter& writer) {
  const auto config = run.task.at("config").get<RunConfig>();
  writer.add_cell(run.key, config, json_text(run.task.at("config")));
  PlannedRun planned{.config = config, .key = run.key};
  planned.method_label = arm_text(config.method, config.selection);
  planned.network_label = config.network;
  if (!config.schedule.empty()) planned.schedule_label = json_text(Json(config.schedule));
  writer.add(member_row(planned));
  const int64_t began = written_ns(run.directory + "/" + kTaskFile).value_or(0);
  const std::string uid = fmt::format("{:016x}-{}{}", began, run.key.substr(0, 16), run.number);
  insert_run(db, {{"uid", uid},
                  {"run_key", run.key},
                  {"utc", utc_of(began)},
                  {"directory", run.directory},
                  {"environment", run.log.start.value_or(Json::object())},
                  {"isolated", run.task.value("isolated", false)}});
  bury(db, {.run_id = 0, .run_directory = run.directory, .uid = uid}, run.log);
}

void adopt_unknown(SQLite::Database& db, const JournalFiles& files, const std::string& runs,
                   std::vector<std::string>& missing) {
  const auto found = unknown_runs(known_folders(db, files), runs, missing);
  if (found.empty()) return;
  const Json row = {{"name", kRebuilt}, {"title", "Runs known by their folders alone"},
                    {"source", runs},   {"text", ""},
                    {"report", "null"}, {"command_line", "approxtrain db rebuild"},
                    {"utc", utc_now()}, {"retire", false}};
  ExperimentWriter writer(db, row);
  int64_t adopted = 0;
  for (const auto& run : found) {
    adopted += attempt(db, run.directory, missing, [&] { adopt(db, run, writer); });
  }
  writer.finish();
  missing.push_back(
      fmt::format("the experiments of {} runs without a journal, and how their processes ended: "
                  "they stand under \"{}\" until a sweep of their file takes them up",
                  adopted, kRebuilt));
}

}  // namespace

Rebuilt rebuild_store(const std::string& path, const std::string& out, int64_t journal) {
  std::error_code ignored;
  if (fs::exists(out, ignored)) {
    throw usage_error("{}: exists already; nothing is replaced, choose another name", out);
  }
  const JournalFiles files(path);
  const std::string runs = runs_directory(path);
  const auto numbers = files.numbers();
  const bool last = journal == 0;
  if (last) journal = files.last();
  if (!last && std::ranges::find(numbers, journal) == numbers.end()) {
    throw usage_error("{}: there is no journal {}", files.folder(), journal);
  }
  Rebuilt result;
  auto db =
      fs::exists(files.base(journal), ignored) ? open_snapshot(files.base(journal)) : empty_store();
  {
    SQLite::Transaction transaction(db);
    if (journal > 0) apply_journal(db, files, journal, runs, result.missing);
    if (last) adopt_unknown(db, files, runs, result.missing);
    transaction.commit();
  }
  result.runs = first_integer(db, "SELECT count(*) FROM run");
  result.kernel_runs = first_integer(db, "SELECT count(*) FROM kernel_run");
  result.study_runs = first_integer(db, "SELECT count(*) FROM study_run");
  if (journal == 0 && result.runs == 0) {
    throw database_error("{}: no journal and no runs; there is nothing to make a database from",
                         runs);
  }
  for (const int64_t number : numbers) {
    if (number != journal) result.more_journals.push_back(number);
  }
  save_store(db, out);
  result.old_journal = journal_left(path);
  return result;
}

}  // namespace approx
