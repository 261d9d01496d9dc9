// The changes of a store as text beside it (docs/internals/store.md, "The journal"). Each
// transaction has a line, in the order of the commits. The line is on the disk before its
// transaction is committed. The journal and the logs of the runs determine the whole store, from
// which `db rebuild` makes it anew.
//
// Each journal has a number. It begins with an empty store or with a base, a copy of the store at
// that time. It ends when something changes rows without a line: a merge, a migration, or a program
// that kept no journal. Then the next journal begins.
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

// The journal files of a database.
class JournalFiles {
 public:
  explicit JournalFiles(const std::string& db);

  const std::string& folder() const { return folder_; }
  std::string lines(int64_t number) const;  // "DB.runs/journal/2.jsonl"
  std::string base(int64_t number) const;   // "DB.runs/journal/2.db"
  // All numbers, rising; the last one is that of the database's current journal.
  std::vector<int64_t> numbers() const;
  int64_t last() const;  // 0: there is none

 private:
  std::string folder_;
};

class Journal {
 public:
  explicit Journal(std::string db);

  // Runs `work` in one transaction, waiting for other processes' locks. The lines that `work` adds
  // are on the disk before the commit. Throws Error(kDatabase) where a file cannot be written, as
  // the functions below do.
  void write(SQLite::Database& db, const StoreOptions& options, const std::function<void()>& work);

  // Adds a line, inside `work` and after the change that it describes. `entry` is an object with
  // "op" (results/store/journal_entries.h).
  void add(Json entry);
  // Adds a line that belongs to the entry after it.
  void add_part(std::string_view line);

  // Begins the next journal, inside a `work` that has changed nothing. The previous journal is
  // removed if it told all that was in the store.
  void begin_anew(SQLite::Database& db);

 private:
  // Inside a transaction that has changed nothing yet: brings the journal in step with the store. A
  // line whose transaction was never committed is marked as undone. Where they differ by more than
  // that, a new journal begins.
  void begin(SQLite::Database& db);
  // Writes the lines to the disk; the transaction may then be committed.
  void sync();
  // Removes the lines of a transaction that cannot be committed, before it is rolled back.
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
  bool in_step_ = false;  // whether it tells all that is in the store
  Descriptor file_;
  off_t known_size_ = 0;  // size after this process's last write; another process may append
  off_t begun_at_ = 0;    // its size at the beginning of the transaction
  std::string pending_;   // not written yet
  bool changed_ = false;  // whether this transaction changed it
};

// A line of a journal that was not undone. Whether the next line undoes it is known only after
// reading that.
struct JournalEntry {
  int64_t line = 0;  // from 1
  Json entry;
  std::vector<std::string> parts;  // the lines that belong to it
};

// Calls `use` with each entry, the head of the journal first. Returns the lines that are not ours.
std::vector<int64_t> read_journal(const std::string& path,
                                  const std::function<void(const JournalEntry&)>& use);

}  // namespace approx
