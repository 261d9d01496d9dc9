// Changes that the command line makes in an experiment file before it is read: its scale, its axes
// and single settings.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/experiment/item.h"

namespace approx {

class TomlSource;

// The changes: axes that replace the file's axes, and `--set` pairs. The value of an axis is a
// list. A piece of it that is `key=value`, with no `:` before its `=`, continues the piece before
// it. "topk_position:k=1,scale=equal,zero" is two methods. An axis that is given again has the
// values of both.
struct Overrides {
  std::vector<std::pair<std::string, std::string>>
      axes;  // ("method", "zero,random"), ("seeds", ...)
  std::vector<std::pair<std::string, std::string>> set;  // ("recipe.epochs", "2")
  // Accuracy runs end at the first evaluation that reaches the experiment's target
  // (RunConfig::stop_at).
  bool stop_at_target = false;
  // Applied first: the keys of [scale.NAME] replace those of the file.
  Scale scale = Scale::kFull;
};

// The changes that were made.
struct Overridden {
  Scale scale = Scale::kFull;
  std::vector<Scale> scales = {Scale::kFull};  // the scales that the file declares
  std::set<std::string> keys;                  // top-level keys that axes and `set` replaced
  std::set<std::string> scale_keys;            // top-level keys that the scale replaced
  bool learning_rate = false;                  // whether a flag sets it
};

// The top-level keys that are axes.
const std::vector<std::string>& axis_keys();

// The keys that `--set` may change: top-level keys, and "recipe.NAME" for each setting of a recipe.
const std::vector<std::string>& settable_keys();

// `names` and scalar_keys().
std::vector<std::string> with_scalars(std::vector<std::string> names);

// The TOML text of a file that says what `overrides` do to an empty one: its axes and settings, in
// the order of docs/experiments.md. `id` is its id unless they set one. Throws Error(kUsage).
std::string file_text(const Overrides& overrides, const std::string& id);

// Changes `source` in place, and checks every scale that it declares. Throws Error(kUsage) that
// names the flag or the place in the file.
Overridden apply(const Overrides& overrides, TomlSource& source);

}  // namespace approx
