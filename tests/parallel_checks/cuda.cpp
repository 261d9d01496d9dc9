#include <ATen/Context.h>

#include <cstdio>

#include "core/config/named_schedule.h"
#include "core/train/device.h"
#include "core/train/evaluation.h"
#include "core/train/session.h"
#include "tests/parallel_checks/checks.h"
#include "tests/testing.h"

namespace approx {
namespace {

constexpr int kSteps = 20;

RunConfig on_gpu(const std::string& method, const std::string& schedule, GraphUse graphs,
                 NormScope norms) {
  auto config = training(method, schedule);
  config.device = DeviceKind::kCuda;
  config.graphs = graphs;
  config.norm_statistics = norms;
  return config;
}

// Steps of the last training that were replays.
int64_t replayed(const RunConfig& config, const std::shared_ptr<Collectives>& ranks) {
  const auto dataset = toy_dataset();
  Session session(config, dataset, ranks);
  for (int step = 0; step < kSteps; ++step) {
    const auto agreed = session.agree({.stop = step == 5 && ranks->world().rank == 0});
    expect(agreed.stop == (step == 6), fmt::format("a wish is heard a step later ({})", step));
    session.step();
  }
  session.take_mean_loss();
  const auto score = Evaluation(config, dataset, session).score(session.split().test);
  expect(score.accuracy > 0.6, fmt::format("it learns: {}", score.accuracy));
  expect(!session.layer_events().empty(), "it counts");
  const auto report = session.graph_report();
  if (!report) return 0;
  for (const auto& [how, steps] : report->steps) {
    if (ranks->world().rank == 0) {
      std::printf("%s: %d steps %s\n", config.method.c_str(), static_cast<int>(steps), how.c_str());
    }
  }
  const auto found = report->steps.find("replayed");
  return found == report->steps.end() ? 0 : found->second;
}

// One rank alone has the bits of a training without ranks; several have each other's, and those of
// one but for rounding.
void train_on_gpus(const std::shared_ptr<Collectives>& ranks) {
  const auto [rank, size] = ranks->world();
  for (const auto& [method, schedule] :
       {std::pair{"dense", ""}, std::pair{"topk_weights", "slice:layers=2"},
        std::pair{"zero", "slice:layers=2,steps=::2"},
        std::pair{"stochastic_pruning", "slice:layers=2"}}) {
    for (const auto norms : {NormScope::kLocal, NormScope::kSynchronised}) {
      const auto label = fmt::format("{}, norms {}", method, name(norms));
      const auto plain = on_gpu(method, schedule, GraphUse::kOff, norms);
      const auto captured = on_gpu(method, schedule, GraphUse::kOn, norms);
      const auto together = weights_after(kSteps, plain, ranks);
      expect(at::equal(weights_after(kSteps, captured, ranks), together),
             fmt::format("{}: graphs give the bits of steps without", label));
      const auto all = ranks->gathered(together);
      for (int64_t other = 1; other < size; ++other) {
        expect(at::equal(all[other], all[0]), fmt::format("{}: all ranks have one state", label));
      }
      const bool is_alike = size == 1 || (norms == NormScope::kSynchronised &&
                                          std::string_view(method) != "stochastic_pruning");
      if (rank != 0 || !is_alike) continue;
      const auto alone = weights_after(kSteps, plain, nullptr);
      const double difference = (together - alone).abs().max().item<double>();
      const double moved = (alone - weights_after(0, plain, nullptr)).abs().max().item<double>();
      std::printf("%s: %.2g from one process, %.2g moved\n", label.c_str(), difference, moved);
      expect(moved > 0.01, fmt::format("{}: it trains", label));
      const bool has_bits = size == 1 && norms == NormScope::kLocal;
      expect(has_bits ? difference == 0 : difference < 1e-3 * moved,
             fmt::format("{}: as without ranks", label));
    }
  }
}

}  // namespace

void check_cuda(const std::shared_ptr<Collectives>& host, std::chrono::milliseconds limit) {
  at::globalContext().setDeterministicCuDNN(true);
  const auto device = open_device(DeviceKind::kCuda);
  const auto ranks = open_device_collectives(host, device, limit);
  if (ranks->world().rank == 0) std::printf("%s\n", ranks->description().dump().c_str());
  exchanges(*ranks, at::kCPU);
  exchanges(*ranks, device);
  ranks->watch();
  train_on_gpus(ranks);
  for (const char* method : {"dense", "topk_weights"}) {
    auto config = on_gpu(method, "slice:layers=2", GraphUse::kOn, NormScope::kSynchronised);
    expect(replayed(config, ranks) > kSteps / 2, fmt::format("{}: steps are replayed", method));
  }
  ranks->watch();
  ranks->close();
}

}  // namespace approx
