#include "results/store/event_reader.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <fstream>

#include "results/store/outcome.h"
#include "tests/results/filled_store.h"

namespace approx {
namespace {

using ::testing::ElementsAre;

constexpr size_t kMiB = size_t{1} << 20;

// The kinds of what is kept of bytes that come in pieces of that size.
std::vector<std::string> kept(std::string_view bytes, size_t piece, int64_t* garbage = nullptr) {
  EventReader reader;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.add(bytes.substr(at, piece), [](const Json&) {});
  }
  reader.finish([](const Json&) {});
  if (garbage != nullptr) *garbage = reader.garbage();
  std::vector<std::string> kinds;
  for (const auto& event : reader.take_events()) kinds.push_back(event["event"]);
  return kinds;
}

// The most memory that this process had at once. (Under a sanitizer memory says nothing.)
int64_t peak_kib() {
#ifdef __SANITIZE_ADDRESS__
  return 0;
#else
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
#endif
}

TEST(EventReader, EventsArePutTogetherFromAnyPieces) {
  const std::string text =
      "{\"event\":\"start\"}\n{\"event\":\"progress\"}\n{\"event\":\"metric\",\"name\":\"x\"}\n";
  for (const size_t piece : {1, 7, 1000}) {
    EXPECT_THAT(kept(text, piece), ElementsAre("start", "metric"));
  }
}

TEST(EventReader, WhatRanksSentIsKept) {
  EXPECT_THAT(kept(json_text(traffic_event("conv1", 4, 1, 2)) + "\n", 64), ElementsAre("traffic"));
}

TEST(EventReader, WhatIsNoEventIsCountedAndLeftOut) {
  int64_t garbage = 0;
  const std::string text =
      "what\n{\"event\":\"else\"}\n" + std::string(100, '[') + "\n{\"event\":\"start\"}\n";
  EXPECT_THAT(kept(text, 64, &garbage), ElementsAre("start"));
  EXPECT_EQ(garbage, 3);
}

// As text it is no longer than an event may be; as values it would take sixteen times as much.
TEST(EventReader, ALineOfMillionsOfValuesTakesNoMoreMemoryThanItsText) {
  std::string line = "{\"event\":\"final\",\"step_ns\":[1";
  while (line.size() < 31 * kMiB) line += ",1";
  line += "]}\n";
  const int64_t before = peak_kib();
  int64_t garbage = 0;
  EXPECT_TRUE(kept(line, kMiB, &garbage).empty());
  EXPECT_EQ(garbage, 1);
  EXPECT_LT(peak_kib() - before, 3 * 31 * 1024);
}

// Each line is one that an event may be; what counts is what their values take together.
TEST(EventReader, LinesOfMillionsOfValuesAreKeptWithinBounds) {
  const int64_t before = peak_kib();
  for (const auto& [value, count] :
       {std::pair{"1", 3'990'000}, {"{}", 800'000}, {"{\"a\":1}", 400'000}}) {
    std::string line = "{\"event\":\"block\",\"ns\":[" + std::string(value);
    for (int i = 1; i < count; ++i) (line += ',') += value;
    line += "]}\n";
    EventReader reader;
    for (int i = 0; i < 8; ++i) reader.add(line, [](const Json&) {});
    EXPECT_EQ(reader.garbage(), 4) << value;
    EXPECT_EQ(reader.take_events().size(), 4U) << value;
  }
  EXPECT_LT(peak_kib() - before, 512 * 1024);
}

// 300 epochs of a network with 300 approximated products, and two million steps.
TEST(EventReader, ALongRunIsKeptWhole) {
  std::string text;
  for (int i = 0; i < 300 * 300; ++i) {
    text += json_text({{"event", "metric"},
                       {"name", "density"},
                       {"split", "layer3.block5.conv2:weight_gradient"},
                       {"step", 2'000'000},
                       {"epoch", 299.99},
                       {"train_ns", 123'456'789'012'345},
                       {"value", 0.12345678901234567}}) +
            "\n";
  }
  const std::vector<int64_t> times(2'000'000, 123'456'789);
  text += json_text({{"event", "final"}, {"state", "finished"}, {"step_ns", times}}) + "\n";
  int64_t garbage = 0;
  EXPECT_EQ(kept(text, kMiB, &garbage).size(), 300U * 300 + 1);
  EXPECT_EQ(garbage, 0);
}

TEST(EventReader, ALineThatIsTooLongIsNotKeptWhileItComes) {
  const std::string piece(kMiB, 'x');
  EventReader reader;
  const int64_t before = peak_kib();
  for (int i = 0; i < 300; ++i) reader.add(piece, [](const Json&) {});
  reader.add("\n{\"event\":\"start\"}\n", [](const Json&) {});
  EXPECT_EQ(reader.garbage(), 1);
  EXPECT_EQ(reader.take_events().size(), 1U);
  EXPECT_LT(peak_kib() - before, 100 * 1024);
}

// A lost run's log is read by the same bounds, and what was cut off in its middle is left out.
TEST(EventReader, ALogIsReadWithinBounds) {
  const TemporaryFolder folder;
  {
    std::ofstream log(folder / "events.jsonl", std::ios::binary);
    log << "{\"event\":\"start\"}\n";
    const std::string line = "{\"event\":\"metric\",\"text\":\"" + std::string(kMiB, 'x') + "\"}\n";
    for (int i = 0; i < 200; ++i) log << line;
    log << "{\"event\":\"error\"";
  }
  const int64_t before = peak_kib();
  const auto events = read_events(folder / ".");
  EXPECT_LT(events.size(), 70U);
  EXPECT_GT(events.size(), 60U);
  EXPECT_EQ(events.front()["event"], "start");
  EXPECT_LT(peak_kib() - before, 150 * 1024);
}

}  // namespace
}  // namespace approx
