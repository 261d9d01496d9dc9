// A training of a second or less.
#pragma once

#include "core/config/named_schedule.h"
#include "core/config/run_config.h"
#include "tests/testing.h"

namespace approx {

// A small network on the data set of `toy_dataset`, in one thread. No schedule: "".
inline RunConfig toy_run(const std::string& method, const std::string& schedule, int64_t epochs) {
  RunConfig config;
  config.network = "small_cnn:width=4";
  config.dataset = "toy";
  config.method = method;
  if (!schedule.empty()) config.schedule = make_schedule(schedule);
  config.recipe.learning_rate = 0.05;
  config.recipe.epochs = epochs;
  config.batch_size = 16;
  config.threads = 1;
  return config;
}

}  // namespace approx
