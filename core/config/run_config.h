// One run, fully resolved: all settings that decide its result, and no others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_text.h"
#include "base/params.h"
#include "core/config/dense.h"
#include "core/config/operator_set.h"
#include "core/config/recipe.h"
#include "core/config/rule.h"

namespace approx {

// Accuracy runs may share the machine, timing runs may not. A column never mixes the two.
enum class Purpose { kAccuracy, kTiming };

constexpr auto enum_texts(Purpose) {
  return std::to_array<EnumText<Purpose>>(
      {{Purpose::kAccuracy, "accuracy"}, {Purpose::kTiming, "timing"}});
}

Purpose parse_purpose(std::string_view text);  // throws Error(kUsage)

// The images that judge. kHoldout: 5,000 training images (a tenth if there are fewer than 50,000)
// judge every choice, and the test set is only reported. kPaper: the test set does both.
enum class SplitKind { kHoldout, kPaper };

constexpr auto enum_texts(SplitKind) {
  return std::to_array<EnumText<SplitKind>>(
      {{SplitKind::kHoldout, "holdout"}, {SplitKind::kPaper, "paper"}});
}

// How `train_examples` images are chosen. kSeed: each seed draws its own, so that an interval over
// seeds holds for subsets of that size. kShared: all seeds share one draw, as in runs that were
// stored before there was a choice.
enum class SubsetKind { kShared, kSeed };

constexpr auto enum_texts(SubsetKind) {
  return std::to_array<EnumText<SubsetKind>>(
      {{SubsetKind::kShared, "shared"}, {SubsetKind::kSeed, "seed"}});
}

// The precision of the products; weights stay in fp32. kTf32: inputs are rounded to 10 bits of
// mantissa. kFp16: the loss is scaled, so that gradients do not underflow.
enum class Precision { kFp32, kTf32, kBf16, kFp16 };

constexpr auto enum_texts(Precision) {
  return std::to_array<EnumText<Precision>>({{Precision::kFp32, "fp32"},
                                             {Precision::kTf32, "tf32"},
                                             {Precision::kBf16, "bf16"},
                                             {Precision::kFp16, "fp16"}});
}

// Whether products are computed in 16 bits.
constexpr bool is_half(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kFp16;
}

enum class DeviceKind { kCpu, kCuda };

constexpr auto enum_texts(DeviceKind) {
  return std::to_array<EnumText<DeviceKind>>(
      {{DeviceKind::kCpu, "cpu"}, {DeviceKind::kCuda, "cuda"}});
}

// Whether training steps on a GPU are captured as CUDA graphs, one for each row of the schedule,
// and replayed. kAuto: if possible. kOn: a run for which it is not possible is refused.
enum class GraphUse { kAuto, kOn, kOff };

constexpr auto enum_texts(GraphUse) {
  return std::to_array<EnumText<GraphUse>>(
      {{GraphUse::kAuto, "auto"}, {GraphUse::kOn, "on"}, {GraphUse::kOff, "off"}});
}

// The images that a batch norm takes its statistics over if several processes train one network.
// kLocal: the images of its own process, as data parallel training usually does. kSynchronised: all
// images of the step, so that the result does not depend on the number of processes.
enum class NormScope { kLocal, kSynchronised };

constexpr auto enum_texts(NormScope) {
  return std::to_array<EnumText<NormScope>>(
      {{NormScope::kLocal, "local"}, {NormScope::kSynchronised, "synchronised"}});
}

// Whether only GPUs compute in this precision.
bool needs_cuda(Precision precision);

// Throws Error(kUsage) if such a device cannot compute in this precision.
void check_precision(Precision precision, DeviceKind device);

struct RunConfig {
  Purpose purpose = Purpose::kAccuracy;
  std::string network;  // full text, parameters included
  std::string dataset;
  SplitKind split = SplitKind::kHoldout;
  int64_t train_examples = 0;                     // images of the training part, 0: all
  SubsetKind train_subset = SubsetKind::kShared;  // no effect if all are trained on
  std::string method{kDense};                     // full text
  std::vector<Rule> schedule;                     // empty for dense
  Recipe recipe;
  int64_t seed = 0;
  int64_t batch_size = 128;
  Precision precision = Precision::kFp32;
  int64_t threads = 0;  // >= 1 once resolved
  DeviceKind device = DeviceKind::kCpu;
  // Processes that train the network together (core/parallel/). Each uses `threads` threads, on its
  // share of every batch.
  int64_t ranks = 1;
  NormScope norm_statistics = NormScope::kLocal;  // no effect with one rank
  // Timing runs only: the number of pairs of blocks, and the steps in a block.
  int64_t blocks = 20;
  int64_t block_steps = 16;  // rounded up to whole periods
  // Timing runs of exact training only: the network of the dense arm, full text; "": `network`. It
  // serves to measure the time that a smaller network saves.
  std::string timed_against;
  // The operators that compute. A timing run compares the library's with the best ones.
  OperatorSet operators = OperatorSet::kBest;
  // Decides how long a step takes, and does not change the training.
  GraphUse graphs = GraphUse::kAuto;

