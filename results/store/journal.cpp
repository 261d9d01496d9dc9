#include "results/store/journal.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

#include "results/store/journal_entries.h"
#include "results/store/run_folders.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "approxtrain.journal/1";
constexpr size_t kMostPending = size_t{1} << 20;

[[noreturn]] void fail(const std::string& path, const std::error_code& error) {
  throw database_error("{}: {}; the folder beside the database must be writable", path,
                       error.message());
}

std::error_code last_error() { return {errno, std::generic_category()}; }

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::string op_of(const Json& entry) {
  const Json op = entry.is_object() ? entry.value("op", Json()) : Json();
  return op.is_string() ? op.get<std::string>() : std::string();
}

// The numbers of the newest rows: whether a store has more, or less, than a journal tells.
Json newest_rows(SQLite::Database& db) {
  Json numbers;
  for_each_row(db,
               "SELECT coalesce((SELECT max(run_id) FROM run), 0), "
               "coalesce((SELECT max(kernel_run_id) FROM kernel_run), 0), "
               "coalesce((SELECT max(study_run_id) FROM study_run), 0)",
               [&](SQLite::Statement& row) {
                 for (int i = 0; i < 3; ++i) numbers.push_back(row.getColumn(i).getInt64());
               });
  return numbers;
}

int64_t schema_of(SQLite::Database& db) { return db.execAndGet("PRAGMA user_version").getInt64(); }

// A copy of what is committed, under its name when it is whole and on the disk.
void copy_committed(const std::string& db, const std::string& out) {
  const UnfinishedDatabase unfinished(out);
  {
    SQLite::Database from(sqlite_name(db), SQLite::OPEN_READONLY);
    SQLite::Database to(sqlite_name(unfinished.path()),
                        SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    copy_database(to, from);
  }
  const Descriptor file(::open(unfinished.path().c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) fail(unfinished.path(), last_error());
  if (const auto error = rename_durably(unfinished.path(), out)) fail(out, error);
}

// The lines of a file, the last one first; complete ones only.
class LinesFromTheEnd {
 public:
  explicit LinesFromTheEnd(const std::string& path) : in_(path, std::ios::binary | std::ios::ate) {
    at_ = in_ ? static_cast<int64_t>(in_.tellg()) : 0;
    cut();  // what no line feed ends
  }

  std::optional<std::string> next() {
    if (at_ == 0 && held_.empty()) return std::nullopt;
    held_.pop_back();  // its line feed
    return cut();
  }

 private:
  // What is behind the last line feed that is held or, further on, in the file.
  std::string cut() {
    size_t end = held_.rfind('\n');
    while (end == std::string::npos && at_ > 0) {
      const int64_t size = std::min<int64_t>(at_, 1 << 16);
      std::string piece(static_cast<size_t>(size), '\0');
      in_.seekg(at_ -= size);
      in_.read(piece.data(), size);
      const size_t found = piece.rfind('\n');
      held_.insert(0, piece);
      end = found;
    }
    const size_t begin = end == std::string::npos ? 0 : end + 1;
    std::string line = held_.substr(begin);
    held_.resize(begin);
    return line;
  }

  std::ifstream in_;
  int64_t at_ = 0;  // up to here the file is not read yet
  std::string held_;
};

// The entries of a journal that were not undone, the last one first; its head at the end.
class EntriesFromTheEnd {
 public:
  explicit EntriesFromTheEnd(const std::string& path) : lines_(path) {}

  std::optional<Json> next() {
    int64_t undone = 0;
    while (auto line = lines_.next()) {
      if (line->find(R"("op":"member")") != std::string::npos) continue;
      Json entry = Json::parse(*line, nullptr, /*allow_exceptions=*/false);
      if (op_of(entry) == "undo") {
        ++undone;
      } else if (undone > 0) {
        --undone;
      } else if (entry.is_object()) {
        return entry;
      }
    }
    return std::nullopt;
  }

 private:
  LinesFromTheEnd lines_;
};

// How a journal stands to the store beside it.
enum class Step {
  kInStep,
  kAhead,   // by one line, whose transaction was not committed
  kBroken,  // in step, and to be begun anew: rows were, or may have been, changed beside it
  kOther    // one of them has what the other has not
};

Step step_of(const std::string& path, SQLite::Database& db) {
  std::ifstream in(path);
  std::string first;
  std::getline(in, first);
  const Json head = Json::parse(first, nullptr, /*allow_exceptions=*/false);
  if (!head.is_object() || head.value("journal", Json()) != kFormat) return Step::kOther;
  const Json newest = newest_rows(db);
  const bool same_schema = head.value("schema", Json()) == schema_of(db);
  EntriesFromTheEnd entries(path);
  const auto fits = [&](const std::optional<Json>& entry) {
    try {
      return entry && entry->value("at", Json()) == newest && is_in_store(db, *entry);
    } catch (const Json::exception&) {  // somebody else wrote it
      return false;
    }
  };
  const auto last = entries.next();
  if (last && op_of(*last) == "rewritten") return Step::kBroken;
  if (fits(last)) return same_schema ? Step::kInStep : Step::kBroken;
  return fits(entries.next()) && same_schema ? Step::kAhead : Step::kOther;
}

}  // namespace

JournalFiles::JournalFiles(const std::string& db) : folder_(runs_directory(db) + "/journal") {}

std::string JournalFiles::lines(int64_t number) const {
  return fmt::format("{}/{}.jsonl", folder_, number);
}

std::string JournalFiles::base(int64_t number) const {
  return fmt::format("{}/{}.db", folder_, number);
}

std::vector<int64_t> JournalFiles::numbers() const {
  std::vector<int64_t> found;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder_, error)) {
    if (file.path().extension() != ".jsonl" || !is_plain_file(file.path())) continue;
    const auto number = parse_integer(file.path().stem().string());
    if (number && *number > 0) found.push_back(*number);
  }
  std::sort(found.begin(), found.end());
  return found;
}

