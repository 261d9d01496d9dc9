// The part of an experiment file about the table or figure that it reproduces: the paper's layout
// and numbers. It also says what computes the item if that is no grid of trainings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_text.h"
#include "base/params.h"
#include "core/config/run_config.h"

namespace approx {

class TomlSource;

// How much of a paper's setting is run. kFull: all of it. kReduced: [scale.reduced] of the file,
// such as fewer epochs, images and seeds. kSmoke: [scale.smoke] of the file, seconds of nonsense
// data that only show that it runs.
enum class Scale { kFull, kReduced, kSmoke };

constexpr auto enum_texts(Scale) {
  return std::to_array<EnumText<Scale>>(
      {{Scale::kFull, "full"}, {Scale::kReduced, "reduced"}, {Scale::kSmoke, "smoke"}});
}

inline constexpr auto kAllScales = all_of_enum<Scale>();

// Throws Error(kUsage) that lists the scales.
Scale parse_scale(std::string_view text);

// One number of a paper: as printed, and as we read it. A cell that the paper leaves empty has
// neither; "over -100 %" has only the first.
struct ReportedNumber {
  std::string printed;
  std::optional<double> value;
};

// How a quantity is measured. Two bases never share a column: a time of whole trainings is not
// comparable with an estimate from counted operations.
enum class Basis : uint8_t {
  kEndToEnd,   // whole training steps or whole trainings
  kKernel,     // one product of one layer
  kBackward,   // the gradients of all convolutions in a step
  kEstimated,  // computed from other measurements
  kCount,      // counted, not timed
  kUnknown,    // the paper does not say
};

constexpr auto enum_texts(Basis) {
  return std::to_array<EnumText<Basis>>({{Basis::kEndToEnd, "measured-e2e"},
                                         {Basis::kKernel, "measured-kernel"},
                                         {Basis::kBackward, "measured-backward"},
                                         {Basis::kEstimated, "estimated"},
                                         {Basis::kCount, "count"},
                                         {Basis::kUnknown, "unknown"}});
}

enum class PaperQuantity : uint8_t {
  kAccuracy,
  kAccuracyLoss,  // dense minus method
  kSpeedup,       // t_dense / t
  kTimeSaved,     // 100 (1 - t / t_dense)
  kDensity,
  kComputeReduction,
  kCommunicationReduction,
  kTime,
  kLoss,
  kTimeToTarget,
  kError,
  // The share of time that is really saved, over the share of multiply-accumulates that is saved.
  // No paper prints it and no file asks for it; reports show it beside the two.
  kRealisation,
};

constexpr auto enum_texts(PaperQuantity) {
  return std::to_array<EnumText<PaperQuantity>>(
      {{PaperQuantity::kAccuracy, "accuracy"},
       {PaperQuantity::kAccuracyLoss, "accuracy_loss"},
       {PaperQuantity::kSpeedup, "speedup"},
       {PaperQuantity::kTimeSaved, "time_saved"},
       {PaperQuantity::kDensity, "density"},
       {PaperQuantity::kComputeReduction, "compute_reduction"},
       {PaperQuantity::kCommunicationReduction, "communication_reduction"},
       {PaperQuantity::kTime, "time"},
       {PaperQuantity::kLoss, "loss"},
       {PaperQuantity::kTimeToTarget, "time_to_target"},
       {PaperQuantity::kError, "error"},
       {PaperQuantity::kRealisation, "realisation"}});
}

// The quantity that a paper's number is. Reports depend on it, not on words.
enum class Measure { kAsDescribed, kFinal, kBest, kOfApproximatedLayers, kDense, kApproximated };

// The paper's words for a number, and their Measure.
struct Definition {
  Definition() = default;
  explicit Definition(std::string words);  // "final", "best on validation"

  std::string text;
  Measure measure = Measure::kAsDescribed;
};

// One printed quantity of an item, with its numbers for each row (and column).
struct ReportedValue {
  PaperQuantity quantity = PaperQuantity::kAccuracy;
  Definition definition;
  std::string unit;  // "%", "pp", "x", "ms", "s" or ""
  Basis basis = Basis::kEndToEnd;
  std::string hardware;             // of a time; "" if it does not matter
  std::string against;              // label of the row that a speedup is over; "": exact training
  std::string note;                 // slips of the paper; how a number was read
  std::string not_run;              // why we cannot measure it, or ""
  std::optional<double> tolerance;  // deviation that still counts as equal, in `unit`
  std::optional<int64_t> n_runs;    // the runs behind the paper's number
  // By row, then by column (one if there are no columns); rows may be shorter.
  std::vector<std::vector<ReportedNumber>> paper;
};

// Runs of the full scale that differ from the paper's own runs, so that their losses are not
// comparable. An empty list of labels selects all.
struct StatedDeparture {
  std::vector<std::string> methods, schedules, networks;  // labels
  std::string reason;
};

struct ItemReport {
  std::string item;            // "Table 5"
  std::string kind = "table";  // table, curves, heat, bars, points, study, kernels, schedule
  std::string rows = "method";
  std::string columns;              // "": no columns
  std::vector<std::string> labels;  // of the rows, if the file has no axis of them
  std::string finding;              // the paper's conclusion from the item
  double margin = 1.0;              // points: within it, differences from dense are called equal
  std::vector<StatedDeparture> departures;
  // The variant of data that the paper's own loader makes of photographs. Accuracies of trainings
  // on these files can be judged, although the files were written anew.
  std::string reencoded;
  std::vector<ReportedValue> values;
};

// Items that are not trainings.
struct StudyItem {
  std::string name;
  std::vector<std::string> methods;                         // empty: the study's own
  std::vector<std::pair<std::string, std::string>> params;  // as flags of `study`
};

struct KernelItem {
  std::string op = "weight_gradient";
  std::string shapes;                    // a list's name
  std::vector<std::string> shape_texts;  // or the shapes themselves
  std::vector<std::string> methods;      // empty: all that can compute it
  int64_t threads = 1, repetitions = 20;
  DeviceKind device = DeviceKind::kCpu;
  std::vector<Precision> precisions = {Precision::kFp32};
};

// Each reads its table of an experiment file. They throw Error(kUsage) with file, line and column.
// Numbers of a paper must have the shape that `rows` and `columns` give: lists of lists with
// columns, a flat list without.
ItemReport read_item_report(const TomlSource& source);

// The number of rows and columns that a table has for the paper's numbers.
struct TableShape {
  size_t rows = 0, columns = 0;
};
// Throws Error(kUsage) at numbers in [report] without a row or a column.
void check_numbers(const TomlSource& source, const TableShape& shape);
StudyItem read_study_item(const TomlSource& source);
KernelItem read_kernel_item(const TomlSource& source);

}  // namespace approx
