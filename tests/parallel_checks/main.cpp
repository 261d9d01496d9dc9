// What ranks of an MPI job do together, each of which is this program:
//
//   mpirun -n R parallel_checks exchanges   sums, gathers and broadcasts against what they are
//   mpirun -n R parallel_checks agree       trainings by R ranks against those of one process
//   mpirun -n R parallel_checks hang K      rank K does not come to an exchange
//
// Rank 0 prints what it finds; every rank ends with 1 where something is wrong.
#include <ATen/ATen.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/error.h"
#include "core/config/named_schedule.h"
#include "core/networks/network.h"
#include "core/parallel/collectives.h"
#include "core/train/device.h"
#include "core/train/session.h"
#include "tests/testing.h"

namespace approx {
namespace {

constexpr auto kLimit = std::chrono::seconds(60);

int64_t failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

// Over every choice of ranks, several sums at once, and twice: groups are made once.
void sums_over_some(Collectives& ranks) {
  const auto [rank, size] = ranks.world();
  const auto own = [](int64_t count, int64_t of) {
    return at::arange(count, at::kFloat).remainder(1000) * static_cast<double>(of + 1);
  };
  for (const int64_t count : {1, 1000, 65'537}) {
    std::vector<Collectives::Sum> sums;
    for (int64_t choice = 1; choice < int64_t{1} << size; ++choice) {
      std::vector<int64_t> some;
      for (int64_t one = 0; one < size; ++one) {
        if ((choice >> one & 1) != 0) some.push_back(one);
      }
      // Of those that are not among them nothing is looked at.
      const bool is_in = (choice >> rank & 1) != 0;
      sums.push_back({is_in ? own(count, rank) : at::full({count}, NAN), some});
    }
    const double before = ranks.bytes_sent();
    ranks.start_sums(sums)->wait();
    double bytes = 0;
    for (const auto& [values, some] : sums) {
      auto expected = at::zeros({count});
      for (const int64_t one : some) expected += own(count, one);
      expect(at::equal(values, expected),
             fmt::format("sum over {} ranks of {}", some.size(), count));
      bytes += bytes_of_sum(4 * count, static_cast<int64_t>(some.size()), size);
    }
    expect(std::abs(ranks.bytes_sent() - before - bytes) < 1, "what was sent is counted");
  }
}

// Sizes around what algorithms and messages change at.
void exchanges(Collectives& ranks) {
  const auto [rank, size] = ranks.world();
  for (const int64_t count : {1, 2, 3, 7, 64, 1000, 4096, 65'537, 1'000'000}) {
    for (const auto type : {at::kFloat, at::kDouble, at::kInt, at::kLong}) {
      const auto numbers = at::arange(count, type).remainder(1000);
      const auto own = numbers * (rank + 1);
      const auto what = fmt::format("{} {}", count, c10::toString(type));
      auto sum = own.clone();
      ranks.sum(sum);
      expect(at::equal(sum, numbers * (size * (size + 1) / 2)), "sum of " + what);
      const auto all = ranks.gathered(own);
      for (int64_t other = 0; other < size; ++other) {
        expect(at::equal(all[other], numbers * (other + 1)), "gather of " + what);
      }
      auto first = own.clone();
      ranks.broadcast(first);
      expect(at::equal(first, numbers), "broadcast of " + what);
    }
  }
  sums_over_some(ranks);
  // Several at once, and bits that do not depend on who comes when.
  std::vector<at::Tensor> results;
  const auto own = at::rand({100'000}, at::TensorOptions()) + static_cast<double>(rank);
  for (int64_t turn = 0; turn < 2 * size; ++turn) {
    if (turn == rank) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    auto one = own.clone(), other = own.narrow(0, 0, 777).clone();
    const auto first = ranks.start_sum(one), second = ranks.start_sum(other);
    second->wait();
    first->wait();
    results.push_back(one);
    expect(at::equal(results.front(), one), "equal sums have equal bits");
  }
  const auto everybodys = ranks.gathered(results.front());
  for (int64_t other = 1; other < size; ++other) {
    expect(at::equal(everybodys[other], everybodys[0]), "all ranks have the same bits");
  }
}

RunConfig training(const std::string& method, const std::string& schedule) {
  RunConfig config;
  config.network = "small_cnn:width=8";
  config.norm_statistics = NormScope::kSynchronised;
  config.dataset = "toy";
  config.method = method;
  config.schedule = method == "dense" ? std::vector<Rule>() : make_schedule(schedule);
  config.recipe.learning_rate = 0.05;
  config.batch_size = 16;
  config.threads = 1;
  return config;
}

at::Tensor weights_after(int steps, const RunConfig& config,
                         const std::shared_ptr<Collectives>& ranks) {
  static const LoadedDataset dataset = toy_dataset();
  Session session(config, dataset, ranks);
  for (int step = 0; step < steps; ++step) session.step();
  std::vector<at::Tensor> flat;
  for (const auto& parameter : session.network().parameters()) {
    flat.push_back(parameter.detach().flatten().clone());
  }
  return at::cat(flat);
}

struct Case {
  const char* method;
  bool is_same;  // as of one process, but for rounding
  const char* schedule = "slice:layers=2";
};

// Methods that look at each example by itself, or at nothing, do the same whoever has the example.
// What is drawn is drawn by every rank for itself, so it can only be different.
constexpr Case kCases[] = {{"dense", true},
                           {"zero", true},
                           {"zero:freeze=true", true},
                           {"topk_position", true},
                           {"sdgp", true},
                           {"topk_weights", true},
                           {"meprop", true},
                           {"msbp", true},
                           {"random", false},
                           {"stochastic_pruning", false},
                           {"topk_crs", false},
                           {"crs", false},
                           {"bernoulli_crs", false},
                           {"uniform_crs", false},
                           {"zero", false, "slice:layers=2,ranks=0"},
                           {"zero:freeze=true", false, "slice:layers=2,ranks=0,steps=::2"}};

void agree(const std::shared_ptr<Collectives>& ranks) {
  const bool prints = ranks->world().rank == 0;
  if (prints) {
    std::printf("| method | steps | difference to one process | that to where it began |\n");
    std::printf("|---|---|---|---|\n");
  }
  for (const auto& [method, is_same, schedule] : kCases) {
    const auto config = training(method, schedule);
    // One process alone leaves out what rank 0 does, and has nobody to hear it from.
    const bool tells_apart = std::string_view(schedule).find("ranks") != std::string_view::npos;
    const std::string label = tells_apart ? fmt::format("{}, {}", method, schedule) : method;
    // Rounding stays where it is until a ReLU somewhere comes down on the other side of zero.
    for (const auto& [steps, bound] : {std::pair{8, 1e-5}, std::pair{20, 1e-3}}) {
      const auto together = weights_after(steps, config, ranks);
      const auto all = ranks->gathered(together);
      for (int64_t rank = 1; rank < ranks->world().size; ++rank) {
        expect(at::equal(all[rank], all[0]),
               fmt::format("{}: all ranks have the same weights", label));
      }
      expect(at::equal(weights_after(steps, config, ranks), together),
             fmt::format("{}: once more gives the same bits", label));
      if (!prints) continue;
      const auto alone = weights_after(steps, config, nullptr);
      const double difference = (together - alone).abs().max().item<double>();
      const double moved = (alone - weights_after(0, config, nullptr)).abs().max().item<double>();
      std::printf("| `%s` | %d | %.2g | %.2g |\n", label.c_str(), steps, difference, moved);
      expect(moved > 0.01, fmt::format("{}: it trains", label));
      expect(!is_same || difference < bound * moved,
             fmt::format("{}: as one process does, after {} steps", label, steps));
      expect(is_same || ranks->world().size == 1 || difference > 1e-3 * moved,
             fmt::format("{}: ranks do other things", label));
    }
  }
}

// The last words of a rank that waits.
void hang(Collectives& ranks, int64_t which) {
  if (ranks.world().rank == which) {
    while (true) pause();
  }
  try {
    ranks.sum(at::ones({1000}));
    expect(false, "a sum without a rank");
  } catch (const Error& error) {
    std::printf("rank %d: %s\n", static_cast<int>(ranks.world().rank), error.what());
    std::fflush(nullptr);
    // Nobody ends before all have spoken.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    _exit(3);
  }
}

int checked(const std::string& what, int argc, char** argv) {
  configure_threads(1);
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  const auto ranks = open_collectives(
      size == nullptr ? 1 : std::atoi(size),
      what == "hang" ? std::chrono::milliseconds(1500) : std::chrono::milliseconds(kLimit));
  if (what == "exchanges") exchanges(*ranks);
  if (what == "agree") agree(ranks);
  if (what == "hang" && argc > 2) hang(*ranks, std::atoi(argv[2]));
  ranks->close();
  std::fflush(nullptr);
  return failures > 0 ? 1 : 0;
}

}  // namespace
}  // namespace approx

int main(int argc, char** argv) {
  try {
    return approx::checked(argc > 1 ? argv[1] : "", argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
