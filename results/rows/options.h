// The options that all reports share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/config/catalogue.h"
#include "core/experiment/experiment.h"

namespace approx {

// How much accuracy a method may lose: percentage points, or a share of the error of exact
// training. Half a point is little if the error is 50 %, and most of it if the error is 0.7 %.
class Margin {
 public:
  constexpr Margin(double points) : value_(points) {}  // NOLINT(google-explicit-constructor)

  static constexpr Margin of_error(double share) {
    Margin margin(share);
    margin.of_error_ = true;
    return margin;
  }

  // The margin in percentage points, where the error of exact training is `error` percent.
  constexpr double points(double error) const { return of_error_ ? value_ * error : value_; }

  // "0.5 points", "10 % of the dense error".
  std::string text() const;

 private:
  double value_;
  bool of_error_ = false;
};

// Parses "0.5" or "0.5pp" (points) and "10%" (of the dense error). Points may be 0.001 to 100,
// shares 0.1 % to 1000 %. None for anything else.
std::optional<Margin> parse_margin(std::string_view text);

inline constexpr Margin kUsualMargin = 0.5;  // points

struct ReportOptions {
  std::string experiment;  // its name, "@" in front allowed; "": everything in the store
  // Also use timing runs that were disturbed or shared the machine.
  bool include_tainted = false;
  // The accuracy to reach, a share, in place of the experiment's target. Without either, the target
  // is the median of the dense runs' best accuracies less the margin. Then report_table has no time
  // to a target.
  std::optional<double> target;
  // The accuracy that a method may lose (report_advice, report_compare, and reports that choose a
  // target themselves). None: report_advice takes a share of the dense error, the others
  // kUsualMargin.
  std::optional<Margin> margin;
  // For a person at a screen: adds a verdict to each row (report_table), a sentence about all of
  // them and the next command (Table::screen).
  bool verdicts = false;
  // Knows the layers: their order, and which of them read the images. Without it report_layers and
  // report_traffic sort layers by name. Layers that read images have no data gradient, but older
  // runs counted its work.
  const Catalogue* catalogue = nullptr;
  // Report on the planned runs of this item in place of an experiment, whichever experiment asked
  // for them.
  const Experiment* item = nullptr;
};

}  // namespace approx
