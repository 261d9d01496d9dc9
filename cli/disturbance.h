// What else went on while something was timed.
#pragma once

#include <string>
#include <vector>

namespace approx {

// What disturbs a timing, measured from its construction to taints(): CPU time
// that other processes used, time the machine slept, and time the process was
// held back by its cgroup. It counts this process, its threads and those of its
// children that have ended as "ours".
class Disturbance {
 public:
  Disturbance();

  // One reason a line that a person understands; empty when the machine was
  // quiet. Other processes count above 5 % of one core.
  std::vector<std::string> taints() const;

 private:
  struct Reading {
    double busy_s = 0;       // all processes, since boot
    double ours_s = 0;       // this process, and children that have ended
    double steady_s = 0;     // does not advance while the machine sleeps
    double boot_s = 0;       // does
    double throttled_s = 0;  // of our cgroup
  };
  static Reading read();

  Reading start_;
};

}  // namespace approx