  // Accuracy runs only. Training ends at the first evaluation with at least this share of the
  // judging images right. They are the held-out images, or the test images under split = paper. 0:
  // never. A run that ended so has no accuracy of its own, only a time
  // (docs/internals/statistics.md).
  double stop_at = 0;

  // Accuracy runs only. Training ends at the first evaluation at least this many epochs after the
  // best one so far. The images are those that judge `stop_at`. An equal accuracy is no better one.
  // 0: never.
  int64_t patience = 0;

  // The batch source that chooses the examples of a step, full text; "": none, every step trains on
  // all of its candidates (core/selections/selection.h).
  std::string selection;

  // The text of the table by which approximated variants are chosen (products/rules.h); "": the
  // built-in table.
  std::string kernel_rules;

  bool operator==(const RunConfig&) const = default;
};

// Whether the run trains exactly, on all examples: neither method nor selection.
inline bool is_exact(const RunConfig& config) {
  return is_dense(config.method) && config.selection.empty();
}

// The arm of a run as one text: its method, its selection, or both.
std::string arm_text(std::string_view method, std::string_view selection);

// Why a selection that keeps everything in the first epoch cannot be timed.
std::string untimed_selection(std::string_view selection);

// In place of a selection in an experiment: no selection.
inline constexpr std::string_view kNoSelection = "none";

// The identity of a table of kernel rules, for keys: "sha256:..." of the table's text. The built-in
// table is "builtin-N". The first built-in version is "", as in runs that were stored before there
// was a choice.
std::string kernel_rules_id(std::string_view text, int64_t builtin_version);
// A shorter identity of a table for people: fewer digits, and "" for the built-in table.
std::string kernel_rules_label(std::string_view text);
// The version of the built-in table of kernel rules.
int64_t kernel_rules_version();

// Whether the run times steps of a GPU without CUDA graphs because `graphs` is off. The setting has
// no other effect.
constexpr bool has_no_graphs(const RunConfig& config) {
  return config.purpose == Purpose::kTiming && config.device == DeviceKind::kCuda &&
         config.graphs == GraphUse::kOff;
}

// Whether a scalar setting has an effect beside the others. Examples without effect: blocks in an
// accuracy run, a patience as long as the training.
bool takes_part(const RunConfig& config, std::string_view setting);

// Whether the target or the patience of an accuracy run may end it before its length. It then has
// times to targets and no accuracy of its own (docs/internals/statistics.md).
bool may_end_early(const RunConfig& config);

// Why an accuracy run ended before its length, and how the events and the store name it.
enum class EarlyEnd { kTarget, kPatience };

constexpr auto enum_texts(EarlyEnd) {
  return std::to_array<EnumText<EarlyEnd>>(
      {{EarlyEnd::kTarget, "target"}, {EarlyEnd::kPatience, "patience"}});
}

// The declarations of the scalar settings: names, defaults, ranges, help.
std::vector<ParamSpec> run_specs();

// Throws Error(kUsage) if settings, also those of the recipe, contradict each other, and if
// why_untimed() gives a reason.
void check(const RunConfig& config);

// Why this schedule cannot be timed; "" if it can. A timing run starts at the first step, trains
// for `blocks` pairs of blocks and evaluates nothing. It does not reach the step at which a rule
// begins or ends, and so would not time the schedule as written. Throws Error(kUsage) for a
// malformed rule.
std::string why_untimed(const RunConfig& config);

// One setting and its value, as written in an experiment file.
using SettingText = std::pair<std::string, std::string>;

// The settings that have an effect on a run, also those of its recipe, in the order of their
// declarations. Examples without effect: momentum under Adam, blocks in an accuracy run. Seed,
// threads and purpose are left out.
std::vector<SettingText> settings_in_effect(const RunConfig& config);

// Reading keeps the values of keys that the text omits. It throws Error(kUsage) for an unknown key,
// a wrong type or a value out of range. Writing leaves out settings that were added later and are
// at their defaults.
void to_json(Json& json, const RunConfig& config);
void from_json(const Json& json, RunConfig& config);

// Every scalar setting by name, also settings at their defaults.
Json scalar_settings(const RunConfig& config);

}  // namespace approx
