// Saves the operands of layers in chosen steps of an accuracy run.
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
  // `session` is the session of the run `config`. Throws Error(kUsage) if the run ends before its
  // first recorded step. It also throws if the products are not in fp32, as a benchmark needs them.
  Recorder(const Recording& recording, const RunConfig& config, const Session& session);

  // Whether the next step is to be recorded, by an OperandProbe.
  bool due(const Session& session) const;

  // Saves the operands of the last step of `session`. Throws Error(kData) if a file cannot be
  // written.
  void save(const Session& session, LayerOperands operands) const;

 private:
  const Recording& recording_;
  const RunConfig& config_;
  int64_t every_ = 0;  // steps; 0: none
};

}  // namespace approx
