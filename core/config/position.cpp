#include "core/config/position.h"

#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "base/params.h"
#include "base/text.h"

namespace approx {
namespace {

const std::vector<ParamSpec>& plateau_params() {
  static const std::vector<ParamSpec> params = {
      {"patience", int64_t{5}, "evaluations without a gain", 1, 1e6},
      {"delta", 0.001, "a gain in accuracy is more than this", 0, 1}};
  return params;
}

}  // namespace

int64_t Position::step(int64_t steps_per_epoch, int64_t total_steps) const {
  switch (unit) {
    case Unit::kBatches:
      return static_cast<int64_t>(value);
    case Unit::kEpochs:
      return std::llround(value * static_cast<double>(steps_per_epoch));
    case Unit::kDuration:
      return std::llround(value * static_cast<double>(total_steps));
    case Unit::kPlateau:
      return kUnknownStep;
  }
  return 0;
}

Position parse_position(std::string_view text) {
  const auto whole = trim(text);
  Position position;
  if (whole.substr(0, whole.find(':')) == "plateau") {
    const Params params(plateau_params(), parse_spec(whole));
    position.unit = Position::Unit::kPlateau;
    position.patience = params.integer("patience");
    position.delta = params.real("delta");
    return position;
  }
  const auto [value, unit] = parse_quantity(whole).value_or(Quantity{-1, {}});
  position.value = value;
  if (value < 0 || value > 1e9) {
    throw usage_error(
        "{}: expected 300ba (batches), 10ep (epochs), 0.25dur (share of the run) or plateau",
        quote(whole));
  }
  if (unit == "ba") {
    position.unit = Position::Unit::kBatches;
    if (position.value != std::floor(position.value)) {
      throw usage_error("{}: batches are whole; write {}ba", quote(whole),
                        std::llround(position.value));
    }
  } else if (unit == "ep") {
    position.unit = Position::Unit::kEpochs;
  } else if (unit == "dur") {
    position.unit = Position::Unit::kDuration;
    if (position.value > 1) {
      throw usage_error("{}: a share of the run is at most 1dur", quote(whole));
    }
  } else {
    throw usage_error(
        "{}: unknown unit \"{}\"{}; expected ba (batches), ep (epochs) or dur (share)",
        quote(whole), unit.substr(0, 20), did_you_mean(unit, {"ba", "ep", "dur"}));
  }
  position.value += 0.0;  // -0 and 0 are one position
  return position;
}

std::string to_text(const Position& position) {
  if (position.unit == Position::Unit::kPlateau) {
    return fmt::format("plateau:patience={},delta={}", position.patience, shortest(position.delta));
  }
  static constexpr const char* kUnits[] = {"ba", "ep", "dur"};
  return fmt::format("{}{}", position.value, kUnits[static_cast<size_t>(position.unit)]);
}

std::string position_with_signs(std::string_view text) {
  const auto position = parse_position(text);
  if (position.unit != Position::Unit::kPlateau) return to_text(position);
  return Params(plateau_params(), parse_spec(trim(text))).text_with_signs();
}

}  // namespace approx
