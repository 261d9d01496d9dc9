#include "cli/sweep/progress_line.h"

#include <gtest/gtest.h>

namespace approx {
namespace {

ProgressLine long_line() {
  return {.number = 12,
          .total = 44,
          .left = std::chrono::seconds(62),
          .all = std::chrono::minutes(12) + std::chrono::seconds(30),
          .method = "topk_position",
          .epoch = 2,
          .epochs = 5,
          .step = 80,
          .total_steps = 200,
          .accuracy = 0.95,
          .loss = 0.1234,
          .images_per_s = 3000,
          .rest = "every batch, small_cnn, 32 channels, mnist14, seed 3"};
}

TEST(ProgressLine, HasEverything) {
  EXPECT_EQ(text_of(long_line()),
            "[12/44] 1 min 02 s left (12 min 30 s for all), topk_position, epoch 2/5, step 80/200, "
            "accuracy 95.00 %, loss 0.1234, 3000 images/s, every batch, small_cnn, 32 channels, "
            "mnist14, seed 3");
}

TEST(ProgressLine, KeepsTimesAndMethodOnANarrowTerminal) {
  for (const size_t columns : {79, 64}) {
    const std::string shown = fit(text_of(long_line()), columns);
    EXPECT_NE(shown.find("1 min 02 s left (12 min 30 s for all), topk_position"), std::string::npos)
        << columns << ": " << shown;
    EXPECT_EQ(shown.size(), columns - 1 + std::string("…").size()) << shown;
  }
}

TEST(ProgressLine, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(text_of({.number = 1, .total = 2, .at_work = 2, .method = "dense", .rest = "seed 0"}),
            "[1/2, 2 at work] dense, seed 0");
  EXPECT_EQ(text_of({.number = 1,
                     .total = 2,
                     .left = std::chrono::seconds(5),
                     .method = "zero",
                     .step = 3,
                     .total_steps = 8,
                     .unit = "pair"}),
            "[1/2] 5.0 s left, zero, pair 3/8");
}

TEST(ProgressLine, CutsNoCharacterApart) {
  EXPECT_EQ(fit("aäöü", 4), "aäöü");
  EXPECT_EQ(fit("aäöü", 3), "aä…");
}

}  // namespace
}  // namespace approx
