// Stores that somebody else made, to turn the program against its user.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "results/store/database.h"
#include "results/store/maintenance.h"
#include "tests/results/filled_store.h"
#include "tests/results/hostile_journal.h"

namespace approx {
namespace {

class HostileStore : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";
  const std::string other_ = folder_ / "other.db";

  // A store of the last schema but one, which reading brings up to date in its copy.
  void make_older(const std::string& sql) const {
    SQLite::Database db(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    auto migrations = store_migrations();
    migrations.pop_back();
    for (const auto& migration : migrations) db.exec(migration.sql);
    db.exec(fmt::format("PRAGMA user_version = {}", migrations.back().version));
    db.exec(sql);
  }
};

int64_t views_named_v(SQLite::Database& db) {
  return db
      .execAndGet(
          "SELECT count(*) FROM sqlite_master WHERE type = 'view' AND name LIKE "
          "'v\"%'")
      .getInt64();
}

TEST_F(HostileStore, TheNameOfAViewIsNoStatement) {
  make_older(
      fmt::format("CREATE VIEW \"v\"\"; COMMIT; ATTACH '{}' AS o; CREATE TABLE o.t(x); "
                  "BEGIN; --\" AS SELECT 1",
                  other_));
  {
    auto copy = open_snapshot(path_);
    EXPECT_EQ(views_named_v(copy), 1) << "a view of somebody else's";
  }
  EXPECT_FALSE(std::filesystem::exists(other_));
  auto db = open_for_writing(path_, {});
  EXPECT_EQ(views_named_v(db), 1);
  EXPECT_FALSE(std::filesystem::exists(other_));
}

TEST_F(HostileStore, ACopyAttachesNothing) {
  make_older("");
  auto copy = open_snapshot(path_);
  EXPECT_THROW(copy.exec(fmt::format("ATTACH '{}' AS o", other_)), SQLite::Exception);
  EXPECT_THROW(copy.exec(fmt::format("VACUUM INTO '{}'", other_)), SQLite::Exception);
  EXPECT_FALSE(std::filesystem::exists(other_));
}

TEST_F(HostileStore, AJournalDeletesNoOtherFile) {
  { open_for_writing(path_, {}); }
  std::ofstream(other_) << "somebody's";
  std::ofstream(path_ + "-journal", std::ios::binary) << journal_naming(other_, file_bytes(path_));
  std::filesystem::create_symlink(path_, folder_ / "link.db");
  for (const auto& path : {path_, folder_ / "link.db"}) {
    EXPECT_THROW(open_snapshot(path), Error) << path;
    EXPECT_THROW(open_for_writing(path, {}), Error) << path;
    EXPECT_THROW(migrate_store(path), Error) << path;
    EXPECT_TRUE(std::filesystem::exists(other_)) << path;
  }
  // Opened by SQLite alone it would: the journal is one that is played back.
  SQLite::Database(path_, SQLite::OPEN_READWRITE).execAndGet("SELECT count(*) FROM run");
  EXPECT_FALSE(std::filesystem::exists(other_));
  open_snapshot(path_);
}

// A name is a file's, whatever SQLite would take it for.
TEST_F(HostileStore, EveryNameIsThatOfAFile) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_ / "");
  for (const std::string name : {":memory:", "file:a%41.db?mode=memory", "file:b.db"}) {
    { open_for_writing(name, {}); }
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name;
    open_snapshot(name);
  }
  std::filesystem::current_path(before);
  EXPECT_THROW(open_snapshot(""), Error);
}

// Triggers run when a migration writes to their table, views when they are read: of neither does
// anything reach a function that touches files.
TEST_F(HostileStore, TriggersAndViewsReachNoFile) {
  make_older(
      fmt::format("CREATE TRIGGER t AFTER UPDATE ON kernel_result BEGIN SELECT "
                  "writefile('{0}', 'x'); END; DROP VIEW IF EXISTS v_cell; "
                  "CREATE VIEW v_cell AS SELECT writefile('{0}', 'x') AS x",
                  other_));
  auto copy = open_snapshot(path_);
  for_each_row(copy, "SELECT * FROM v_cell", [](SQLite::Statement&) {});  // ours again
  EXPECT_FALSE(std::filesystem::exists(other_));
}

}  // namespace
}  // namespace approx
