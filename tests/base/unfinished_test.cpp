#include "base/unfinished.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

TEST(Unfinished, IsRemovedUnlessKept) {
  const TemporaryFolder folder;
  { const Unfinished none(folder / "none"); }
  {
    const Unfinished lost(folder / "lost");
    Unfinished kept(folder / "kept");
    write_bytes(lost.path(), bytes_of("x"));
    write_bytes(kept.path(), bytes_of("x"));
    kept.keep();
  }
  EXPECT_FALSE(fs::exists(folder / "lost"));
  EXPECT_TRUE(fs::exists(folder / "kept"));
}

// What a child process leaves that a signal ends, or that ignores it; how it ends.
int ended_by(int number, const std::function<void()>& before, const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    before();
    const Unfinished made(path + "/folder");
    const Unfinished inside(path + "/folder/file");
    ::mkdir(made.path().c_str(), 0700);
    write_bytes(inside.path(), bytes_of("x"));
    ::raise(number);
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(Unfinished, GoesWithTheProcessThatASignalEnds) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGQUIT}) {
    const TemporaryFolder folder;
    const int status = ended_by(
        number, [&] { std::signal(number, SIG_DFL); }, folder.path());
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << number;
    EXPECT_EQ(folder.files(), 0) << number;
  }
}

TEST(Unfinished, LeavesASignalThatIsIgnoredOrHandled) {
  for (const auto handler : {SIG_IGN, +[](int) {}}) {
    const TemporaryFolder folder;
    const int status = ended_by(
        SIGTERM, [&] { std::signal(SIGTERM, handler); }, folder.path());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    EXPECT_TRUE(fs::exists(folder / "folder/file"));
  }
}

TEST(Unfinished, PutsSignalsBack) {
  struct sigaction before {
  }, after{};
  sigaction(SIGTERM, nullptr, &before);
  {
    const Unfinished one("/nonexistent/one");
    std::optional<Unfinished> two("/nonexistent/two");
    two.reset();
    sigaction(SIGTERM, nullptr, &after);
    EXPECT_NE(after.sa_handler, before.sa_handler);
  }
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST(UnfinishedName, IsNoLongerThanANameMayBe) {
  EXPECT_EQ(unfinished_name("a.md"), fmt::format("a.md.{}", ::getpid()));
  const TemporaryFolder folder;
  const std::string name = unfinished_name(folder / std::string(255, 'x'));
  write_bytes(name, bytes_of("x"));
  EXPECT_TRUE(fs::exists(name));
}

}  // namespace
}  // namespace approx::testing
