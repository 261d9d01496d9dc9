#include "cli/ranks/session_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

class Sessions : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = (fs::temp_directory_path() / "approxtrain-sessions-XXXXXX").string();
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    parent_ = made;
  }
  void TearDown() override { fs::remove_all(parent_); }

  int64_t entries() const {
    return std::distance(fs::directory_iterator(parent_), fs::directory_iterator());
  }

  std::string parent_;
};

TEST_F(Sessions, OneIsThereAsLongAsItLives) {
  {
    const SessionFolder session(parent_);
    EXPECT_TRUE(fs::is_directory(session.path()));
    fs::create_directories(session.path() + "/a/b");
    std::ofstream(session.path() + "/a/b/c") << "text";
    EXPECT_EQ(entries(), 1);
  }
  EXPECT_EQ(entries(), 0);
}

TEST_F(Sessions, OnlyThoseThatNobodyHoldsAreRemoved) {
  const SessionFolder held(parent_);
  fs::create_directory(parent_ + "/other");
  const pid_t child = fork();
  if (child == 0) {
    const SessionFolder left(parent_);
    std::ofstream(left.path() + "/file") << "text";
    _exit(0);  // as if it were killed
  }
  waitpid(child, nullptr, 0);
  ASSERT_EQ(entries(), 3);
  remove_stale_sessions(parent_);
  EXPECT_EQ(entries(), 2);
  EXPECT_TRUE(fs::is_directory(held.path()));
}

TEST_F(Sessions, AFolderThatCannotBeMadeIsNamed) {
  try {
    const SessionFolder session(parent_ + "/missing");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(parent_ + "/missing: "), std::string::npos);
  }
  remove_stale_sessions(parent_ + "/missing");
}

}  // namespace
}  // namespace approx
