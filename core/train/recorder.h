// Saves what layers multiply in chosen steps of an accuracy run.
#pragma once

#include <optional>
#include <string>

#include "core/config/run_config.h"
#include "core/engine/engine.h"
#include "core/train/operand_probe.h"
#include "core/train/session.h"

namespace approx {

class Recorder {
 public:
  // `session` is that of the run `config`. Throws Error(kUsage) where the run ends before its first
  // recorded step, and where its products are not computed in fp32, as those of a benchmark are.
  Recorder(const Recording& recording, const RunConfig& config, const Session& session);

  // Whether the next step is one to be recorded, by an OperandProbe.
  bool due(const Session& session) const;

  // Saves the operands of the step that `session` did last. Throws Error(kData) where a file cannot
  // be written.
  void save(const Session& session, LayerOperands operands) const;

 private:
  const Recording& recording_;
  const RunConfig& config_;
  int64_t every_ = 0;  // steps; 0: none
};

}  // namespace approx
