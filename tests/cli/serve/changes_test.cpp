#include "cli/serve/changes.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "cli/serve/secrets.h"

namespace approx {
namespace {

TEST(Changes, AStreamGreetsAndTellsOfWhatComesAfterItBegan) {
  Changes changes;
  changes.tell();
  const auto stream = changes.open();
  ASSERT_TRUE(stream);
  EXPECT_EQ(stream->next(), "retry: 2000\n\n");
  EXPECT_EQ(stream->next(), "") << "what was before it began is on its page already";
  changes.tell();
  changes.tell();
  EXPECT_EQ(stream->next(), "event: change\ndata: 3\n\n") << "several changes are told once";
  EXPECT_EQ(stream->next(), "");
}

TEST(Changes, TheEndIsToldOnce) {
  Changes changes;
  const auto stream = changes.open();
  stream->next();
  changes.tell();
  changes.end();
  EXPECT_EQ(stream->next(), "event: end\ndata: 0\n\n");
  EXPECT_EQ(stream->next(), std::nullopt);
}

TEST(Changes, CountsItsListenersAndHasABound) {
  Changes changes;
  std::vector<std::shared_ptr<EventStream>> streams;
  for (int i = 0; i < Changes::kMostListeners; ++i) streams.push_back(changes.open());
  EXPECT_EQ(changes.listeners(), Changes::kMostListeners);
  EXPECT_FALSE(changes.open());
  streams.pop_back();
  EXPECT_EQ(changes.listeners(), Changes::kMostListeners - 1);
  EXPECT_TRUE(changes.open());
}

TEST(Secrets, AreLongAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const auto secret = random_secret();
    EXPECT_EQ(secret.size(), 32u);
    EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos) << secret;
    seen.insert(secret);
  }
  EXPECT_EQ(seen.size(), 100u);
}

TEST(Secrets, AreComparedWhole) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_TRUE(same_secret("", ""));
  for (const char* other : {"", "ab", "abcd", "abd", "xbc", "axc", "ABC"}) {
    EXPECT_FALSE(same_secret("abc", other)) << other;
  }
}

}  // namespace
}  // namespace approx
