// What the command line changes in an experiment file before it is read: its scale, its axes and
// single settings.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/experiment/item.h"

namespace approx {

class TomlSource;

// What the command line changes in a file: axes that replace its axes, and `--set` pairs. The value
// of an axis is a list; a piece of it that is `key=value`, with no `:` before its `=`, goes on with
// the piece before it: "topk_position:k=1,scale=equal,zero" is two methods.
struct Overrides {
  std::vector<std::pair<std::string, std::string>>
      axes;  // ("method", "zero,random"), ("seeds", ...)
  std::vector<std::pair<std::string, std::string>> set;  // ("recipe.epochs", "2")
  // Accuracy runs end at the first evaluation that reaches the experiment's target
  // (RunConfig::stop_at).
  bool stop_at_target = false;
  // Applied before the others: the keys of [scale.NAME] take the place of those of the file.
  Scale scale = Scale::kFull;
};

// What was changed.
struct Overridden {
  Scale scale = Scale::kFull;
  std::vector<Scale> scales = {Scale::kFull};  // that the file declares
  std::set<std::string> keys;                  // of the top level, that axes and `set` replaced
  std::set<std::string> scale_keys;            // of the top level, that the scale replaced
  bool learning_rate = false;                  // a flag says which it is
};

// The keys of the top level that are axes.
const std::vector<std::string>& axis_keys();

// The keys that `--set` may change: of the top level, and "recipe.NAME" of each setting of a
// recipe.
const std::vector<std::string>& settable_keys();

// `names` and scalar_keys().
std::vector<std::string> with_scalars(std::vector<std::string> names);

// Changes `source` in place, and checks every scale that it declares. Throws Error(kUsage) that
// names the flag or the place in the file.
Overridden apply(const Overrides& overrides, TomlSource& source);

}  // namespace approx
