#include "results/store/garbage.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/disk.h"
#include "base/numbers.h"
#include "base/text.h"
#include "results/store/database.h"
#include "results/store/ending.h"
#include "results/store/journal.h"
#include "results/store/json_values.h"
#include "results/store/outcome.h"
#include "results/store/run_folders.h"
#include "results/store/run_lock.h"
#include "results/store/run_state.h"
#include "results/store/run_store.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReplaced = "folders of attempts that a later one replaced";
constexpr const char* kFinished = "folders of runs whose results are in the database";
constexpr const char* kUnknown =
    "folders without a result, of runs that the database does not know";
constexpr const char* kCheckpoints = "checkpoints that no run goes on from";
constexpr const char* kJournals = "journals of what the database has";
constexpr const char* kUnfinished = "copies that were never finished";
constexpr const char* kBackups = "copies of before a migration";

bool is_result_text(const std::string& state) {
  const auto known = find_named<RunState>(state);
  return known && is_result(*known);
}

// The names of results: of runs with one, of kernel benchmarks and of studies.
std::set<std::string> results_of(SQLite::Database& db) {
  std::set<std::string> names;
  for_each_row(db,
               "SELECT uid FROM run WHERE state IN ('finished', 'diverged') UNION ALL "
               "SELECT uid FROM kernel_run UNION ALL SELECT uid FROM study_run",
               [&](SQLite::Statement& row) { names.insert(text_at(row, 0)); });
  return names;
}

std::set<std::string> results_of(const JournalFiles& files, int64_t number) {
  std::set<std::string> names;
  std::error_code ignored;
  if (fs::exists(files.base(number), ignored)) {
    auto base = open_snapshot(files.base(number));
    names = results_of(base);
  }
  const auto add = [&](const Json& ending) {
    if (is_result_text(text_or(ending, "state", ""))) names.insert(text_or(ending, "uid", ""));
  };
  read_journal(files.lines(number), [&](const JournalEntry& entry) {
    const std::string op = text_or(entry.entry, "op", "");
    if (op == "study" || op == "kernels") names.insert(text_or(entry.entry, "uid", ""));
    if (op == "end") add(entry.entry);
    if (op == "begin") add(entry.entry.value("settled", Json()));
  });
  return names;
}

// Whether it is the name of a journal's file that was never finished: "2.jsonl.1234", "2.db.1234",
// and what SQLite has beside the latter; or of a copy without lines, "2.db".
bool is_unfinished_journal(const std::string& name) {
  std::vector<std::string> parts;
  for (const auto part : split(name, ".")) parts.emplace_back(part);
  if (parts.size() < 2 || parts.size() > 3 || !parse_integer(parts[0])) return false;
  if (parts[1] != "jsonl" && parts[1] != "db" && parts[1] != "db-journal") return false;
  constexpr std::string_view kJournal = "-journal";
  if (parts.size() == 2) return parts[1] != "jsonl";
  if (parts[2].ends_with(kJournal)) parts[2].resize(parts[2].size() - kJournal.size());
  return parse_integer(parts[2]).has_value();
}

// An attempt at a run, as the store has it.
struct Attempt {
  std::string uid;
  RunState state = RunState::kRunning;
  bool is_last = false;  // at its cell
  bool counts = false;   // the last one with a result
};

class Finder {
 public:
  Finder(SQLite::Database& db, const std::string& path, const GarbageOptions& options)
      : db_(db), path_(path), options_(options), runs_(runs_directory(path)) {}

