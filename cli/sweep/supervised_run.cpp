#include "cli/sweep/supervised_run.h"

#include <csignal>

#include "cli/engine_loader.h"

namespace approx {

FileState library_state() { return file_state(engine_file()); }

bool SupervisedRun::read_events(const EventReader::Use& take) {
  return process.read_events([&](std::string_view bytes) {
    events.add(bytes, [&](const Json& event) {
      last_event = clock.now();
      paused_at_event = paused_at_look;
      take(event);
    });
  });
}

bool SupervisedRun::read_output() {
  return process.read_output([&](std::string_view bytes) { output.add(bytes); });
}

void SupervisedRun::look_after(const SweepOptions& sweep) {
  const auto now = clock.now();
  if (seen.overdue.why.empty() && !seen.asked_to_stop) {
    seen.overdue = overdue(sweep, now - started, now - last_event);
    seen.paused_in_silence = clock.paused() - paused_at_event;
    if (!seen.overdue.why.empty()) ask_to_stop(SIGTERM, sweep.grace);
  }
  paused_at_look = clock.paused();
  if (kill_at && now > *kill_at) process.kill();
}

void SupervisedRun::ask_to_stop(int signal, std::chrono::nanoseconds grace) {
  process.send(signal);
  if (!kill_at) kill_at = clock.now() + grace;
}

}  // namespace approx
