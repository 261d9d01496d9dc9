// What an experiment file says about the table or figure that it stands for: how the paper lays it
// out, which numbers the paper prints, and what computes it where that is no grid of trainings.
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

// How much of a paper's setting is run: all of it; what the file declares in [scale.reduced], such
// as fewer epochs, images and seeds; what it declares in [scale.smoke], seconds of nonsense data
// that only show that it runs.
enum class Scale { kFull, kReduced, kSmoke };

constexpr auto enum_texts(Scale) {
  return std::to_array<EnumText<Scale>>(
      {{Scale::kFull, "full"}, {Scale::kReduced, "reduced"}, {Scale::kSmoke, "smoke"}});
}

inline constexpr auto kAllScales = all_of_enum<Scale>();

// Throws Error(kUsage) that names what there is.
Scale parse_scale(std::string_view text);

// One number of a paper: as it stands there, and as we read it. A cell that the paper leaves empty
// has neither; "over -100 %" has only the first.
struct ReportedNumber {
  std::string printed;
  std::optional<double> value;
};

// What a quantity is measured by. Two of them never share a column: a time of whole trainings and
// an estimate from counted operations are different things.
enum class Basis : uint8_t {
  kEndToEnd,   // whole training steps or whole trainings
  kKernel,     // one product of one layer
  kBackward,   // the gradients of the convolutions, of all of a step
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
  // The share of the time really saved over that of the multiply-accumulates saved. No paper prints
  // it, and no file asks for it: it is shown beside the two.
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

// Which quantity a number of a paper is. Reports decide by this, not by words.
enum class Measure { kAsDescribed, kFinal, kBest, kOfApproximatedLayers, kDense, kApproximated };

// The paper's words for a number, and the Measure that they mean.
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
  std::string hardware;             // of a time; "" where it does not matter
  std::string against;              // label of the row that a speedup is over; "": exact training
  std::string note;                 // slips of the paper, how a number was read
  std::string not_run;              // why we cannot measure it, or ""
  std::optional<double> tolerance;  // how far off still is the same number, in `unit`
  std::optional<int64_t> n_runs;    // that the paper's number stands on
  // In the order of the rows, then of the columns (one where there are none); rows may be shorter.
  std::vector<std::vector<ReportedNumber>> paper;
};

// Runs of the full scale that the paper's own runs were made otherwise than, so that a loss of the
// one is none of the other. An empty list of labels: all of them.
struct StatedDeparture {
  std::vector<std::string> methods, schedules, networks;  // labels
  std::string reason;
};

struct ItemReport {
  std::string item;            // "Table 5"
  std::string kind = "table";  // table, curves, heat, bars, points, study, kernels, schedule
  std::string rows = "method";
  std::string columns;              // "" for none
  std::vector<std::string> labels;  // of the rows, where the file has no axis of them
  std::string finding;              // what the paper says it shows
  double margin = 1.0;              // points: differences from dense within it are called equal
  std::vector<StatedDeparture> departures;
  // The variant of data that the paper's own loader makes of photographs: trained on these, its
  // accuracies can be judged although the files were written anew.
  std::string reencoded;
  std::vector<ReportedValue> values;
};

// Items that are no trainings.
struct StudyItem {
  std::string name;
  std::vector<std::string> methods;                         // empty: the study's own
  std::vector<std::pair<std::string, std::string>> params;  // as flags of `study`
};

struct KernelItem {
  std::string op = "weight_gradient";
  std::string shapes;                    // a list's name
  std::vector<std::string> shape_texts;  // or shapes themselves
  std::vector<std::string> methods;      // empty: all that can
  int64_t threads = 1, repetitions = 20;
  DeviceKind device = DeviceKind::kCpu;
  std::vector<Precision> precisions = {Precision::kFp32};
};

// Each reads its table of an experiment file; mistakes are Error(kUsage) with file, line and
// column. Numbers of a paper must fit the shape that `rows` and `columns` say: lists of lists with
// columns, a flat list without.
ItemReport read_item_report(const TomlSource& source);

// How many rows and columns a table has for the paper's numbers.
struct TableShape {
  size_t rows = 0, columns = 0;
};
// Throws Error(kUsage) at numbers in [report] that there is no row or no column for.
void check_numbers(const TomlSource& source, const TableShape& shape);
StudyItem read_study_item(const TomlSource& source);
KernelItem read_kernel_item(const TomlSource& source);

}  // namespace approx
