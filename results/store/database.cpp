#include "results/store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <new>
#include <string_view>
#include <thread>

#include "base/awake_clock.h"
#include "base/disk.h"
#include "base/files.h"
#include "base/outputs.h"
#include "base/text.h"
#include "results/store/run_folders.h"
#include "results/store/store_file.h"

namespace approx {

extern const char* const kSchemaSql;  // results/store/schema.sql
extern const char* const kViewsSql;   // results/store/views.sql

namespace {

std::atomic<int64_t> opened{0};  // copies, by open_snapshot

// SQLite's own wait; with_retry waits on, and can say so in between.
constexpr int kBusyTimeoutMs = 500;
constexpr std::chrono::milliseconds kLongestPause{250};  // between two tries

int64_t pragma(SQLite::Database& db, const char* name) {
  return db.execAndGet(fmt::format("PRAGMA {}", name)).getInt64();
}

int64_t newest(const StoreOptions& options) { return options.migrations.back().version; }

// Settings of the connection; none of them writes to the file.
void configure(SQLite::Database& db) {
  db.exec("PRAGMA foreign_keys = ON");
  db.exec("PRAGMA trusted_schema = OFF");
  db.exec("PRAGMA cell_size_check = ON");
  db.exec("PRAGMA synchronous = FULL");
}

// Whether the database is empty; throws when it is another application's or of a newer program.
bool check_identity(SQLite::Database& db, const std::string& path, const StoreOptions& options) {
  // One statement, so that all three are of the same moment: another process may be creating the
  // schema right now.
  SQLite::Statement row(db,
                        "SELECT (SELECT count(*) FROM sqlite_master), "
                        "(SELECT application_id FROM pragma_application_id), "
                        "(SELECT user_version FROM pragma_user_version)");
  row.executeStep();
  const bool empty = row.getColumn(0).getInt64() == 0;
  const int64_t application = row.getColumn(1).getInt64();
  const int64_t version = row.getColumn(2).getInt64();
  if (empty && application == 0 && version == 0) return true;
  if (application != kApplicationId) {
    throw database_error(
        "{}: a database of another application (application_id {:#010x}, ours is {:#010x}); choose "
        "another file with --db",
        path, static_cast<uint32_t>(application), kApplicationId);
  }
  if (version > newest(options)) {
    throw database_error(
        "{}: written by a newer program (schema {}, this program knows {}); use that program or "
        "another --db",
        path, version, newest(options));
  }
  return false;
}

void check_pages(SQLite::Database& db, const std::string& path) {
  const std::string result = db.execAndGet("PRAGMA quick_check(1)").getString();
  if (result == "ok") return;
  throw database_error(
      "{}: the database is damaged ({}); keep it, and go on with a copy made by `db backup` or "
      "with another --db",
      path, first_line(result));
}

// A file that is only read may be anybody's: nothing in it opens another one.
void refuse_other_files(SQLite::Database& db) {
  sqlite3_set_authorizer(
      db.getHandle(),
      [](void*, int action, const char*, const char*, const char*, const char*) {
        return action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
      },
      nullptr);
}

// The names that views.sql creates.
std::vector<std::string> own_views() {
  constexpr std::string_view kCreate = "CREATE VIEW ";
  const std::string_view sql = kViewsSql;
  std::vector<std::string> names;
  for (size_t at = sql.find(kCreate); at != sql.npos; at = sql.find(kCreate, at)) {
    at += kCreate.size();
    names.emplace_back(sql.substr(at, sql.find(' ', at) - at));
  }
  return names;
}

// Applies what is missing inside the caller's transaction. Our views are made anew, since a table
// they read may have changed; those of others are left alone.
void apply_migrations(SQLite::Database& db, const std::string& path, const StoreOptions& options) {
  for (const auto& view : own_views()) db.exec("DROP VIEW IF EXISTS " + view);
  const int64_t version = pragma(db, "user_version");
  for (const auto& migration : options.migrations) {
    if (migration.version > version) db.exec(migration.sql);
  }
  db.exec(kViewsSql);
  SQLite::Statement violations(db, "PRAGMA foreign_key_check");
  if (violations.executeStep()) {
    throw database_error("{}: bringing it to schema {} would break a reference in table {}", path,
                         newest(options), violations.getColumn(0).getString());
  }
  db.exec(fmt::format("PRAGMA user_version = {}", newest(options)));
}

// A complete copy of what is committed under its final name, or none: the name appears by a rename.
// By a connection of its own, for one inside a transaction cannot copy.
void copy_beside(const std::string& path, int64_t version) {
  const std::string copy = fmt::format("{}.v{}.backup", path, version);
  const UnfinishedDatabase unfinished(copy);
  SQLite::Database db(sqlite_name(path), SQLite::OPEN_READONLY, kBusyTimeoutMs);
  execute(db, "VACUUM INTO ?", sqlite_name(unfinished.path()));
  if (const auto error = rename_durably(unfinished.path(), copy)) {
    throw database_error("{}: {}; without a copy of before nothing is migrated", copy,
                         error.message());
  }
}

void migrate(SQLite::Database& db, const std::string& path, const StoreOptions& options) {
  if (pragma(db, "user_version") == newest(options)) return;
  // From before the copy: nobody else migrates the file or writes to it between that and the end.
  WriteTransaction transaction(db);
  // Another process may have done it while this one waited for the lock.
  check_identity(db, path, options);
  const int64_t version = pragma(db, "user_version");
  if (version == newest(options)) return;
  if (version > 0) copy_beside(path, version);
  apply_migrations(db, path, options);
  transaction.commit();
}

// A journal of a commit to several files names one more, which SQLite deletes as soon as it has
// played the journal back: any file of the user's. Nothing here commits to several.
void refuse_journal_of_several(const std::string& path) {
  constexpr std::array<unsigned char, 8> kNamesAFile = {0xd9, 0xd5, 0x05, 0xf9,
                                                        0x20, 0xa1, 0x63, 0xd7};
  std::error_code ignored;
  // As SQLite does it: beside the file itself, where the path is a link.
  const auto journal = std::filesystem::weakly_canonical(path, ignored).string() + "-journal";
  if (!std::filesystem::is_regular_file(journal, ignored)) return;
  std::ifstream in(journal, std::ios::binary);
  std::array<char, kNamesAFile.size()> end{};
  if (!in.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end)) return;
  if (!in.read(end.data(), end.size()) || !std::ranges::equal(end, kNamesAFile, {}, [](char c) {
        return static_cast<unsigned char>(c);
      })) {
    return;
  }
  throw database_error(
      "{}: it names another file, which SQLite would delete, so this program did not write it; "
      "remove it to open the database without undoing its changes",
      journal);
}

// Looks at an existing file without the right to write to it. A file that needs recovery after a
// crash cannot be read so; the caller then opens it for writing, which recovers it.
bool peek(const std::string& path, const StoreOptions& options) {
  try {
    SQLite::Database db(sqlite_name(path), SQLite::OPEN_READONLY, kBusyTimeoutMs);
    check_identity(db, path, options);
    return true;
  } catch (const SQLite::Exception& error) {
    const int code = error.getErrorCode() & 0xff;
    if (code == SQLITE_READONLY || code == SQLITE_CANTOPEN) return false;
    throw;
  }
}

void check_path(const std::string& path) {
  check_named(path);
  if (is_input(path)) {
    throw usage_error("{}: is read by this command, and no database; choose another --db", path);
  }
  std::error_code ignored;
  for (const std::string_view ending : {"-journal", "-wal", "-shm"}) {
    if (!path.ends_with(ending)) continue;
    const std::string of = path.substr(0, path.size() - ending.size());
    if (!std::filesystem::is_regular_file(of, ignored)) continue;
    throw usage_error("{}: belongs to the database {}; choose another --db", path, of);
  }
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) {
    throw database_error("{}: a folder, not a database", path);
  }
  // To open a pipe waits for somebody at its other end.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw database_error("{}: not a regular file, so not a database; choose another --db", path);
  }
}

