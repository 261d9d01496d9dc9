#include "core/parallel/collectives.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "tests/core/parallel/thread_collectives.h"

namespace approx {
namespace {

TEST(Collectives, SayWhatIsTrueOfAll) {
  as_ranks(3, [](const std::shared_ptr<ThreadCollectives>& ranks) {
    const int64_t rank = ranks->world().rank;
    EXPECT_DOUBLE_EQ(ranks->mean(static_cast<double>(rank)), 1);
    EXPECT_FALSE(ranks->any(false));
    EXPECT_TRUE(ranks->any(rank == 2));
    EXPECT_EQ(ranks->of_first(10 + rank), 10);
    for (const std::string text : {"", "a", "twelve bytes", "more than sixteen bytes"}) {
      EXPECT_EQ(ranks->of_first(rank == 0 ? text : "another"), text);
    }
    EXPECT_EQ(ranks->of_all(std::string(static_cast<size_t>(rank), 'x')),
              (std::vector<std::string>{"", "x", "xx"}));
    EXPECT_EQ(ranks->of_all(""), std::vector<std::string>(3));
    EXPECT_TRUE(at::equal(ranks->gathered(at::full({2}, rank, at::kLong)),
                          at::arange(3, at::kLong).unsqueeze(1).expand({3, 2})));
  });
}

TEST(Collectives, NameTheRankThatDiffers) {
  std::atomic<int> refused = 0;
  as_ranks(3, [&refused](const std::shared_ptr<ThreadCollectives>& ranks) {
    const int64_t rank = ranks->world().rank;
    ranks->require_same("library", "0f3a", "");
    ranks->require_same("library", "", "");
    for (const std::string other : {"", "0f3b", "0f3", "0f3a0"}) {
      try {
        ranks->require_same("library", rank == 2 ? other : "0f3a", "use one build");
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kUsage);
        EXPECT_EQ(std::string(error.what()),
                  "rank 2 has another library than rank 0 (" + other + ", 0f3a): use one build");
        ++refused;
      }
    }
  });
  EXPECT_EQ(refused, 12);
}

}  // namespace
}  // namespace approx
