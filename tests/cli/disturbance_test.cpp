#include "cli/disturbance.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <thread>
#include <vector>

namespace approx {
namespace {

constexpr auto kLongEnough = std::chrono::milliseconds(500);

// How many cores others used, by what is said of them.
double cores_of_others(const Disturbance& disturbance) {
  double cores = 0;
  for (const auto& taint : disturbance.taints()) {
    std::sscanf(taint.c_str(), "other processes used %lf cores", &cores);
  }
  return cores;
}

// Processor time of a process that is at work, in seconds.
double seconds_of(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(process, &clock) != 0) return 0;
  ::clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// On a busy machine others are at work in any case. But this one's time is ours as soon as it has
// ended: it is what others have less by then.
TEST(Disturbance, AnotherProcessAtWorkIsSeen) {
  using Clock = std::chrono::steady_clock;
  constexpr double kUsed = 1;  // seconds
  const Disturbance disturbance;
  const auto start = Clock::now();
  const auto seconds_of_others = [&] {
    const double cores = cores_of_others(disturbance);
    return cores * std::chrono::duration<double>(Clock::now() - start).count();
  };
  const pid_t other = ::fork();
  if (other == 0) {
    for (volatile bool on = true; on;) {
    }
  }
  while (seconds_of(other) < kUsed && Clock::now() < start + std::chrono::minutes(2)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const double while_it_worked = seconds_of_others();
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_GT(while_it_worked - seconds_of_others(), kUsed / 2);
}

// With every core busy, others had what this process had not, however much they do meanwhile.
TEST(Disturbance, OnesOwnWorkIsNone) {
  const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const Disturbance disturbance;
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t used_before = std::clock();
  std::vector<std::thread> threads;
  for (int i = 0; i < cores; ++i) {
    threads.emplace_back([start] {
      while (std::chrono::steady_clock::now() < start + kLongEnough) {
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const double others = cores_of_others(disturbance);
  const double own = static_cast<double>(std::clock() - used_before) / CLOCKS_PER_SEC;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  EXPECT_LT(others + own / wall.count(), cores + 0.3);
}

TEST(Disturbance, AMomentSaysNothing) { EXPECT_TRUE(Disturbance().taints().empty()); }

}  // namespace
}  // namespace approx
