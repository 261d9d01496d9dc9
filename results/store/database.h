// Opening the store's file: which files are ours, how they are brought to this program's schema,
// and what happens while another process holds them. The rest of results/ works on what this
// returns.
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

// Brings a database from version - 1 to `version`. The first one makes the tables.
struct Migration {
  int64_t version = 1;
  std::string sql;
};

// The parts of schema.sql: a line "-- Version N: ..." begins each but the first.
const std::vector<Migration>& store_migrations();

struct StoreOptions {
  // How long to wait for another process's lock.
  std::chrono::milliseconds lock_timeout{60'000};
  // Is told once when a wait has lasted two seconds.
  std::function<void(const std::string& message)> notice;
  // How a wait for a lock passes its time until the next try; an exception of its own ends the
  // wait. Sleeps where there is none.
  std::function<void(std::chrono::milliseconds)> pause;
  // Whether a reader may undo what a process wrote that died before it was committed, which writes
  // to the file. Not where that process may be alive on another machine, whose locks are not seen.
  bool undo_unfinished = true;
  // Whether to look through all pages on opening; `db check` does so itself, line by line.
  bool check_pages = true;
  // Tests put a version of the future here.
  std::vector<Migration> migrations = store_migrations();
};

// The tables and views of this version as SQL: what `db schema` prints.
std::string schema_text();

// Opens for writing; makes the file or migrates it (after a copy beside it, `FILE.v1.backup`).
// Throws Error(kDatabase) as RunStore's constructor says.
SQLite::Database open_for_writing(const std::string& path, const StoreOptions& options);

// A copy in memory of what is committed now, brought to this program's schema; the file is only
// read, and its writers wait no longer than the copy takes. The copy attaches no other file,
// whatever the file holds. Same errors; the file must exist.
SQLite::Database open_snapshot(const std::string& path, const StoreOptions& options = {});

// How many copies this process has made so far: tests see by it that a report makes one.
int64_t snapshots_opened();

// An empty store of this program's schema, in memory.
SQLite::Database empty_store();

// Copies all of one database over another. Not by VACUUM INTO, which attaches a file: a copy in
// memory may not. Throws SQLite::Exception.
void copy_database(SQLite::Database& to, SQLite::Database& from);

// The name that a database has while it is written, beside the one that it gets. What has not got
// that by the end is gone, with its journal, also where a signal ends the process: a full disk is
// not kept full.
class UnfinishedDatabase {
 public:
  explicit UnfinishedDatabase(const std::string& name);
  UnfinishedDatabase(const UnfinishedDatabase&) = delete;
  UnfinishedDatabase& operator=(const UnfinishedDatabase&) = delete;
  const std::string& path() const { return file_.path(); }

 private:
  Unfinished file_, journal_;
};

// Writes a store that is in memory to a file that is there when it is whole. Throws Error(kUsage)
// where `out` exists, has a journal_left() or cannot be written.
void save_store(SQLite::Database& db, const std::string& out);

// The name by which SQLite opens that file, whatever it is called (":memory:", "file:..."). Every
// file that may be there is opened by it. Throws Error(kDatabase) where its journal names another
// file, which SQLite would delete: no journal of ours does.
std::string sqlite_name(const std::string& path);

// What a database of that name has left beside it that SQLite would apply to a new one; "" without.
std::string journal_left(const std::string& path);

// Throws what SQLite reported about `path` as a one-line Error(kDatabase).
[[noreturn]] void throw_database_error(const std::string& path, const SQLite::Exception& error);

// Runs `work` until it is not stopped by another process's lock, for options.lock_timeout at most.
// `work` is a whole transaction: it is begun anew each time.
void with_retry(const std::string& path, const StoreOptions& options,
                const std::function<void()>& work);

// A transaction that will write, rolled back unless committed.
class WriteTransaction {
 public:
  explicit WriteTransaction(SQLite::Database& db)
      : transaction_(db, SQLite::TransactionBehavior::IMMEDIATE) {}
  void commit() { transaction_.commit(); }

 private:
  SQLite::Transaction transaction_;
};

}  // namespace approx
