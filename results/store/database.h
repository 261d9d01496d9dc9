// Opens the store's file. Recognises stores, migrates them to this program's schema, and waits
// while another process holds a lock. The rest of results/ works on the opened databases.
#pragma once

#include <SQLiteCpp/Backup.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unfinished.h"
#include "results/store/sql.h"

namespace approx {

// Brings a database from version - 1 to `version`. The first migration makes the tables.
struct Migration {
  int64_t version = 1;
  std::string sql;
};

// The parts of schema.sql; a line "-- Version N: ..." begins each part but the first.
const std::vector<Migration>& store_migrations();

struct StoreOptions {
  // The longest wait for another process's lock.
  std::chrono::milliseconds lock_timeout{60'000};
  // Called once when a wait has lasted two seconds.
  std::function<void(const std::string& message)> notice;
  // Called to pass the time until the next try for a lock; an exception from it ends the wait.
  // Empty: sleeps.
  std::function<void(std::chrono::milliseconds)> pause;
  // Whether a reader may undo an uncommitted write of a process that died, which changes the file.
  // It must not where that process may be alive on another machine, whose locks are not visible.
  bool undo_unfinished = true;
  // Whether to check all pages on opening. `db check` turns it off and checks them itself, line by
  // line.
  bool check_pages = true;
  // Tests replace these by a future version.
  std::vector<Migration> migrations = store_migrations();
};

// The tables and views of this version as SQL, as `db schema` prints them.
std::string schema_text();

// Opens a store for writing; creates or migrates the file. A migration first copies it to
// `FILE.v1.backup`. Throws Error(kDatabase) as the constructor of RunStore does.
SQLite::Database open_for_writing(const std::string& path, const StoreOptions& options);

// A copy in memory of the committed content, migrated to this program's schema. The file is only
// read, and writers wait only while it is copied. The copy can attach no other file, whatever the
// file contains. Throws as open_for_writing() does, and where the file does not exist.
SQLite::Database open_snapshot(const std::string& path, const StoreOptions& options = {});

// How many such copies this process has made so far. Tests check with it that a report makes only
// one.
int64_t snapshots_opened();

// An empty store of this program's schema, in memory.
SQLite::Database empty_store();

// Copies all of one database over another. VACUUM INTO cannot do it: it attaches a file, which a
// copy in memory may not. Throws SQLite::Exception.
void copy_database(SQLite::Database& to, SQLite::Database& from);

// A temporary name for a database while it is written, beside its final name. Without a rename to
// the final name, the file and its journal are removed at the end, also if a signal ends the
// process. So a failed write does not fill the disk.
class UnfinishedDatabase {
 public:
  explicit UnfinishedDatabase(const std::string& name);
  UnfinishedDatabase(const UnfinishedDatabase&) = delete;
  UnfinishedDatabase& operator=(const UnfinishedDatabase&) = delete;
  const std::string& path() const { return file_.path(); }

 private:
  Unfinished file_, journal_;
};

// Writes a store in memory to a file, which appears only when it is complete. Throws Error(kUsage)
// where `out` exists, has a journal_left() or cannot be written.
void save_store(SQLite::Database& db, const std::string& out);

// The name by which SQLite opens exactly that file, also if it is called ":memory:" or "file:...".
// Every file that may exist is opened by this name. Throws Error(kDatabase) where its journal names
// another file, which SQLite would delete; no journal of ours does.
std::string sqlite_name(const std::string& path);

// The path of a leftover journal that SQLite would apply to a new database of that name; "" without
// one.
std::string journal_left(const std::string& path);

// Throws the error that SQLite reported about `path` as a one-line Error(kDatabase).
[[noreturn]] void throw_database_error(const std::string& path, const SQLite::Exception& error);

// Runs `work` until no lock of another process stops it, for options.lock_timeout at most. `work`
// is a whole transaction: each try repeats it from the start.
void with_retry(const std::string& path, const StoreOptions& options,
                const std::function<void()>& work);

// A write transaction, rolled back unless committed.
class WriteTransaction {
 public:
  explicit WriteTransaction(SQLite::Database& db)
      : transaction_(db, SQLite::TransactionBehavior::IMMEDIATE) {}
  void commit() { transaction_.commit(); }

 private:
  SQLite::Transaction transaction_;
};

}  // namespace approx
