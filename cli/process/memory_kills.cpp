#include "cli/process/memory_kills.h"

#include <fstream>
#include <string>
#include <utility>

namespace approx {

int64_t oom_kills() {
  std::ifstream own("/proc/self/cgroup");
  std::string line;
  while (std::getline(own, line)) {
    if (!line.starts_with("0::")) continue;
    std::ifstream events("/sys/fs/cgroup" + line.substr(3) + "/memory.events");
    std::string key;
    int64_t value = 0;
    while (events >> key >> value) {
      if (key == "oom_kill") return value;
    }
  }
  return -1;
}

MemoryKills::MemoryKills(std::function<int64_t()> count)
    : count_(std::move(count)), seen_(count_()) {}

void MemoryKills::look(Clock::time_point now) {
  if (unclaimed_ > 0 && now - seen_at_ > kPatience) unclaimed_ = 0;
  const int64_t count = count_();
  if (count <= seen_) return;
  unclaimed_ += count - seen_;
  seen_ = count;
  seen_at_ = now;
}

bool MemoryKills::claim(Clock::time_point now) {
  look(now);
  if (unclaimed_ == 0) return false;
  --unclaimed_;
  return true;
}

}  // namespace approx
