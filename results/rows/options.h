// What all reports can be asked for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/config/catalogue.h"
#include "core/experiment/experiment.h"

namespace approx {

// How much accuracy a method may lose: percentage points, or a share of what exact training gets
// wrong. Half a point is little of an error of 50 % and most of one of 0.7 %.
class Margin {
 public:
  constexpr Margin(double points) : value_(points) {}  // NOLINT(google-explicit-constructor)

  static constexpr Margin of_error(double share) {
    Margin margin(share);
    margin.of_error_ = true;
    return margin;
  }

  // In percentage points, where exact training gets `error` percent wrong.
  constexpr double points(double error) const { return of_error_ ? value_ * error : value_; }

  // "0.5 points", "10 % of the dense error".
  std::string text() const;

 private:
  double value_;
  bool of_error_ = false;
};

// "0.5" or "0.5pp" points, "10%" of the dense error; points from 0.001 to 100, shares from 0.1 % to
// 1000 %. None for anything else.
std::optional<Margin> parse_margin(std::string_view text);

inline constexpr Margin kUsualMargin = 0.5;  // points

struct ReportOptions {
  std::string experiment;        // its name, "@" in front allowed; "": everything in the store
  bool include_tainted = false;  // timing runs that were disturbed or shared the machine, too
  // The share to reach, in place of the experiment's target. Without either it is the median of the
  // dense runs' best accuracies less the margin; report_table then has no time to a target.
  std::optional<double> target;
  // What a method may lose (report_advice, report_compare, and all that choose a target of their
  // own). None: what each has of its own, report_advice a share of the dense error, the others
  // kUsualMargin.
  std::optional<Margin> margin;
  // For a person at a screen: a verdict on each row (report_table), a sentence about all of them
  // and the next command (Table::screen).
  bool verdicts = false;
  // Knows the layers: their order, which is by name without it (report_layers, report_traffic), and
  // which of them read the images and have no data gradient, whose work older runs counted all the
  // same.
  const Catalogue* catalogue = nullptr;
  // In place of an experiment the planned runs of an item, whatever experiment asked for them.
  const Experiment* item = nullptr;
};

}  // namespace approx