int64_t JournalFiles::last() const {
  const auto all = numbers();
  return all.empty() ? 0 : all.back();
}

Journal::Journal(std::string db) : db_path_(std::move(db)), files_(db_path_) {}

void Journal::begin(SQLite::Database& db) {
  db_ = &db;
  changed_ = false;
  pending_.clear();
  const bool same = number_ > 0 && exists(files_.lines(number_)) &&
                    !exists(files_.lines(number_ + 1)) && size() == known_size_;
  if (!same) find(db);
  begun_at_ = known_size_;
}

void Journal::find(SQLite::Database& db) {
  number_ = files_.last();
  const Step step = number_ == 0 ? Step::kOther : step_of(files_.lines(number_), db);
  in_step_ = step != Step::kOther;
  if (step == Step::kBroken || step == Step::kOther) return begin_anew(db);
  open(number_);
  if (step == Step::kAhead) {
    put(R"({"op":"undo"})");
    flush();
  }
  known_size_ = size();
}

void Journal::begin_anew(SQLite::Database& db) {
  const int64_t before = number_;
  const int64_t next = files_.last() + 1;
  std::error_code error;
  fs::create_directories(files_.folder(), error);
  if (error) fail(files_.folder(), error);
  const Json newest = newest_rows(db);
  const bool empty =
      newest == Json({0, 0, 0}) && db.execAndGet("SELECT count(*) FROM experiment").getInt64() == 0;
  if (!empty) copy_committed(db_path_, files_.base(next));
  const Json head = {
      {"journal", kFormat}, {"schema", schema_of(db)}, {"base", !empty}, {"at", newest}};
  const std::string unfinished = fmt::format("{}.{}", files_.lines(next), ::getpid());
  error = write_synced(unfinished, to_bytes(json_text(head) + "\n"));
  if (!error) error = rename_durably(unfinished, files_.lines(next));
  if (error) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    fail(files_.lines(next), error);
  }
  if (in_step_ && before > 0) {
    fs::remove(files_.lines(before), error);
    fs::remove(files_.base(before), error);
  }
  in_step_ = true;
  open(next);
  known_size_ = size();
}

void Journal::open(int64_t number) {
  const std::string path = files_.lines(number);
  file_ = Descriptor(::open(path.c_str(), O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!file_) fail(path, last_error());
  number_ = number;
  // A line that was cut off tells of nothing that was committed.
  off_t end = size();
  for (char last = 0; end > 0; --end) {
    if (::pread(file_.get(), &last, 1, end - 1) != 1) fail(path, last_error());
    if (last == '\n') break;
  }
  if (end != size() && ::ftruncate(file_.get(), end) != 0) fail(path, last_error());
}

off_t Journal::size() const {
  struct stat status {};
  return ::fstat(file_.get(), &status) == 0 ? status.st_size : -1;
}

void Journal::add(Json entry) {
  entry["at"] = newest_rows(*db_);
  put(json_text(entry));
}

void Journal::add_part(std::string_view line) { put(line); }

void Journal::put(std::string_view line) {
  pending_ += line;
  pending_ += '\n';
  changed_ = true;
  if (pending_.size() > kMostPending) flush();
}

void Journal::flush() {
  const auto error = write_all(file_.get(), to_bytes(pending_));
  pending_.clear();
  if (error) fail(files_.lines(number_), error);
}

void Journal::sync() {
  if (!changed_) return;
  flush();
  if (::fsync(file_.get()) != 0) fail(files_.lines(number_), last_error());
  known_size_ = size();
}

void Journal::take_back() noexcept {
  pending_.clear();
  if (!changed_) return;
  // Where SQLite has rolled back by itself the lock is gone, and another process may have gone on
  // behind our line: who writes next finds it, as after a power cut.
  const bool locked = sqlite3_get_autocommit(db_->getHandle()) == 0;
  if (!locked || ::ftruncate(file_.get(), begun_at_) != 0) number_ = 0;
  known_size_ = begun_at_;
}

void write_with_journal(SQLite::Database& db, const std::string& path, const StoreOptions& options,
                        Journal& journal, const std::function<void()>& work) {
  with_retry(path, options, [&] {
    WriteTransaction transaction(db);
    journal.begin(db);
    try {
      work();
      journal.sync();
      transaction.commit();
    } catch (...) {
      journal.take_back();
      throw;
    }
  });
}

std::vector<int64_t> read_journal(const std::string& path,
                                  const std::function<void(const JournalEntry&)>& use) {
  std::ifstream in(path, std::ios::binary);
  std::vector<int64_t> unreadable;
  std::optional<JournalEntry> held;  // the next line may undo it
  std::vector<std::string> parts;
  int64_t number = 0;
  for (std::string line; std::getline(in, line) && !in.eof();) {
    ++number;
    if (line.find(R"("op":"member")") != std::string::npos) {
      parts.push_back(std::move(line));
      continue;
    }
    Json entry = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (op_of(entry) == "undo") {
      held.reset();
    } else if (op_of(entry).empty() && !(number == 1 && entry.is_object())) {
      unreadable.push_back(number);
    } else {
      if (held) use(*held);
      held = JournalEntry{.line = number, .entry = std::move(entry), .parts = std::move(parts)};
    }
    parts.clear();
  }
  if (held) use(*held);
  return unreadable;
}

}  // namespace approx
