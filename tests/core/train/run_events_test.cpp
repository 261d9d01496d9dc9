#include "core/train/run_events.h"

#include <vector>

#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

TEST(RunEvents, SayWhereABatchHasFewerImagesThanAreAskedFor) {
  const auto data = toy_dataset();
  auto config = toy_run("dense", "", 1);
  const auto begin = [&] {
    const Session session(config, data);
    std::vector<Json> events;
    send_start(session, data, config, [&](const Json& event) { events.push_back(event); },
               {{"order_draw", 3}});
    EXPECT_EQ(events.at(0).at("event"), "start");
    EXPECT_EQ(events.at(0).at("order_draw"), 3);
    EXPECT_EQ(events.at(0).at("batch_images"), session.batch_size());
    return events;
  };
  const auto usual = begin();
  EXPECT_EQ(usual.size(), 1u);
  EXPECT_EQ(usual[0].at("batch_images"), config.batch_size);

  config.batch_size = 100'000;
  const auto clamped = begin();
  ASSERT_EQ(clamped.size(), 2u);
  EXPECT_EQ(clamped[1].at("event"), "note");
  const std::string message = clamped[1].at("message");
  EXPECT_EQ(message, fmt::format("batch_size = 100000: steps have {} images, which are all that "
                                 "{} has to train on",
                                 Session(config, data).split().train.count(), data.name));
}

}  // namespace
}  // namespace approx
