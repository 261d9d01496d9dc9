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
constexpr const char* kMemberMark = R"("op":"member")";  // in a line that belongs to the next entry
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
  return {first_integer(db, "SELECT max(run_id) FROM run"),
          first_integer(db, "SELECT max(kernel_run_id) FROM kernel_run"),
          first_integer(db, "SELECT max(study_run_id) FROM study_run")};
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

// The last `count` entries of a journal that were not undone, the last one first; its head is one.
// Of a long journal only the end is read.
std::vector<Json> last_entries(const std::string& path, size_t count) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const size_t size = in ? static_cast<size_t>(in.tellg()) : 0;
  for (size_t length = size_t{1} << 16;; length *= 2) {
    std::string text(std::min(length, size), '\0');
    in.seekg(static_cast<std::streamoff>(size - text.size()));
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    std::vector<Json> entries;
    int64_t undone = 0;
    size_t end = text.rfind('\n');  // what no line feed ends is no line
    while (end != std::string::npos && entries.size() < count) {
      const size_t before = end > 0 ? text.rfind('\n', end - 1) : std::string::npos;
      const bool cut_off = before == std::string::npos && length < size;
      if (cut_off) break;
      const std::string line = text.substr(before + 1, end - before - 1);
      end = before;
      if (line.find(kMemberMark) != std::string::npos) continue;
      Json entry = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (op_of(entry) == "undo") {
        ++undone;
      } else if (undone > 0) {
        --undone;
      } else if (entry.is_object()) {
        entries.push_back(std::move(entry));
      }
    }
    if (entries.size() == count || length >= size) return entries;
  }
}

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
  const auto entries = last_entries(path, 2);
  const auto fits = [&](size_t at) {
    try {
      return at < entries.size() && entries[at].value("at", Json()) == newest &&
             is_in_store(db, entries[at]);
    } catch (const Json::exception&) {  // somebody else wrote it
      return false;
    }
  };
  if (!entries.empty() && op_of(entries[0]) == "rewritten") return Step::kBroken;
  if (fits(0)) return same_schema ? Step::kInStep : Step::kBroken;
  return fits(1) && same_schema ? Step::kAhead : Step::kOther;
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

void Journal::write(SQLite::Database& db, const StoreOptions& options,
                    const std::function<void()>& work) {
  with_retry(db_path_, options, [&] {
    WriteTransaction transaction(db);
    begin(db);
    try {
      work();
      sync();
      transaction.commit();
    } catch (...) {
      take_back();
      throw;
    }
  });
}

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
  auto error = make_folder_durably(files_.folder());
  if (error) fail(files_.folder(), error);
  const Json newest = newest_rows(db);
  const bool empty = newest == Json({0, 0, 0}) && !has_row(db, "SELECT 1 FROM experiment");
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

std::vector<int64_t> read_journal(const std::string& path,
                                  const std::function<void(const JournalEntry&)>& use) {
  std::ifstream in(path, std::ios::binary);
  std::vector<int64_t> unreadable;
  std::optional<JournalEntry> held;  // the next line may undo it
  std::vector<std::string> parts;
  int64_t number = 0;
  for (std::string line; std::getline(in, line) && !in.eof();) {
    ++number;
    if (line.find(kMemberMark) != std::string::npos) {
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
