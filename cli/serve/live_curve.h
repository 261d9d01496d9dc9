// Learning curves of single runs: as they are stored, and of a run at work as far as its events
// tell.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/records/snapshot.h"

namespace approx {

struct LivePoint {
  double epoch = 0, seconds = 0;  // of training
  double value = 0;
};

// The reports of a run so far.
struct LiveCurve {
  std::map<std::string, std::vector<LivePoint>> accuracies;  // shares, by split
  std::vector<LivePoint> loss;                               // on the training images

  // A metric of a run; others than these two and what is not finite are left out.
  void add(std::string_view name, const std::string& split, const LivePoint& point);

  // Accuracy on the test images, else on the held-out ones, else none.
  const std::vector<LivePoint>& accuracy() const;
};

// That of a run that has ended.
LiveCurve stored_curve(const Snapshot& snapshot, int64_t run_id);

// Follows a file of events that grows: reads what was added since the last time.
class EventTail {
 public:
  explicit EventTail(std::string path) : path_(std::move(path)) {}

  // A file that is not there, or cannot be read, has nothing new.
  void read();

  const LiveCurve& curve() const { return curve_; }

 private:
  void take_line(std::string_view line);

  const std::string path_;
  int64_t read_to_ = 0;  // bytes
  std::string begun_;    // of a line that is not whole yet
  LiveCurve curve_;
};

}  // namespace approx
