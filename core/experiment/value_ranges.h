// Ranges of numbers in the texts of an experiment: `topk_crs:ratio=0.1-0.9+0.2`,
// `batch_size = "32-256*2"`.
#pragma once

#include <string>
#include <vector>

#include "base/params.h"

namespace approx {

// The most values that the text of one node may stand for.
inline constexpr size_t kMaxValuesOfNode = 1'000;

// The texts that the text of a method, network or schedule stands for. An argument that `params`
// declare as a number may be a range (range_values()). The last argument changes fastest. A text
// without a range, or that is none of this grammar, is returned as it is. Throws Error(kUsage) for
// a wrong range and for more than kMaxValuesOfNode texts.
std::vector<std::string> spec_texts(const std::string& text, const std::vector<ParamSpec>& params);

// The values that a setting's value stands for. The text of a setting that is a number may be a
// range, or a list of numbers and ranges. Any other value, and a piece that is no number, is
// returned as it is. Throws as spec_texts().
std::vector<Json> setting_values(const ParamSpec& spec, const Json& value);

}  // namespace approx
