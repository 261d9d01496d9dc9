// What was done to a store, as text beside it (docs/internals/store.md, "The journal"): a line for
// each transaction, in the order of their commits, on the disk before the transaction is committed.
// With the logs of the runs a store is made of nothing else: `db rebuild` makes it anew from that.
//
// A journal has a number. It begins with an empty store or with a copy of the store as it was then,
// its base, and goes on until something changes rows in a way that no line tells (a merge, a
// migration, a program that kept no journal): then the next one begins.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/params.h"
#include "results/store/database.h"

namespace approx {

// The files of the journals of a database.
class JournalFiles {
 public:
  explicit JournalFiles(const std::string& db);

  const std::string& folder() const { return folder_; }
  std::string lines(int64_t number) const;  // "DB.runs/journal/2.jsonl"
  std::string base(int64_t number) const;   // "DB.runs/journal/2.db"
  // Rising; the last one is that of the database.
  std::vector<int64_t> numbers() const;
  int64_t last() const;  // 0: there is none

 private:
  std::string folder_;
};

class Journal {
 public:
  explicit Journal(std::string db);

  // Runs `work` in one transaction, waiting for other processes' locks; commits it when what `work`
  // adds is on the disk. Throws Error(kDatabase), as the functions below, where a file cannot be
  // written.
  void write(SQLite::Database& db, const StoreOptions& options, const std::function<void()>& work);

  // Adds a line, inside `work` and after what it tells was done. `entry`: an object with "op"
  // (results/store/journal_entries.h).
  void add(Json entry);
  // A line that belongs to the entry after it.
  void add_part(std::string_view line);

  // Begins the next one, inside a `work` that has changed nothing. The one before goes where it
  // told all that was in the store.
  void begin_anew(SQLite::Database& db);

 private:
  // Inside a transaction that has changed nothing yet: makes the journal that of the store as it
  // is. A line whose transaction was never committed is marked as undone; where more than that
  // differs, a new journal begins.
  void begin(SQLite::Database& db);
  // To the disk; the transaction may then be committed.
  void sync();
  // Of a transaction that cannot be committed, before it is rolled back: its lines go.
  void take_back() noexcept;
  void find(SQLite::Database& db);
  void open(int64_t number);
  off_t size() const;
  void put(std::string_view line);
  void flush();

  std::string db_path_;
  JournalFiles files_;
  SQLite::Database* db_ = nullptr;
  int64_t number_ = 0;    // 0: not looked for yet
  bool in_step_ = false;  // it tells all that is in the store
  Descriptor file_;
  off_t known_size_ = 0;  // where it was left: another process may go on
  off_t begun_at_ = 0;    // its size at the beginning of the transaction
  std::string pending_;   // not written yet
  bool changed_ = false;  // by this transaction
};

// A line of a journal that was not undone. Where the next one undoes it is known only then.
struct JournalEntry {
  int64_t line = 0;  // from 1
  Json entry;
  std::vector<std::string> parts;  // the lines that belong to it
};

// Calls `use` with each entry, the head of the journal first. Returns the lines that are not ours.
std::vector<int64_t> read_journal(const std::string& path,
                                  const std::function<void(const JournalEntry&)>& use);

}  // namespace approx