// A database among the runs of another would go with them.
void check_not_in_runs(const std::string& path) {
  std::error_code ignored;
  auto folder = std::filesystem::weakly_canonical(path, ignored).parent_path();
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    auto other = folder;
    if (folder.extension() != ".runs" ||
        !std::filesystem::is_regular_file(other.replace_extension(".db"), ignored)) {
      continue;
    }
    throw usage_error("{}: lies in {}, which belongs to the database {}; choose another --db", path,
                      folder.string(), other.string());
  }
}

// A name that nobody has, or an error: what appeared meanwhile is not replaced.
void rename_to_new(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  const int why = errno;
  std::error_code error;
  // Not every file system can.
  if (why == EINVAL || why == ENOSYS) {
    if (!std::filesystem::exists(to, error)) {
      std::filesystem::rename(from, to, error);
      if (!error) return;
    }
  } else {
    error = std::error_code(why, std::generic_category());
  }
  std::error_code ignored;
  if (why == EEXIST || std::filesystem::exists(to, ignored)) {
    throw usage_error("{}: exists already; nothing is replaced, choose another name", to);
  }
  throw usage_error("{}: cannot be written ({})", to, error.message());
}

// Whether the disk of a file is full but for what a failed transaction has just given back.
bool is_full(const std::string& path) {
  constexpr int64_t kNothing = 1 << 20;
  const auto left = free_bytes(std::filesystem::absolute(path).parent_path().string());
  return left && *left < kNothing;
}

}  // namespace

