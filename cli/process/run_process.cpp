#include "cli/process/run_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>

#include "cli/process/protocol.h"
#include "cli/text.h"

namespace approx {

std::optional<RunLock> take_run(const std::string& directory) {
  pollfd events{.fd = kWorkerEvents, .events = 0, .revents = 0};
  if (poll(&events, 1, 0) > 0 && (events.revents & POLLERR) != 0) _exit(1);
  fcntl(kWorkerEvents, F_SETFD, FD_CLOEXEC);
  auto lock = RunLock::acquire(directory);
  if (!lock) std::fprintf(stderr, "%s: another worker is at it\n", printable(directory).c_str());
  return lock;
}

void add_taints(Json& event, const Disturbance& disturbance) {
  Json taint = event.value("taint", Json::array());
  for (const auto& reason : disturbance.taints()) taint.push_back(reason);
  event["taint"] = taint;
}

Json core_wait_event(const Json& final, const Disturbance& disturbance) {
  const CoreWait wait = disturbance.core_wait();
  return {{"event", "metric"},     {"name", "core_wait"},
          {"split", wait.measure}, {"step", final.value("steps", Json(0))},
          {"epoch", 0.0},          {"train_ns", final.value("train_ns", Json(0))},
          {"value", wait.share}};
}

}  // namespace approx
