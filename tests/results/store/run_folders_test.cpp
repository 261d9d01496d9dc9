#include "results/store/run_folders.h"

#include <gtest/gtest.h>

#include <set>

namespace approx {
namespace {

TEST(RunFolders, ADatabaseHasThemBesideIt) {
  EXPECT_EQ(runs_directory("t.db"), "t.runs");
  EXPECT_EQ(runs_directory("a/t.v1.db"), "a/t.v1.runs");
  EXPECT_EQ(runs_directory("a.db/t"), "a.db/t-runs");
  EXPECT_EQ(runs_directory("t.v1"), "t.v1-runs");
  EXPECT_EQ(path_beside("t", ".slurm"), "t-slurm");
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
