#include <algorithm>
#include <array>
#include <cstdio>

#include "core/config/named_schedule.h"
#include "core/methods/method.h"
#include "core/networks/network.h"
#include "core/train/session.h"
#include "tests/core/parallel/as_on_device.h"
#include "tests/core/train/operators.h"
#include "tests/core/train/repeating_recorder.h"
#include "tests/parallel_checks/checks.h"
#include "tests/testing.h"

namespace approx {

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

namespace {

const LoadedDataset& toys() {
  static const LoadedDataset dataset = toy_dataset();
  return dataset;
}

at::Tensor weights_of(Session& session) {
  std::vector<at::Tensor> flat;
  for (const auto& parameter : session.network().parameters()) {
    flat.push_back(parameter.detach().flatten().clone());
  }
  return at::cat(flat).cpu();
}

}  // namespace

at::Tensor weights_after(int steps, const RunConfig& config,
                         const std::shared_ptr<Collectives>& ranks) {
  Session session(config, toys(), ranks);
  for (int step = 0; step < steps; ++step) session.step();
  return weights_of(session);
}

namespace {

struct Case {
  const char* method;
  bool is_same;  // as of one process, but for rounding
  const char* schedule = "slice:layers=2";
};

// Methods that look at each example by itself, or at nothing, do the same whoever has the example.
// What is drawn is drawn by every rank for itself, so it can only be different; but for `random`.
constexpr Case kCases[] = {{"dense", true},
                           {"zero", true},
                           {"zero:freeze=true", true},
                           {"topk_position", true},
                           {"sdgp", true},
                           {"topk_weights", true},
                           {"meprop", true},
                           {"msbp", true},
                           {"random", true},
                           {"stochastic_pruning", false},
                           {"topk_crs", false},
                           {"crs", false},
                           {"bernoulli_crs", false},
                           {"uniform_crs", false},
                           {"zero", false, "slice:layers=2,ranks=0"},
                           {"zero:freeze=true", false, "slice:layers=2,ranks=0,steps=::2"}};

}  // namespace

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

namespace {

// Steps that a device would have captured: the same operators in each, at the same places, none of
// which the host waits for, and the same training, counts of what was sent included.
void repeats_its_steps(const std::string& label, const RunConfig& config,
                       const std::shared_ptr<Collectives>& host) {
  constexpr int kSteps = 8;
  std::array<std::vector<Json>, 2> events;
  std::array<at::Tensor, 2> weights;
  for (const bool captured : {false, true}) {
    Session session(config, toys(), std::make_shared<AsOnDevice>(host));
    Repetitions seen;
    if (captured) session.capture_steps(std::make_unique<RepeatingRecorder>(seen));
    for (int step = 0; step < kSteps; ++step) session.step();
    weights[captured] = weights_of(session);
    events[captured] = session.layer_events();
    if (!captured) continue;
    expect(seen.replayed > 0, fmt::format("{}: steps are repeated", label));
    expect(seen.differences.empty(),
           fmt::format("{}: steps are alike: {}", label, fmt::join(seen.differences, "; ")));
    for (const auto& call : seen.calls) {
      expect(!Operators::is_wait(call), fmt::format("{}: nobody waits: {}", label, call));
    }
  }
  expect(at::equal(weights[0], weights[1]), fmt::format("{}: repeated steps train alike", label));
  expect(events[0] == events[1], fmt::format("{}: repeated steps are counted", label));
  if (events[0] == events[1]) return;
  for (size_t i = 0; i < std::min(events[0].size(), events[1].size()); ++i) {
    if (events[0][i] == events[1][i]) continue;
    std::fprintf(stderr, "%s\n%s\n", events[0][i].dump().c_str(), events[1][i].dump().c_str());
  }
}

// Ranks whose weights are not the same sample other channels, and hear of it when the host looks.
void hear_of_other_channels(const std::shared_ptr<Collectives>& host) {
  if (host->world().size == 1) return;
  Session session(training("topk_weights", "slice:layers=2"), toys(),
                  std::make_shared<AsOnDevice>(host));
  session.step();
  session.take_mean_loss();
  if (host->world().rank == 1) {
    const at::NoGradGuard no_grad;
    for (auto& parameter : session.network().parameters()) {
      if (parameter.dim() == 4) parameter.copy_(parameter.flip(1));
    }
  }
  session.step();
  try {
    session.take_mean_loss();
    expect(false, "other channels are seen");
  } catch (const Error& error) {
    expect(std::string_view(error.what()).find("different channels") != std::string_view::npos,
           fmt::format("other channels are what is seen: {}", error.what()));
  }
}

}  // namespace

void agree_on_device(const std::shared_ptr<Collectives>& host) {
  agree(std::make_shared<AsOnDevice>(host));
  for (const auto& [method, is_same, schedule] : kCases) {
    if (std::string_view(method) != kDense && !make_method(method)->waits_for().empty()) continue;
    repeats_its_steps(fmt::format("{}, {}", method, schedule), training(method, schedule), host);
  }
  hear_of_other_channels(host);
}

}  // namespace approx
