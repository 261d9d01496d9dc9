#include "cli/process/core_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <utility>

#include "cli/process/machine_cores.h"
#include "tests/results/filled_store.h"

namespace approx {
namespace {

using Cpus = std::vector<int>;

// `packages` times `cores` cores of `threads` hardware threads, numbered as Linux does on most
// machines: the first threads of all cores, then the second ones.
std::vector<Core> topology(int packages, int cores, int threads) {
  const int all = packages * cores;
  std::vector<Core> made;
  for (int core = 0; core < all; ++core) {
    made.push_back({core / cores, {}});
    for (int thread = 0; thread < threads; ++thread) {
      made.back().cpus.push_back(core + thread * all);
    }
  }
  return made;
}

TEST(CorePool, ARunHasAsManyCoresAsThreadsWithAllTheirHardwareThreads) {
  CorePool pool(topology(1, 4, 2), /*jobs=*/2);
  const auto one = pool.take(1), two = pool.take(2);
  EXPECT_EQ(one.cpus(), (Cpus{0, 4}));
  EXPECT_EQ(two.cpus(), (Cpus{1, 2, 5, 6}));
  CorePool plain(topology(1, 4, 1), 4);
  EXPECT_EQ(plain.take(3).cpus(), (Cpus{0, 1, 2}));
}

TEST(CorePool, WhatWasGivenBackIsGivenAgain) {
  CorePool pool(topology(1, 2, 1), 2);
  auto first = pool.take(1);
  const auto second = pool.take(1);
  EXPECT_EQ(first.cpus(), Cpus{0});
  EXPECT_EQ(second.cpus(), Cpus{1});
  EXPECT_TRUE(pool.take(1).cpus().empty());
  first = CorePool::Lease();  // moved into a temporary, which ends here
  EXPECT_EQ(pool.take(1).cpus(), Cpus{0});
}

// Two runs of eight threads on eight cores of two hardware threads: none is to have all of them.
TEST(CorePool, MoreThreadsThanAShareOfTheCoresUseTheirHardwareThreads) {
  CorePool pool(topology(1, 8, 2), /*jobs=*/2);
  const auto one = pool.take(8), two = pool.take(8);
  EXPECT_EQ(one.cpus(), (Cpus{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(two.cpus(), (Cpus{4, 5, 6, 7, 12, 13, 14, 15}));
  // Where a run has more threads than a share has of them, it takes what it needs.
  CorePool other(topology(1, 8, 2), 2);
  const auto large = other.take(12), small = other.take(4);
  EXPECT_EQ(large.cpus().size(), 12u);
  EXPECT_EQ(small.cpus(), (Cpus{6, 7, 14, 15}));
  EXPECT_TRUE(other.take(1).cpus().empty());
}

TEST(CorePool, ARunThatDoesNotFitHasNoCoresOfItsOwn) {
  CorePool pool(topology(1, 2, 1), 2);
  EXPECT_TRUE(pool.take(3).cpus().empty());
  const auto both = pool.take(2);
  EXPECT_EQ(both.cpus(), (Cpus{0, 1}));
  EXPECT_TRUE(pool.take(1).cpus().empty());
  EXPECT_TRUE(CorePool().take(1).cpus().empty());
}

TEST(CorePool, ARunStaysInOnePackageWhereItFits) {
  CorePool pool(topology(2, 4, 1), /*jobs=*/3);
  const auto two = pool.take(2);  // share 2: from the first
  EXPECT_EQ(two.cpus(), (Cpus{0, 1}));
  const auto next = pool.take(2);  // what is left of the first, not half of each
  EXPECT_EQ(next.cpus(), (Cpus{2, 3}));
  const auto third = pool.take(3);
  EXPECT_EQ(third.cpus(), (Cpus{4, 5, 6}));
  CorePool wide(topology(2, 4, 1), 1);
  EXPECT_EQ(wide.take(6).cpus(), (Cpus{0, 1, 2, 3, 4, 5}));
}

// Of a mask that cuts cores in two, each core has what is left of it.
TEST(CorePool, HalfACoreIsACore) {
  CorePool pool({{0, {0}}, {0, {1, 5}}, {0, {6}}}, 1);
  EXPECT_EQ(pool.take(4).cpus(), (Cpus{0, 1, 5, 6}));
}

TEST(CorePool, NoMoreCoresThanACgroupHasTimeFor) {
  CorePool pool(topology(1, 8, 1), /*jobs=*/8, /*cpu_limit=*/2.5);
  const auto one = pool.take(1), two = pool.take(1);
  EXPECT_EQ(two.cpus(), Cpus{1});
  EXPECT_TRUE(pool.take(1).cpus().empty());
  CorePool none(topology(1, 8, 1), 8, 0.5);
  EXPECT_TRUE(none.take(1).cpus().empty());
}

TEST(CorePool, PassesOverCoresThatSomebodyElseHolds) {
  int held = 0;
  std::set<int> elsewhere = {0, 2};
  const auto claim = [&](const Core& core) -> CorePool::Hold {
    if (elsewhere.contains(core.cpus[0])) return nullptr;
    ++held;
    return {&held, [](void* count) { --*static_cast<int*>(count); }};
  };
  CorePool pool(topology(1, 4, 1), 4, std::nullopt, claim);
  {
    const auto one = pool.take(1), two = pool.take(1);
    EXPECT_EQ(one.cpus(), Cpus{1});
    EXPECT_EQ(two.cpus(), Cpus{3});
    EXPECT_EQ(held, 2);  // no core beside those that runs have
    EXPECT_TRUE(pool.take(1).cpus().empty());
  }
  EXPECT_EQ(held, 0);
}

// Any runs on any machine: no core is in two, none is cut, each has a hardware thread for each of
// its threads, and a run without cores of its own would not have fitted.
TEST(CorePool, CoresAreInOneRunAtATime) {
  std::mt19937 random(1);
  const auto from = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int without = 0;
  for (int round = 0; round < 300; ++round) {
    const auto cores = topology(from(1, 2), from(1, 6), from(1, 4));
    const auto wide = static_cast<int64_t>(cores[0].cpus.size());
    CorePool pool(cores, from(1, 6));
    std::vector<std::pair<CorePool::Lease, int64_t>> runs;
    for (int step = 0; step < 40; ++step) {
      if (!runs.empty() && from(0, 2) == 0) {
        runs.erase(runs.begin() + from(0, static_cast<int>(runs.size()) - 1));
        continue;
      }
      std::set<int> used;
      for (const auto& [lease, threads] : runs) {
        used.insert(lease.cpus().begin(), lease.cpus().end());
      }
      const int64_t threads = from(1, 8);
      auto lease = pool.take(threads);
      const Cpus cpus = lease.cpus();
      if (cpus.empty()) {
        ++without;
        const auto free =
            static_cast<int64_t>(cores.size()) * wide - static_cast<int64_t>(used.size());
        EXPECT_LT(free, threads);
        continue;
      }
      EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
      EXPECT_GE(static_cast<int64_t>(cpus.size()), threads);
      EXPECT_LE(static_cast<int64_t>(cpus.size()), threads * wide);
      const std::set<int> own(cpus.begin(), cpus.end());
      for (const int cpu : own) EXPECT_FALSE(used.contains(cpu));
      for (const auto& core : cores) {
        const auto inside = std::count_if(core.cpus.begin(), core.cpus.end(),
                                          [&](int cpu) { return own.contains(cpu); });
        EXPECT_TRUE(inside == 0 || inside == wide);
      }
      runs.emplace_back(std::move(lease), threads);
    }
  }
  EXPECT_GT(without, 100);
}

// Equal runs, no more threads than cores: each thread a core.
TEST(CorePool, EqualRunsThatFitHaveACoreForEachThread) {
  for (int threads = 1; threads <= 4; ++threads) {
    for (int jobs = 1; jobs * threads <= 12; ++jobs) {
      CorePool pool(topology(1, 12, 2), jobs);
      std::vector<CorePool::Lease> leases;
      for (int job = 0; job < jobs; ++job) {
        leases.push_back(pool.take(threads));
        EXPECT_EQ(leases.back().cpus().size(), static_cast<size_t>(2 * threads));
      }
    }
  }
}

TEST(CorePool, RanksShareNoCoreOfTheirRun) {
  CorePool pool(topology(1, 4, 2), /*jobs=*/1);
  const auto lease = pool.take(4);
  EXPECT_EQ(lease.parts(2), (std::vector<Cpus>{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(lease.parts(4), (std::vector<Cpus>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(lease.parts(1), (std::vector<Cpus>{lease.cpus()}));
}

TEST(CorePool, RanksHaveAHardwareThreadForEachOfTheirThreads) {
  for (const int hardware : {1, 2}) {
    for (int64_t ranks = 1; ranks <= 7; ++ranks) {
      for (int64_t threads = 1; threads <= 3; ++threads) {
        CorePool pool(topology(2, 12, hardware), /*jobs=*/2);
        const auto lease = pool.take(ranks * threads);
        const auto parts = lease.parts(ranks);
        ASSERT_EQ(parts.size(), static_cast<size_t>(ranks));
        std::set<int> seen;
        for (const auto& part : parts) {
          EXPECT_GE(part.size(), static_cast<size_t>(threads)) << ranks << " x " << threads;
          EXPECT_TRUE(std::ranges::is_sorted(part));
          for (const int cpu : part) EXPECT_TRUE(seen.insert(cpu).second);
        }
        EXPECT_EQ(Cpus(seen.begin(), seen.end()), lease.cpus());
      }
    }
  }
  EXPECT_TRUE(CorePool::Lease().parts(2).empty());
}

TEST(CorePool, CpusAreWrittenAsTheSystemDoes) {
  EXPECT_EQ(cpu_list({}), "");
  EXPECT_EQ(cpu_list({3}), "3");
  EXPECT_EQ(cpu_list({0, 1, 2, 8}), "0-2,8");
  EXPECT_EQ(cpu_list({0, 2, 3}), "0,2-3");
}

// A machine of files: CPUs 0 and 2 are one core, 1 and 3 another, of 4 nothing is told.
TEST(MachineCores, AreReadFromTheFilesOfTheKernel) {
  const TemporaryFolder folder;
  const auto write = [&](int cpu, const std::string& file, const std::string& text) {
    const std::filesystem::path path =
        folder / fmt::format("sys/devices/system/cpu/cpu{}/topology/{}", cpu, file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  };
  for (const int cpu : {0, 1, 2, 3}) {
    write(cpu, "thread_siblings_list", cpu % 2 == 0 ? "0,2" : "1,3");
    write(cpu, "physical_package_id", cpu % 2 == 0 ? "0" : "1");
  }
  write(5, "thread_siblings_list", "no list");
  const auto cores = read_cores({0, 1, 2, 4, 5}, folder / "");
  ASSERT_EQ(cores.size(), 4u);
  EXPECT_EQ(cores[0].cpus, (Cpus{0, 2}));
  EXPECT_EQ(cores[0].package, 0);
  EXPECT_EQ(cores[1].cpus, Cpus{1});  // 3 may not be used
  EXPECT_EQ(cores[1].package, 1);
  EXPECT_EQ(cores[2].cpus, Cpus{4});
  EXPECT_EQ(cores[3].cpus, Cpus{5});
}

TEST(MachineCores, AreThoseOfTheOwnMask) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  const auto allowed = allowed_cpus();
  EXPECT_EQ(static_cast<int>(allowed.size()), CPU_COUNT(&mask));
  for (const int cpu : allowed) EXPECT_TRUE(CPU_ISSET(cpu, &mask));
  EXPECT_FALSE(use_cpus({}));
  EXPECT_FALSE(use_cpus({60'000}));  // there is none
  EXPECT_EQ(allowed_cpus(), allowed);
}

}  // namespace
}  // namespace approx
