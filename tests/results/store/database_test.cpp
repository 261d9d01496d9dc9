// Which files are databases of ours, and what is done with others.
#include "results/store/database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/results/store/store_test.h"

namespace approx {
namespace {

TEST_F(StoreTest, ANewFileHasOurIdentityAndPragmas) {
  { RunStore store(path_, Mode::kWrite); }
  EXPECT_EQ(query(path_, "PRAGMA application_id"), std::vector<std::string>{"1095783512"});
  EXPECT_EQ(query(path_, "PRAGMA user_version"),
            std::vector<std::string>{std::to_string(store_migrations().back().version)});
  auto db = open_for_writing(path_, {});
  EXPECT_EQ(db.execAndGet("PRAGMA journal_mode").getString(), "truncate");
  EXPECT_EQ(db.execAndGet("PRAGMA synchronous").getInt(), 2);
  EXPECT_EQ(db.execAndGet("PRAGMA foreign_keys").getInt(), 1);
  EXPECT_EQ(db.execAndGet("PRAGMA trusted_schema").getInt(), 0);
  EXPECT_EQ(db.execAndGet("PRAGMA cell_size_check").getInt(), 1);
}

TEST(Migrations, EachPartOfTheSchemaHasItsNumber) {
  const auto& parts = store_migrations();
  ASSERT_GT(parts.size(), 8u);
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].version, static_cast<int64_t>(i) + 1);
    const std::string head = fmt::format("-- Version {}: ", i + 1);
    EXPECT_TRUE(i == 0 || parts[i].sql.starts_with(head)) << parts[i].sql;
  }
}

TEST_F(StoreTest, FilesThatAreNotOursAreRefusedUntouched) {
  const auto text = folder_ / "notes.txt";
  std::ofstream(text) << std::string(5000, 'x');
  expect_refused_untouched(text, "not an SQLite database");

  const auto foreign = folder_ / "foreign.db";
  sqlite(foreign, "PRAGMA application_id = 7; CREATE TABLE t(x)");
  expect_refused_untouched(foreign, "another application (application_id 0x00000007");

  const auto plain = folder_ / "plain.db";
  sqlite(plain, "CREATE TABLE t(x)");
  expect_refused_untouched(plain, "another application");

  const auto foreign_wal = folder_ / "wal.db";
  sqlite(foreign_wal, "PRAGMA journal_mode = WAL; CREATE TABLE t(x)");
  expect_refused_untouched(foreign_wal, "another application");
}

TEST_F(StoreTest, ANewerSchemaIsRefusedUntouched) {
  { RunStore store(path_, Mode::kWrite); }
  const auto known = store_migrations().back().version;
  sqlite(path_, fmt::format("PRAGMA user_version = {}", known + 1));
  expect_refused_untouched(
      path_, fmt::format("newer program (schema {}, this program knows {})", known + 1, known));
}

TEST_F(StoreTest, DamagedFilesAreRefusedUntouched) {
  {
    auto store = with({planned("zero", 0)});
    const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
    store.finish(*id, accuracy_events({0.5}), {});
  }
  const std::string whole = file_bytes(path_);
  const auto damaged = folder_ / "damaged.db";
  const auto write = [&](const std::string& bytes) {
    std::ofstream(damaged, std::ios::binary | std::ios::trunc) << bytes;
  };
  // Cut short, in the middle of a page and between two. Without its header the file may as well be
  // something else: any reason will do.
  for (const size_t size : {size_t{60}, size_t{5000}, whole.size() / 2, whole.size() - 4096}) {
    write(whole.substr(0, size));
    expect_refused_untouched(damaged, size < 100 ? "" : "damaged");
  }
  // Each page zeroed once. The first is the header's.
  for (size_t page = 0; page < whole.size() / 4096; ++page) {
    std::string bytes = whole;
    bytes.replace(page * 4096, 4096, 4096, '\0');
    write(bytes);
    expect_refused_untouched(damaged, page == 0 ? "" : "damaged");
  }
}

TEST_F(StoreTest, PlacesWhereNoDatabaseCanBe) {
  EXPECT_NE(store_refusal(folder_ / "none/store.db", Mode::kWrite).find("no folder"),
            std::string::npos);
  EXPECT_NE(store_refusal(path_, Mode::kRead).find("no such database"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path_)) << "a reader makes no file";
  std::filesystem::create_directory(folder_ / "folder");
  EXPECT_NE(store_refusal(folder_ / "folder", Mode::kWrite).find("a folder"), std::string::npos);
  { RunStore store(path_, Mode::kWrite); }
  ::chmod(path_.c_str(), 0444);
  ::chmod((folder_ / "").c_str(), 0777);
  // Root may write everywhere, so that it has to be another for a moment.
  constexpr uid_t kNobody = 65534;
  const bool is_root = ::geteuid() == 0;
  const auto become = [&](uid_t user) { return !is_root || ::setresuid(user, user, 0) == 0; };
  ASSERT_TRUE(become(kNobody));
  const auto refusal = store_refusal(path_, Mode::kWrite);
  ASSERT_TRUE(become(0));
  EXPECT_NE(refusal.find("not writable"), std::string::npos) << refusal;
}

TEST_F(StoreTest, ASnapshotIsNotWritten) {
  { auto store = with({planned("zero", 0)}); }
  RunStore store(path_, Mode::kRead);
  EXPECT_THROW(store.recover(), Error);
  EXPECT_THROW(store.begin("accuracy/zero/0", environment_of(), directory("a")), Error);
}

// The file system of /proc has no room; of a folder that is not there nothing is known.
TEST(DatabaseErrors, AnErrorOfAFullDiskIsToldAsOne) {
  const auto message = [](const std::string& path, int code) -> std::string {
    try {
      throw_database_error(path, SQLite::Exception("disk I/O error", code));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kDatabase);
      return error.what();
    }
  };
  EXPECT_EQ(
      message("/proc/x.db", SQLITE_IOERR),
      "/proc/x.db: the disk has no space left (disk I/O error); free some and run the command "
      "again");
  EXPECT_EQ(message("/proc/x.db", SQLITE_IOERR_TRUNCATE), message("/proc/x.db", SQLITE_IOERR));
  EXPECT_NE(message("/nowhere/x.db", SQLITE_IOERR).find("disk I/O error; `db check`"),
            std::string::npos);
}

}  // namespace
}  // namespace approx
