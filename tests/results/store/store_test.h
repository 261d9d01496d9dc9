// A store in a folder of its own, and stores that are refused.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "results/store/run_store.h"
#include "tests/results/filled_store.h"

namespace approx {

using Mode = RunStore::Mode;

// The message of the Error(kDatabase) that opening raises.
inline std::string store_refusal(const std::string& path, Mode mode, StoreOptions options = {}) {
  try {
    RunStore store(path, mode, std::move(options));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDatabase);
    std::string what = error.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_TRUE(what.starts_with(path)) << what;
    return what;
  }
  ADD_FAILURE() << path << " was opened";
  return "";
}

// Neither reader nor writer opens the file, for that reason, and both leave it as it was.
inline void expect_refused_untouched(const std::string& path, const std::string& reason) {
  const std::string before = file_bytes(path);
  for (const Mode mode : {Mode::kRead, Mode::kWrite}) {
    EXPECT_NE(store_refusal(path, mode).find(reason), std::string::npos)
        << store_refusal(path, mode);
  }
  EXPECT_TRUE(file_bytes(path) == before) << path << " was changed";
}

// Does `sql` on the file past the store.
inline void sqlite(const std::string& path, const std::string& sql) {
  SQLite::Database db(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec(sql);
}

// One store, not yet made.
class StoreTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";

  std::string directory(const std::string& name) { return folder_ / ("runs-" + name); }

  // A store with these runs planned.
  RunStore with(const std::vector<PlannedRun>& runs) {
    RunStore store(path_, Mode::kWrite);
    store.add_experiment(experiment_of(runs), "approxtrain sweep test.toml");
    return store;
  }
};

}  // namespace approx
