#include "core/parallel/gpu_of_rank.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace approx {
namespace {

std::optional<LocalRank> rank_by(const std::map<std::string, std::string>& variables) {
  return local_rank([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string refusal(const LocalRank& local, const std::optional<std::string>& visible,
                    const std::optional<int64_t>& gpus) {
  try {
    return "takes " + gpu_of_rank(local, visible, gpus);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    return error.what();
  }
}

TEST(LocalRank, IsWhatTheLauncherSays) {
  const auto by_mpirun =
      rank_by({{"OMPI_COMM_WORLD_LOCAL_RANK", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  ASSERT_TRUE(by_mpirun);
  EXPECT_EQ(by_mpirun->rank, 2);
  EXPECT_EQ(by_mpirun->size, 4);
  EXPECT_FALSE(by_mpirun->by_slurm);
  // mpirun inside an allocation: all tasks of Slurm's step are one, the coordinator's.
  EXPECT_EQ(rank_by({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"SLURM_LOCALID", "0"}})->rank, 1);
  const auto by_srun = rank_by({{"SLURM_LOCALID", "3"}});
  ASSERT_TRUE(by_srun);
  EXPECT_EQ(by_srun->rank, 3);
  EXPECT_EQ(by_srun->size, 0);
  EXPECT_TRUE(by_srun->by_slurm);
  EXPECT_FALSE(rank_by({}));
  EXPECT_FALSE(rank_by({{"SLURM_LOCALID", "x"}}));
}

TEST(GpuOfRank, IsTheOneOfItsNumberAmongThoseThatAreVisible) {
  const LocalRank local{.rank = 1, .size = 2};
  EXPECT_EQ(gpu_of_rank(local, std::nullopt, 2), "1");
  EXPECT_EQ(gpu_of_rank(local, std::nullopt, 8), "1");
  EXPECT_EQ(gpu_of_rank(local, std::nullopt, std::nullopt), "1") << "nobody knows better";
  EXPECT_EQ(gpu_of_rank(local, "0,1", 1), "1") << "what is listed counts";
  EXPECT_EQ(gpu_of_rank(local, "6, 3 ,0", 8), "3");
  EXPECT_EQ(gpu_of_rank(local, "GPU-8f2d-a, GPU-77c1-b", 8), "GPU-77c1-b");
  EXPECT_EQ(gpu_of_rank(local, "MIG-GPU-8f2d/1/0,MIG-GPU-77c1/5/0", 8), "MIG-GPU-77c1/5/0");
  for (int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(gpu_of_rank({.rank = rank, .size = 4}, "a,b,c,d", 4),
              std::string(1, static_cast<char>('a' + rank)));
  }
}

TEST(GpuOfRank, OfTooFewAllRanksSayTheSame) {
  for (int64_t rank = 0; rank < 3; ++rank) {
    const LocalRank local{.rank = rank, .size = 3};
    EXPECT_EQ(refusal(local, std::nullopt, 2),
              "device cuda: 3 ranks on this machine need a GPU each, and 2 are here: give fewer "
              "ranks");
    EXPECT_EQ(refusal(local, "7", 8),
              "device cuda: 3 ranks on this machine need a GPU each, and 1 is here "
              "(CUDA_VISIBLE_DEVICES=7): give fewer ranks");
    EXPECT_EQ(refusal(local, "", 8),
              "device cuda: 3 ranks on this machine need a GPU each, and 0 are here "
              "(CUDA_VISIBLE_DEVICES=): give fewer ranks");
    // CUDA sees nothing behind what is no GPU.
    for (const char* visible : {"0,1,-1,2", "0,1,,2"}) {
      EXPECT_NE(refusal(local, visible, 8).find("2 are here"), std::string::npos) << visible;
    }
  }
}

TEST(GpuOfRank, WhatSlurmGaveToEachIsTakenAsItIs) {
  // srun --gpus-per-task=1, with or without numbers of its own in each task's cgroup.
  EXPECT_EQ(gpu_of_rank({.rank = 3, .by_slurm = true}, "0", 1), "0");
  EXPECT_EQ(gpu_of_rank({.rank = 3, .by_slurm = true}, "3", 8), "3");
  EXPECT_EQ(gpu_of_rank({.rank = 0, .by_slurm = true}, "GPU-8f2d-a", 1), "GPU-8f2d-a");
  // All of the node's for each task.
  EXPECT_EQ(gpu_of_rank({.rank = 3, .by_slurm = true}, "0,1,2,3", 4), "3");
  EXPECT_EQ(refusal({.rank = 1, .by_slurm = true}, std::nullopt, 1),
            "device cuda: 2 ranks on this machine need a GPU each, and 1 is here: give fewer "
            "ranks");
  EXPECT_NE(refusal({.rank = 0, .by_slurm = true}, "", 1).find("0 are here"), std::string::npos);
}

}  // namespace
}  // namespace approx
