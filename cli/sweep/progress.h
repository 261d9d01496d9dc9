// The progress display on stderr while runs are at work. It never writes to stdout and never hides
// the cursor, and a closed stderr stops nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/params.h"
#include "results/store/run_state.h"

namespace approx {

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // `mode`: auto (bar on a terminal, else log), bar, log, json, none. `total`: number of runs to
  // do.
  Progress(const std::string& mode, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Run `number` (from 1) begins. `label` names it and begins with `method`, the run's method.
  void started(int64_t number, const std::string& label, const std::string& method);

  // An event of run `number`.
  void event(int64_t number, const Json& event);

  // Run `number` ended; `summary` is one line about its end.
  void ended(int64_t number, RunState state, const std::string& summary);

  // Shows a line that is not about progress, in every mode but json as text, and in json as an
  // object.
  void note(const std::string& text);

  // Call it often: redraws the line or sends a heartbeat when one is due.
  void tick();

 private:
  enum class Mode { kBar, kLog, kJson, kNone };

  struct Active {
    int64_t number = 0;
    std::string label, method;
    Clock::time_point since;
    double epoch = 0, images_per_s = 0, loss = 0, accuracy = 0;
    int64_t step = 0, total_steps = 0, steps_per_epoch = 0;
    const char* unit = "step";  // unit of step and total_steps
    bool has_loss = false, has_accuracy = false;
  };

  Active* find(int64_t number);
  std::string describe(const Active& run) const;
  void print(const std::string& line);
  void clear_line();
  void draw();

  Mode mode_;
  int64_t total_;
  int64_t done_ = 0;
  Clock::duration spent_{0};  // on runs that have ended
  std::vector<Active> active_;
  Clock::time_point last_draw_, last_line_;
  bool line_shown_ = false;
};

}  // namespace approx
