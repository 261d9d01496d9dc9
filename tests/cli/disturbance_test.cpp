#include "cli/disturbance.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

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

TEST(Disturbance, AnotherProcessAtWorkIsSeen) {
  const Disturbance disturbance;
  const pid_t other = ::fork();
  if (other == 0) {
    for (volatile bool on = true; on;) {
    }
  }
  std::this_thread::sleep_for(kLongEnough);
  const double cores = cores_of_others(disturbance);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_GT(cores, 0.05);
}

// What others do meanwhile cannot be kept from them, but not every time as much as a core.
TEST(Disturbance, OnesOwnWorkIsNone) {
  double least = 1;
  for (int attempt = 0; attempt < 10 && least > 0.5; ++attempt) {
    const Disturbance disturbance;
    const auto end = std::chrono::steady_clock::now() + kLongEnough;
    while (std::chrono::steady_clock::now() < end) {
    }
    least = std::min(least, cores_of_others(disturbance));
  }
  EXPECT_LT(least, 0.5);
}

TEST(Disturbance, AMomentSaysNothing) { EXPECT_TRUE(Disturbance().taints().empty()); }

}  // namespace
}  // namespace approx