  GarbageFound find() {
    read_attempts();
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(runs_, error)) {
      if (entry.is_symlink(error) || !entry.is_directory(error)) continue;
      const std::string name = entry.path().filename().string();
      if (is_checkpoint_name(name)) {
        look_at_checkpoint(entry.path(), name.substr(0, name.size() - kCheckpointEnd.size()));
      } else if (is_numbered_name(name) && is_of_a_run(entry.path())) {
        look_at_run(entry.path());
      }
    }
    find_journals();
    if (options_.backups) find_backups();
    std::ranges::sort(found_.garbage, {}, &Garbage::path);
    return std::move(found_);
  }

  // The names of the runs whose folders are garbage: the store's own copy must have them.
  const std::set<std::string>& named() const { return named_; }

 private:
  void add(const fs::path& path, const char* what) {
    found_.garbage.push_back({path.string(), what, stored_bytes(path).value_or(0)});
  }

  void read_attempts() {
    for_each_row(
        db_,
        "SELECT uid, state, run_directory, attempt = (SELECT max(attempt) FROM run x WHERE "
        "x.cell_id = r.cell_id), attempt = (SELECT max(attempt) FROM run x WHERE x.cell_id = "
        "r.cell_id AND x.state IN ('finished', 'diverged')) FROM run r",
        [&](SQLite::Statement& row) {
          const auto folder = fs::path(text_at(row, 2)).lexically_normal();
          names_.insert(folder.filename().string());
          attempts_[folder.string()] = {.uid = text_at(row, 0),
                                        .state = stored_run_state(text_at(row, 1)),
                                        .is_last = row.getColumn(3).getInt() != 0,
                                        .counts = row.getColumn(4).getInt() != 0};
        });
    // A sweep goes by the last attempt: one that was to do a finished run again goes on, too.
    for_each_row(db_,
                 "SELECT run_key FROM cell c WHERE NOT EXISTS (SELECT 1 FROM run r WHERE "
                 "r.cell_id = c.cell_id AND r.state IN ('finished', 'diverged') AND r.attempt = "
                 "(SELECT max(attempt) FROM run x WHERE x.cell_id = c.cell_id))",
                 [&](SQLite::Statement& row) { to_do_.insert(text_at(row, 0)); });
  }

  std::map<std::string, Attempt>::const_iterator find_attempt(const fs::path& folder) const {
    return attempts_.find(fs::absolute(folder).lexically_normal().string());
  }

  // A folder without a task is one that somebody was removing when his process died.
  bool is_of_a_run(const fs::path& folder) const {
    std::error_code error;
    return fs::exists(folder / kTaskFile, error) || fs::is_empty(folder, error) ||
           find_attempt(folder) != attempts_.end();
  }

  void look_at_run(const fs::path& folder) {
    const auto found = find_attempt(folder);
    if (RunLock::held(folder.string()) || RunLock::held(folder.string(), RunLock::kClaim)) return;
    if (found == attempts_.end()) {
      // Of a store that was moved with its folders they are not told apart: they stay.
      if (!names_.contains(folder.filename().string())) look_at_unknown(folder);
      return;
    }
    const Attempt& attempt = found->second;
    if (attempt.state == RunState::kRunning) return;
    const bool replaced = !attempt.counts && !attempt.is_last;
    if (!replaced && !(attempt.counts && options_.finished)) return;
    add(folder, replaced ? kReplaced : kFinished);
    named_.insert(attempt.uid);
  }

  void look_at_unknown(const fs::path& folder) {
    const Outcome log(read_events(folder.string()));
    if (log.final && is_result_text(text_or(*log.final, "state", ""))) {
      found_.kept.push_back(fmt::format(
          "{}: a result that the database has not; approxtrain db rebuild OUT takes it in",
          folder.string()));
    } else {
      add(folder, kUnknown);
    }
  }

  // `key`: the beginning of the run key.
  void look_at_checkpoint(const fs::path& folder, const std::string& key) {
    const auto first = to_do_.lower_bound(key);
    if (first == to_do_.end() || !first->starts_with(key)) add(folder, kCheckpoints);
  }

  void find_journals() {
    const JournalFiles files(path_);
    if (fs::is_symlink(files.folder())) return;  // another's files
    const auto own = results_of(db_);
    // That of the next one, too: it may be there unfinished, and is made anew before anything goes.
    std::set<std::string> ours = {files.base(files.last() + 1)};
    for (const int64_t number : files.numbers()) {
      ours.insert({files.lines(number), files.base(number)});
      if (number == files.last()) continue;
      const auto theirs = results_of(files, number);
      const auto more = std::ranges::count_if(
          theirs, [&](const std::string& name) { return !own.contains(name); });
      if (more > 0) {
        found_.kept.push_back(fmt::format(
            "{}: {} results that the database has not; approxtrain db rebuild OUT --journal {}, "
            "then db merge OUT takes them in",
            files.lines(number), more, number));
        continue;
      }
      std::error_code error;
      add(files.lines(number), kJournals);
      if (fs::exists(files.base(number), error)) add(files.base(number), kJournals);
    }
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(files.folder(), error)) {
      const bool unfinished =
          entry.is_regular_file(error) && is_unfinished_journal(entry.path().filename().string());
      if (unfinished && !ours.contains(entry.path().string())) add(entry.path(), kUnfinished);
    }
  }

  // "FILE.v6.backup".
  void find_backups() {
    const fs::path db = fs::absolute(path_);
    const std::string begin = db.filename().string() + ".v", end = ".backup";
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(db.parent_path(), error)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(begin) || !name.ends_with(end) || !entry.is_regular_file(error)) {
        continue;
      }
      const std::string version =
          name.substr(begin.size(), name.size() - begin.size() - end.size());
      if (parse_integer(version)) add(entry.path(), kBackups);
    }
  }

  SQLite::Database& db_;
  const std::string path_;
  const GarbageOptions options_;
  const std::string runs_;
  std::map<std::string, Attempt> attempts_;  // by their folders
  std::set<std::string> names_;              // of the folders
  std::set<std::string> to_do_;              // keys of runs whose last attempt has no result
  std::set<std::string> named_;
  GarbageFound found_;
};

