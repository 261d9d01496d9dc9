// One run, fully resolved: everything that decides its result, and nothing that does not.
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

// Accuracy runs may share the machine; timing runs may not, and the two never mix in a column.
enum class Purpose { kAccuracy, kTiming };

constexpr auto enum_texts(Purpose) {
  return std::to_array<EnumText<Purpose>>(
      {{Purpose::kAccuracy, "accuracy"}, {Purpose::kTiming, "timing"}});
}

Purpose parse_purpose(std::string_view text);  // throws Error(kUsage)

// What judges. kHoldout: 5,000 training images (a tenth where there are fewer than 50,000) judge
// everything that is chosen by looking, the test set is reported. kPaper: the test set does both.
enum class SplitKind { kHoldout, kPaper };

constexpr auto enum_texts(SplitKind) {
  return std::to_array<EnumText<SplitKind>>(
      {{SplitKind::kHoldout, "holdout"}, {SplitKind::kPaper, "paper"}});
}

// Which images `train_examples` are. kSeed: each seed draws its own, so that an interval over seeds
// holds for subsets of that size. kShared: one draw serves all seeds, as it did in runs that were
// stored before there was a choice.
enum class SubsetKind { kShared, kSeed };

constexpr auto enum_texts(SubsetKind) {
  return std::to_array<EnumText<SubsetKind>>(
      {{SubsetKind::kShared, "shared"}, {SubsetKind::kSeed, "seed"}});
}

// The precision of the products; weights stay in fp32. kTf32: inputs rounded to 10 bits of
// mantissa. kFp16: the loss is scaled so that gradients do not vanish.
enum class Precision { kFp32, kTf32, kBf16, kFp16 };

constexpr auto enum_texts(Precision) {
  return std::to_array<EnumText<Precision>>({{Precision::kFp32, "fp32"},
                                             {Precision::kTf32, "tf32"},
                                             {Precision::kBf16, "bf16"},
                                             {Precision::kFp16, "fp16"}});
}

// Whether products are computed in numbers of 16 bits.
constexpr bool is_half(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kFp16;
}

enum class DeviceKind { kCpu, kCuda };

constexpr auto enum_texts(DeviceKind) {
  return std::to_array<EnumText<DeviceKind>>(
      {{DeviceKind::kCpu, "cpu"}, {DeviceKind::kCuda, "cuda"}});
}

// Whether training steps on a GPU are captured as graphs, of each row of the schedule one, and
// replayed. kAuto: where it can be done. kOn: where it cannot, the run is refused.
enum class GraphUse { kAuto, kOn, kOff };

constexpr auto enum_texts(GraphUse) {
  return std::to_array<EnumText<GraphUse>>(
      {{GraphUse::kAuto, "auto"}, {GraphUse::kOn, "on"}, {GraphUse::kOff, "off"}});
}

// What a batch norm takes its statistics over where several processes train one network. kLocal:
// the images of its own process, as data parallel training usually does; kSynchronised: all images
// of the step, so that the result does not depend on how many processes there are.
enum class NormScope { kLocal, kSynchronised };

constexpr auto enum_texts(NormScope) {
  return std::to_array<EnumText<NormScope>>(
      {{NormScope::kLocal, "local"}, {NormScope::kSynchronised, "synchronised"}});
}

// Whether GPUs alone compute in it.
bool needs_cuda(Precision precision);

// Throws Error(kUsage) where such a device does not compute in it.
void check_precision(Precision precision, DeviceKind device);

struct RunConfig {
  Purpose purpose = Purpose::kAccuracy;
  std::string network;  // full text, parameters included
  std::string dataset;
  SplitKind split = SplitKind::kHoldout;
  int64_t train_examples = 0;                     // so many of the training part, 0: all
  SubsetKind train_subset = SubsetKind::kShared;  // without meaning where all are trained on
  std::string method{kDense};                     // full text
  std::vector<Rule> schedule;                     // empty for dense
  Recipe recipe;
  int64_t seed = 0;
  int64_t batch_size = 128;
  Precision precision = Precision::kFp32;
  int64_t threads = 0;  // >= 1 once resolved
  DeviceKind device = DeviceKind::kCpu;
  // Processes that train the network together, each with as many threads on its share of every
  // batch (core/parallel/).
  int64_t ranks = 1;
  NormScope norm_statistics = NormScope::kLocal;  // without meaning for one
  // Timing runs only: pairs of blocks and periods of the schedule in a block.
  int64_t blocks = 20;
  int64_t block_steps = 16;  // rounded up to whole periods
  // Timing runs of exact training only: the network of the dense arm, full text; "": the same as
  // the other's. What a smaller network saves is measured so.
  std::string timed_against;
  // Whose operators compute. A timing run holds the library's against the best that are at hand.
  OperatorSet operators = OperatorSet::kBest;
  // Decides how long a step takes and nothing of what is trained.
  GraphUse graphs = GraphUse::kAuto;

  // Accuracy runs only: a share of the images that judge (the held-out ones, of split = paper those
  // of the test); training ends at the first evaluation with so many of them right. 0: never. What
  // ended so has no accuracy of its own, only a time (docs/internals/statistics.md).
  double stop_at = 0;

  // The text of the table by which approximated variants are chosen (products/rules.h); "": the
  // built-in one.
  std::string kernel_rules;

  bool operator==(const RunConfig&) const = default;
};

// What tells tables of kernel rules apart, for keys: "sha256:..." of a table's text; of the
// built-in one "builtin-N", and "" for its first version, which runs were stored under before there
// was a choice.
std::string kernel_rules_id(std::string_view text, int64_t builtin_version);
// The same for people: fewer digits, and "" where it is built in.
std::string kernel_rules_label(std::string_view text);
// The version of the built-in table of kernel rules.
int64_t kernel_rules_version();

// Whether it is a timing of steps that would be replays and are not: all that the setting decides.
constexpr bool has_no_graphs(const RunConfig& config) {
  return config.purpose == Purpose::kTiming && config.device == DeviceKind::kCuda &&
         config.graphs == GraphUse::kOff;
}

// Whether a scalar setting has a meaning beside the others: an accuracy run has no blocks.
bool takes_part(const RunConfig& config, std::string_view setting);

// The declarations of the scalar settings: names, defaults, ranges, help.
std::vector<ParamSpec> run_specs();

// Throws Error(kUsage) where settings contradict each other, those of the recipe included, and
// where why_untimed() says so.
void check(const RunConfig& config);

// Why a timing run cannot be made of this schedule, "" where it can. It begins with the first step,
// trains for so many blocks and evaluates nothing, so it does not come by where a rule begins or
// ends: what it would time is not what the schedule says. Throws Error(kUsage) for a malformed
// rule.
std::string why_untimed(const RunConfig& config);

// One setting and its value as an experiment file has it.
using SettingText = std::pair<std::string, std::string>;

// The settings that take part in a run, those of its recipe among them, in the order of their
// declarations: no momentum under Adam, no blocks in an accuracy run. Seed, threads and purpose are
// not among them.
std::vector<SettingText> settings_in_effect(const RunConfig& config);

// Reading keeps what the text leaves out, and throws Error(kUsage) for an unknown key, a wrong type
// or a value out of range. Writing leaves out settings that came later and are at their defaults.
void to_json(Json& json, const RunConfig& config);
void from_json(const Json& json, RunConfig& config);

// Every scalar setting by name, those at their defaults too.
Json scalar_settings(const RunConfig& config);

}  // namespace approx
