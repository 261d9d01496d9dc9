#include "core/train/recorder.h"

#include <utility>

#include "base/error.h"
#include "core/train/operand_file.h"

namespace approx {

Recorder::Recorder(const Recording& recording, const RunConfig& config, const Session& session)
    : recording_(recording), config_(config) {
  if (recording.folder.empty()) return;
  every_ = recording.every_epochs > 0 ? recording.every_epochs * session.steps_per_epoch()
                                      : recording.every_steps;
  if (every_ > session.total_steps()) {
    throw usage_error(
        "--record-every: the run ends after {} steps, the first to be recorded is step {}; record "
        "more often",
        session.total_steps(), every_);
  }
  if (is_half(config.precision)) {
    throw usage_error("--record: operands are recorded of runs in fp32, this one is in {}",
                      name(config.precision));
  }
}

bool Recorder::due(const Session& session) const {
  return every_ > 0 && (session.steps_done() + 1) % every_ == 0;
}

void Recorder::save(const Session& session, LayerOperands kept) const {
  RecordedOperands recorded{.run_key = recording_.run_key,
                            .network = config_.network,
                            .dataset = config_.dataset,
                            .method = config_.method,
                            .seed = config_.seed,
                            .step = session.steps_done() - 1,
                            .epoch = static_cast<double>(session.steps_done()) /
                                     static_cast<double>(session.steps_per_epoch())};
  int64_t position = 0;
  for (auto& [layer, operands] : kept) {
    recorded.position = ++position;
    if (!operands.dy.defined()) continue;  // no gradient reached it
    recorded.layer = layer;
    recorded.operands = std::move(operands);
    save_operands(recording_.folder, recorded);
  }
}

}  // namespace approx
