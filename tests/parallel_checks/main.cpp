// What ranks of an MPI job do together, each of which is this program. `mpirun -n R
// parallel_checks` and one of
//
//   exchanges         sums, gathers and broadcasts against what they are
//   agree             trainings by R ranks against those of one process
//   agree_on_device   the same by exchanges that the host does not wait for, with repeated steps
//   hang K            rank K does not come to an exchange
//   late              sums that rank 1 comes to 0.8 s late, for who stops them all meanwhile
//   cuda              what ranks with a GPU each must hold
//   hang K cuda       rank K does not come to an exchange of GPUs
//
// Without mpirun it is one rank; `cuda` then needs no MPI. Rank 0 prints what it finds; every rank
// ends with 1 where something is wrong, with 77 where there is no GPU for it.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/error.h"
#include "core/train/device.h"
#include "tests/core/parallel/thread_collectives.h"
#include "tests/parallel_checks/checks.h"

namespace approx {
namespace {

constexpr std::chrono::milliseconds kLimit = std::chrono::seconds(60);
constexpr int kSkipped = 77;

int64_t failed = 0;

// The last words of a rank that waits.
void hang(Collectives& ranks, int64_t which, at::Device device) {
  if (ranks.world().rank == which) {
    while (true) pause();
  }
  try {
    const auto values = at::ones({1000}, device);
    ranks.sum(values);
    values.cpu();  // waits for a device
    ranks.watch();
    expect(false, "a sum without a rank");
  } catch (const Error& error) {
    std::printf("rank %d: %s\n", static_cast<int>(ranks.world().rank), error.what());
    std::fflush(nullptr);
    // Nobody ends before all have spoken.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    _exit(3);
  }
}

// Five seconds of waiting for each other, none for as long as the limit.
void late(Collectives& ranks) {
  for (int i = 0; i < 6; ++i) {
    if (ranks.world().rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(800));
    const auto values = at::ones({1000});
    ranks.sum(values);
    expect(at::equal(values, at::full({1000}, ranks.world().size)), "a sum with a late rank");
    if (ranks.world().rank == 0) std::printf("sum %d\n", i);
    std::fflush(nullptr);
  }
}

// Those that the launcher started; where none did, one that speaks to nobody.
std::shared_ptr<Collectives> hosts(std::chrono::milliseconds limit, bool needs_mpi) {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size == nullptr && !needs_mpi) {
    return std::make_shared<ThreadCollectives>(std::make_shared<ThreadCollectives::Job>(1),
                                               World{});
  }
  return open_collectives(size == nullptr ? 1 : std::atoi(size), limit);
}

// Why this process has no GPU for itself, "" where it has.
std::string no_gpu() {
  try {
    require_device_collectives(1);
    take_gpu_of_rank();
    open_device(DeviceKind::kCuda);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

int checked(const std::string& what, int argc, char** argv) {
  configure_threads(1);
  const bool hangs = what == "hang" && argc > 2;
  const bool on_gpu = what == "cuda" || (hangs && argc > 3);
  // Communicators of GPUs are made within it too.
  const auto limit =
      !hangs && what != "late" ? kLimit : std::chrono::milliseconds(on_gpu ? 20'000 : 1500);
  if (on_gpu) {
    if (const auto reason = no_gpu(); !reason.empty()) {
      std::printf("skipped: %s\n", reason.c_str());
      return kSkipped;
    }
  }
  const auto ranks = hosts(limit, /*needs_mpi=*/!on_gpu);
  if (what == "exchanges") exchanges(*ranks, at::kCPU);
  if (what == "agree") agree(ranks);
  if (what == "agree_on_device") agree_on_device(ranks);
  if (what == "late") late(*ranks);
  if (hangs && on_gpu) {
    const auto device = open_device(DeviceKind::kCuda);
    hang(*open_device_collectives(ranks, device, limit), std::atoi(argv[2]), device);
  } else if (hangs) {
    hang(*ranks, std::atoi(argv[2]), at::kCPU);
  }
  if (what == "cuda") {
    check_cuda(ranks, limit);
  } else {
    ranks->close();
  }
  std::fflush(nullptr);
  return failed > 0 ? 1 : 0;
}

}  // namespace

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failed;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

}  // namespace approx

int main(int argc, char** argv) {
  try {
    return approx::checked(argc > 1 ? argv[1] : "", argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
