#include "base/user_folders.h"

#include <cstdlib>
#include <map>
#include <optional>

#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

// Environment variables for as long as it lives; "-": unset.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) {
      const char* before = std::getenv(name.c_str());
      before_[name] = before == nullptr ? std::nullopt : std::optional<std::string>(before);
      set(name, value == "-" ? std::nullopt : std::optional(value));
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_) set(name, value);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    if (value) {
      ::setenv(name.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name.c_str());
    }
  }
  std::map<std::string, std::optional<std::string>> before_;
};

TEST(DataFolder, IsOfTheEnvironmentOrSaysWhyNot) {
  const TemporaryFolder folder;
  write_bytes(folder / "file", {});
  const auto found = [](const std::string& xdg, const std::string& home) {
    const Environment variables({{"XDG_DATA_HOME", xdg}, {"HOME", home}});
    return data_folder();
  };
  EXPECT_EQ(found("/nonexistent/x", "/nonexistent").path, "/nonexistent/x/approxtrain");
  for (const char* none : {"-", "", "relative"}) {
    EXPECT_EQ(found(none, "/nonexistent").path, "/nonexistent/.local/share/approxtrain");
    EXPECT_EQ(found(none, "-").path, "");
  }
  EXPECT_EQ(found("-", "-").problem, "HOME is not set");
  EXPECT_EQ(found("-", "").problem, "HOME is not set");
  EXPECT_EQ(found("-", "here").problem, "HOME is relative: here");
  EXPECT_EQ(found("-", folder / "file").path, "");
  EXPECT_CONTAINS(found("-", folder / "file").problem, "Not a directory");
  EXPECT_EQ(found("-", folder.path()).problem, "");
}

TEST(TemporaryParents, ComeFromTmpdirThenTmp) {
  const auto parents = [](const std::string& given) {
    const Environment variables({{"TMPDIR", given}});
    return temporary_parents();
  };
  const std::vector<std::string> usual = {"/tmp"};
  EXPECT_EQ(parents("-"), usual);
  EXPECT_EQ(parents(""), usual);
  EXPECT_EQ(parents("/a"), (std::vector<std::string>{"/a", "/tmp"}));
  EXPECT_EQ(parents("a"), (std::vector<std::string>{(fs::current_path() / "a").string(), "/tmp"}));
}

TEST(MakeTemporaryFolder, TakesTheFirstThatServes) {
  const TemporaryFolder folder;
  write_bytes(folder / "file", {});
  const auto made = make_temporary_folder(
      "p-", {folder / "none", folder / "file", folder.path(), "/nonexistent"});
  EXPECT_TRUE(made.starts_with(folder / "p-"));
  EXPECT_EQ(fs::status(made).permissions(), fs::perms::owner_all);
  try {
    make_temporary_folder("p-", {folder / "none", folder / "file"});
    ADD_FAILURE() << "made";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_CONTAINS(error.what(), (folder / "none") + ": No such file or directory");
    EXPECT_CONTAINS(error.what(), (folder / "file") + ": Not a directory");
    EXPECT_CONTAINS(error.what(), "TMPDIR");
  }
}

}  // namespace
}  // namespace approx::testing
