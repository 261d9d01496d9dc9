#include "results/store/run_folders.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "results/store/outcome.h"
#include "results/store/run_lock.h"
#include "tests/results/filled_store.h"

namespace approx {
namespace {

TEST(RunFolders, ADatabaseHasThemBesideIt) {
  EXPECT_EQ(runs_directory("t.db"), "t.runs");
  EXPECT_EQ(runs_directory("a/t.v1.db"), "a/t.v1.runs");
  EXPECT_EQ(runs_directory("a.db/t"), "a.db/t-runs");
  EXPECT_EQ(runs_directory("t.v1"), "t.v1-runs");
  EXPECT_EQ(path_beside("t", ".slurm"), "t-slurm");
}

TEST(RunFolders, OnlyNamesOfThisProgramAreItsOwn) {
  EXPECT_TRUE(is_numbered_name("0123456789ab-1"));
  EXPECT_TRUE(is_numbered_name("0123456789ab-204"));
  EXPECT_TRUE(is_checkpoint_name("0123456789ab.checkpoint"));
  for (const char* name : {"", "bert", "2024-11", "0123456789ab", "0123456789ab-", "0123456789ab-x",
                           "0123456789ag-1", "0123456789abc-1", "0123456789ab-1-2"}) {
    EXPECT_FALSE(is_numbered_name(name)) << name;
  }
  EXPECT_FALSE(is_checkpoint_name("model.checkpoint"));
  EXPECT_FALSE(is_checkpoint_name("0123456789ab.checkpoint2"));
}

// What has no end or makes who opens it wait, in the place of a file.
TEST(RunFolders, SpecialFilesAreNoneOfARun) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / RunLock::kWorker).c_str(), 0600), 0);
  EXPECT_FALSE(RunLock::held(folder / "", RunLock::kWorker));
  EXPECT_THROW(RunLock::acquire(folder / "", RunLock::kWorker), Error);
  std::filesystem::create_symlink("/dev/zero", folder / kEventsFile);
  EXPECT_TRUE(read_events(folder / "").empty());
}

TEST(RunFolders, NoTwoDatabasesShareThem) {
  const std::set<std::string> names = {"t",      "t.db",      "t.db.db", "t.runs", "t.runs.db",
                                       "t-runs", "t-runs.db", ".db",     "t.v1",   "t.v1.db"};
  std::set<std::string> folders;
  for (const auto& name : names) folders.insert(runs_directory(name));
  EXPECT_EQ(folders.size(), names.size());
}

}  // namespace
}  // namespace approx
