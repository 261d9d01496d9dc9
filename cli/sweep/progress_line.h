// One line about running runs. The most important parts come first, since a narrow terminal cuts
// its end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace approx {

struct ProgressLine {
  int64_t number = 0, total = 0;  // number of the run shown; number of runs of the sweep
  int64_t at_work = 1;            // runs at work at a time
  std::optional<std::chrono::nanoseconds> left;  // of the run shown
  std::optional<std::chrono::nanoseconds> all;   // of the whole sweep
  std::string method;
  double epoch = 0;
  int64_t epochs = 0;  // 0: the run counts none
  int64_t step = 0, total_steps = 0;
  const char* unit = "step";  // unit of step and total_steps
  std::optional<double> accuracy, loss, images_per_s;
  std::string rest;  // further labels of the run: schedule, network, data set, seed
};

// The line as text, with the number, the times and the method in front: "[3/44] 12.0 s left (4 min
// 05 s for all), zero, epoch 2/5, step 80/200, ..., seed 3".
std::string text_of(const ProgressLine& line);

// The first `columns` characters of UTF-8 text; an ellipsis marks a cut.
std::string fit(const std::string& text, size_t columns);

}  // namespace approx