// That the copy with which the journal begins has how these runs ended.
void expect_in_copy(const std::string& path, const std::set<std::string>& runs) {
  if (runs.empty()) return;
  const JournalFiles files(path);
  auto copy = open_snapshot(files.base(files.last()));
  std::set<std::string> ended;
  for_each_row(copy, "SELECT uid FROM run WHERE state <> 'running'",
               [&](SQLite::Statement& row) { ended.insert(text_at(row, 0)); });
  if (!std::ranges::includes(ended, runs)) {
    throw database_error("{}: it lacks runs of the database; nothing was removed",
                         files.base(files.last()));
  }
}

// Its task goes last: by that a folder is known to be a run's, also after a kill in between.
std::error_code remove_all(const fs::path& path) {
  std::error_code error, ignored;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (entry.path().filename() == kTaskFile) continue;
    fs::remove_all(entry.path(), error);
    if (error) return error;
  }
  fs::remove_all(path, error);
  return error;
}

void remove(const std::vector<Garbage>& garbage) {
  std::string first;
  for (const auto& one : garbage) {
    const std::error_code error = remove_all(one.path);
    if (error && first.empty()) first = fmt::format("{}: {}", one.path, error.message());
  }
  if (!first.empty()) throw database_error("{}; the rest was removed", first);
}

}  // namespace

void collect_garbage(const std::string& path, const GarbageOptions& options,
                     const std::function<void(const GarbageFound&)>& say) {
  std::error_code ignored;
  if (options.dry_run || !fs::exists(path, ignored)) {
    auto snapshot = open_snapshot(path);
    return say(Finder(snapshot, path, options).find());
  }
  RunStore(path, RunStore::Mode::kWrite).recover();
  const StoreOptions store;
  auto db = open_for_writing(path, store);
  Journal journal(path);
  journal.write(db, store, [&] {
    Finder finder(db, path, options);
    const GarbageFound found = finder.find();
    expect_no_sweep(db, path);
    say(found);
    if (found.garbage.empty()) return;
    journal.begin_anew(db);
    expect_in_copy(path, finder.named());
    remove(found.garbage);
  });
  with_retry(path, store, [&] { db.exec("VACUUM"); });
}

}  // namespace approx
