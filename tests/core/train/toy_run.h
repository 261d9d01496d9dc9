// A training of a second or less.
#pragma once

#include <algorithm>

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

// Whether the parts of a "final" event, which have a clock each, are its time: but for 1 %, or for
// 30 ms of a run as short as these.
inline void expect_parts_make_up(const Json& last) {
  int64_t parts = 0;
  for (const char* part : {"train_ns", "eval_ns", "warmup_ns", "start_ns", "aside_ns"}) {
    EXPECT_GE(last[part].get<int64_t>(), 0) << part;
    parts += last[part].get<int64_t>();
  }
  const int64_t wall = last["wall_ns"];
  EXPECT_LE(parts, wall);
  EXPECT_LE(wall - parts, std::max<int64_t>(wall / 100, 30'000'000)) << last;
}

}  // namespace approx
