// One line about the runs at work, what matters most first: a narrow terminal cuts its end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace approx {

struct ProgressLine {
  int64_t number = 0, total = 0;                 // of the run shown, of the sweep
  int64_t at_work = 1;                           // runs at the same time
  std::optional<std::chrono::nanoseconds> left;  // of the run shown
  std::optional<std::chrono::nanoseconds> all;   // of the whole sweep
  std::string method;
  double epoch = 0;
  int64_t epochs = 0;  // 0: the run counts none
  int64_t step = 0, total_steps = 0;
  const char* unit = "step";  // of step and total_steps
  std::optional<double> accuracy, loss, images_per_s;
  std::string rest;  // what else the run is called by: schedule, network, data set, seed
};

// "[3/44] 12.0 s left (4 min 05 s for all), zero, epoch 2/5, step 80/200, ..., seed 3": the number,
// the times and the method stand in front.
std::string text_of(const ProgressLine& line);

// The first `columns` characters of UTF-8 text; what is cut off is marked by an ellipsis.
std::string fit(const std::string& text, size_t columns);

}  // namespace approx
