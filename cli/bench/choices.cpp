#include "cli/bench/choices.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "results/render/column.h"

namespace approx {
namespace {

struct ChoiceLine {
  const KernelChoice* choice = nullptr;
  const VariantCandidate* candidate = nullptr;
  int64_t rank = 0;  // from 1
};

const char* limit_text(Limit limit) {
  switch (limit) {
    case Limit::kNone:
      break;
    case Limit::kProduct:
      return "it does not compute this product";
    case Limit::kDevice:
      return "not on this device";
    case Limit::kPrecision:
      return "not in this precision";
    case Limit::kLayout:
      return "not with this layout of the maps";
    case Limit::kShape:
      return "not for a layer of this shape";
  }
  return "";
}

// A rule is about what its variant can compute.
const char* pays_text(const VariantCandidate& candidate) {
  if (candidate.is_definition || !candidate.fits()) return "–";
  if (!candidate.has_rule) return "no rule";
  return candidate.pays ? "yes" : "no";
}

const char* yes_or_no(bool value) { return value ? "yes" : "no"; }

Field epoch_of(const ChoiceLine& line) {
  const auto& origin = line.choice->shape.recorded;
  return origin ? Field(origin->epoch) : Field();
}

// `recorded`: whether any operands are.
Columns<ChoiceLine> choice_columns(bool recorded) {
  using Line = ChoiceLine;
  return {
      {.name = "op",
       .header = "product",
       .value = [](const Line& line) { return Field(line.choice->op); }},
      {.name = "shape",
       .header = "shape",
       .value = [](const Line& line) { return Field(line.choice->shape.label); }},
      {.name = "epoch",
       .header = "epoch",
       .value = epoch_of,
       .text = [](const Line& line) { return number_text(epoch_of(line), "{:g}"); },
       .shown = recorded},
      {.name = "method",
       .header = "method",
       .value = [](const Line& line) { return Field(line.choice->method); }},
      {.name = "plan",
       .header = "plan",
       .value = [](const Line& line) { return Field(line.choice->plan); }},
      {.name = "density",
       .header = "density",
       .value = [](const Line& line) { return Field(line.choice->density); },
       .text = [](const Line& line) { return fmt::format("{:.3f}", line.choice->density); }},
      {.name = "rank",
       .header = "rank",
       .value = [](const Line& line) { return Field(line.rank); }},
      {.name = "variant",
       .header = "variant",
       .value = [](const Line& line) { return Field(line.candidate->name); }},
      {.name = "fits",
       .header = "fits",
       .value =
           [](const Line& line) { return Field(std::string(yes_or_no(line.candidate->fits()))); }},
      {.name = "pays",
       .header = "pays",
       .value = [](const Line& line) { return Field(std::string(pays_text(*line.candidate))); }},
      {.name = "chosen",
       .header = "chosen",
       .value =
           [](const Line& line) { return Field(std::string(yes_or_no(line.candidate->chosen))); }},
      {.name = "why", .header = "why", .value = [](const Line& line) {
         return Field(reason_of(*line.candidate, line.choice->candidates));
       }}};
}

}  // namespace

std::string reason_of(const VariantCandidate& candidate, const std::vector<VariantCandidate>& all) {
  if (!candidate.fits()) return limit_text(candidate.limit);
  if (candidate.is_definition) return "the definition: taken by its name alone";
  if (!candidate.pays) return "its rule says that it does not pay here";
  if (candidate.chosen) return "the first in rank that fits and pays";
  const auto taken = std::find_if(all.begin(), all.end(), [](const auto& c) { return c.chosen; });
  return taken == all.end() ? "" : fmt::format("{} comes before it", taken->name);
}

Table choices_table(const std::vector<KernelChoice>& choices) {
  std::vector<ChoiceLine> lines;
  for (const auto& choice : choices) {
    int64_t rank = 0;
    for (const auto& candidate : choice.candidates) {
      lines.push_back({.choice = &choice, .candidate = &candidate, .rank = ++rank});
    }
  }
  Table table;
  table.name = "choices";
  const bool recorded = std::ranges::any_of(
      choices, [](const KernelChoice& choice) { return choice.shape.recorded.has_value(); });
  fill(table, choice_columns(recorded), lines);
  return table;
}

}  // namespace approx
