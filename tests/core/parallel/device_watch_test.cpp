#include "core/parallel/device_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <stdexcept>

namespace approx {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPause{1};

// Until the watch says that something is wrong, or for ten seconds.
std::string failure_of(const DeviceWatch& watch) {
  const auto until = DeviceWatch::Clock::now() + std::chrono::seconds(10);
  while (watch.failure().empty() && DeviceWatch::Clock::now() < until) {
    std::this_thread::sleep_for(kPause);
  }
  return watch.failure();
}

bool is_seen(const std::atomic<int>& count, int wanted) {
  const auto until = DeviceWatch::Clock::now() + std::chrono::seconds(10);
  while (count < wanted && DeviceWatch::Clock::now() < until) {
    std::this_thread::sleep_for(kPause);
  }
  return count >= wanted;
}

TEST(DeviceWatch, SaysNothingOfADeviceThatGoesOn) {
  std::atomic<int> given_up = 0, reached = 0;
  {
    DeviceWatch watch(milliseconds(300), {.give_up = [&](const std::string&) { ++given_up; }},
                      kPause);
    // Together they take longer than the limit, each by itself does not.
    for (int i = 0; i < 10; ++i) {
      watch.expect([&reached, from = std::optional<DeviceWatch::Clock::time_point>()]() mutable {
        const auto now = DeviceWatch::Clock::now();
        if (!from) from = now;
        const bool is_reached = now - *from > milliseconds(60);
        reached += is_reached;
        return is_reached;
      });
    }
    EXPECT_TRUE(is_seen(reached, 10));
    // Nothing is asked of it for longer than the limit.
    std::this_thread::sleep_for(milliseconds(400));
    EXPECT_EQ(watch.failure(), "");
  }
  EXPECT_EQ(given_up, 0);
}

// Stopped for longer than the limit, with whatever it waits for.
TEST(DeviceWatch, ItsOwnPauseIsNoDelayOfTheDevice) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    DeviceWatch watch(milliseconds(1500), {.give_up = [](const std::string&) { ::_exit(1); }},
                      kPause);
    watch.expect([] { return false; });
    std::this_thread::sleep_for(milliseconds(3500));  // which passes meanwhile
    ::_exit(0);
  }
  std::this_thread::sleep_for(milliseconds(300));
  ::kill(child, SIGSTOP);
  std::this_thread::sleep_for(milliseconds(2600));
  ::kill(child, SIGCONT);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(DeviceWatch, GivesUpOnOneThatDoesNot) {
  std::atomic<int> given_up = 0;
  DeviceWatch watch(milliseconds(50),
                    {.give_up =
                         [&](const std::string& why) {
                           EXPECT_EQ(why, "nothing came");
                           ++given_up;
                         },
                     .late = "nothing came"},
                    kPause);
  watch.expect([] { return true; });
  watch.expect([] { return false; });
  EXPECT_EQ(failure_of(watch), "nothing came");
  EXPECT_TRUE(is_seen(given_up, 1));
}

TEST(DeviceWatch, SaysWhatTheDeviceSays) {
  for (const bool throws : {false, true}) {
    std::atomic<bool> is_wrong = false;
    DeviceWatch::Device device;
    if (!throws) device.fault = [&] { return std::string(is_wrong ? "no link" : ""); };
    DeviceWatch watch(std::chrono::minutes(5), device, kPause);
    watch.expect([&] {
      if (is_wrong && throws) throw std::runtime_error("no link");
      return false;
    });
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_EQ(watch.failure(), "");
    is_wrong = true;
    EXPECT_EQ(failure_of(watch), "no link");
  }
}

TEST(DeviceWatch, SeesACallThatDoesNotReturn) {
  DeviceWatch watch(milliseconds(50), {.late = "it hangs"}, kPause);
  { const DeviceWatch::Call call(watch); }
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(watch.failure(), "") << "that one has returned";
  const DeviceWatch::Call call(watch);
  EXPECT_EQ(failure_of(watch), "it hangs");
}

TEST(DeviceWatch, AThreadThatDoesNotBeginIsAFault) {
  DeviceWatch watch(std::chrono::minutes(5),
                    {.begin = [] { throw std::runtime_error("no such device"); }}, kPause);
  EXPECT_EQ(failure_of(watch), "no such device");
}

}  // namespace
}  // namespace approx