const std::vector<Migration>& store_migrations() {
  static const auto migrations = [] {
    constexpr std::string_view kHead = "\n-- Version ";  // of every part but the first
    std::vector<Migration> parts;
    for (std::string_view rest = kSchemaSql; !rest.empty();) {
      const size_t end = std::min(rest.find(kHead), rest.size() - 1) + 1;
      parts.push_back({static_cast<int64_t>(parts.size()) + 1, std::string(rest.substr(0, end))});
      rest.remove_prefix(end);
    }
    return parts;
  }();
  return migrations;
}

std::string schema_text() {
  return fmt::format("{}\n{}\nPRAGMA user_version = {};\n", kSchemaSql, kViewsSql,
                     newest(StoreOptions()));
}

SQLite::Database empty_store() {
  SQLite::Database db(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  configure(db);
  SQLite::Transaction transaction(db);
  apply_migrations(db, ":memory:", {});
  transaction.commit();
  return db;
}

std::string sqlite_name(const std::string& path) {
  refuse_journal_of_several(path);
  keep_store(path);
  return path == ":memory:" || path.starts_with("file:") ? "./" + path : path;
}

void copy_database(SQLite::Database& to, SQLite::Database& from) {
  SQLite::Backup copy(to, from);
  const int result = copy.executeStep(-1);
  if (result != SQLITE_DONE) throw SQLite::Exception(to.getHandle(), result);
}

UnfinishedDatabase::UnfinishedDatabase(const std::string& name)
    : file_(unfinished_name(name)), journal_(file_.path() + "-journal") {
  for (const auto* left : {&file_, &journal_}) {
    std::error_code ignored;
    std::filesystem::remove(left->path(), ignored);
  }
}

void save_store(SQLite::Database& db, const std::string& out) {
  std::error_code ignored;
  if (std::filesystem::exists(out, ignored)) {
    throw usage_error("{}: exists already; nothing is replaced, choose another name", out);
  }
  if (const auto left = journal_left(out); !left.empty()) {
    throw usage_error(
        "{}: left by a database of that name, whose end SQLite would undo in the new one; move it "
        "away, or choose another name",
        left);
  }
  const auto cannot = [&](std::string_view why) {
    return usage_error("{}: cannot be written ({}); check the folder and its free space", out, why);
  };
  const UnfinishedDatabase unfinished(out);
  try {
    SQLite::Database file(sqlite_name(unfinished.path()),
                          SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    copy_database(file, db);
  } catch (const SQLite::Exception& failure) {
    throw cannot(first_line(failure.what()));
  }
  rename_to_new(unfinished.path(), out);
  const auto folder = std::filesystem::absolute(out).parent_path().string();
  if (const auto error = sync_folder(folder)) throw cannot(error.message());
}

std::string journal_left(const std::string& path) {
  std::error_code error;
  for (const char* ending : {"-journal", "-wal"}) {
    const auto size = std::filesystem::file_size(path + ending, error);
    if (!error && size > 0) return path + ending;
  }
  return "";
}

void throw_database_error(const std::string& path, const SQLite::Exception& error) {
  std::string what = error.what();
  std::replace(what.begin(), what.end(), '\n', ' ');
  switch (error.getErrorCode() & 0xff) {
    case SQLITE_NOMEM:
      throw std::bad_alloc();  // the database is sound
    case SQLITE_NOTADB:
      throw database_error("{}: not an SQLite database; choose another file with --db", path);
    case SQLITE_CORRUPT:
      throw database_error(
          "{}: the database is damaged ({}); keep it, and go on with a copy made by `db backup` or "
          "with another --db",
          path, what);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw database_error(
          "{}: locked by another program; end it (a database browser, a stuck backup) and run the "
          "command again",
          path);
    case SQLITE_FULL:
      throw database_error("{}: the disk is full; free some space and run the command again", path);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      throw database_error(
          "{}: cannot be opened or is not writable ({}); check the folder and its "
          "permissions, or choose another file with --db",
          path, what);
    case SQLITE_IOERR:
      // What it cannot do while it shortens a file or writes its journal it calls an error of the
      // disk, also where that is full.
      if (is_full(path)) {
        throw database_error(
            "{}: the disk has no space left ({}); free some and run the command again", path, what);
      }
      [[fallthrough]];
    default:
      throw database_error("{}: {}; `db check` looks for what is wrong with it", path, what);
  }
}

void with_retry(const std::string& path, const StoreOptions& options,
                const std::function<void()>& work) {
  // Another program's time with the lock does not count while this one does not run.
  AwakeClock clock(std::chrono::milliseconds(kBusyTimeoutMs) + kLongestPause);
  const auto start = clock.now();
  auto pause = std::chrono::milliseconds(2);
  bool told = false;
  while (true) {
    try {
      return work();
    } catch (const SQLite::Exception& error) {
      const int code = error.getErrorCode() & 0xff;
      const auto waited = clock.now() - start;
      if ((code != SQLITE_BUSY && code != SQLITE_LOCKED) || waited > options.lock_timeout) {
        throw_database_error(path, error);
      }
      if (!told && waited > std::chrono::seconds(2) && options.notice) {
        options.notice(fmt::format("{}: waiting for another program's lock", path));
        told = true;
      }
    }
    if (options.pause) {
      options.pause(pause);
    } else {
      std::this_thread::sleep_for(pause);
    }
    pause = std::min(2 * pause, kLongestPause);
  }
}

SQLite::Database open_for_writing(const std::string& path, const StoreOptions& options) {
  check_path(path);
  check_not_in_runs(path);
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::exists(folder)) {
    throw database_error("{}: there is no folder {}; make it, or choose another file with --db",
                         path, folder.string());
  }
  std::optional<SQLite::Database> db;
  with_retry(path, options, [&] {
    db.reset();
    if (std::filesystem::exists(path)) peek(path, options);
    db.emplace(sqlite_name(path), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kBusyTimeoutMs);
    configure(*db);
    const bool empty = check_identity(*db, path, options);
    if (!empty && options.check_pages) check_pages(*db, path);
    if (sqlite3_db_readonly(db->getHandle(), "main") == 1) {
      throw database_error("{}: not writable; check its permissions, or choose another --db", path);
    }
    // Not WAL: see the head of run_store.h.
    db->execAndGet("PRAGMA journal_mode = TRUNCATE");
    migrate(*db, path, options);
  });
  return std::move(*db);
}

int64_t snapshots_opened() { return opened; }

SQLite::Database open_snapshot(const std::string& path, const StoreOptions& options) {
  check_path(path);
  ++opened;
  if (!std::filesystem::exists(path)) {
    throw database_error("{}: no such database; a sweep makes one, --db names another", path);
  }
  std::optional<SQLite::Database> copy;
  with_retry(path, options, [&] {
    const bool whole = peek(path, options);
    if (!whole && !options.undo_unfinished) {
      throw database_error("{}: it is being written, or was when its process died; not looked at",
                           path);
    }
    const int mode = whole ? SQLite::OPEN_READONLY : SQLite::OPEN_READWRITE;
    SQLite::Database file(sqlite_name(path), mode, kBusyTimeoutMs);
    configure(file);
    refuse_other_files(file);
    check_identity(file, path, options);
    copy.emplace(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    refuse_other_files(*copy);
    copy_database(*copy, file);
  });
  with_retry(path, options, [&] {
    configure(*copy);
    if (options.check_pages) check_pages(*copy, path);
    if (pragma(*copy, "user_version") < newest(options)) {
      SQLite::Transaction transaction(*copy);
      apply_migrations(*copy, path, options);
      transaction.commit();
    }
  });
  return std::move(*copy);
}

}  // namespace approx
