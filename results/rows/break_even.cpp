#include "results/rows/break_even.h"

#include <optional>

#include "results/stats/deciding.h"

namespace approx {
namespace {

bool is_above(const Bounded& gap) { return gap.lo && *gap.lo > 0; }
bool is_below(const Bounded& gap) { return gap.hi && *gap.hi < 0; }

// What an end of an interval is: a number, or beyond those that are known.
std::string end_text(const std::optional<double>& end, const std::string& beyond) {
  return end ? fixed(*end, 2) : beyond;
}

}  // namespace

BreakEven break_even(const RowSet& set, const Row& row) {
  BreakEven found{.curve = exact_curve(set, row), .equivalent = {}, .speedup = {}};
  found.equivalent = equivalent_length(found.curve.exact, found.curve.method);
  found.speedup = breakeven_speedup(found.curve.epochs, found.equivalent);
  return found;
}

Reasoned pays(const Row& row, const BreakEven& needed, const Ratio& measured, int64_t occasions) {
  if (row.notes[kDiverged]) return {Answer::kNo, "runs diverged"};
  if (row.notes[kIdle]) return undecided(kApproximatedNothing);
  if (measured.n == 0) {
    return undecided(row.notes[kTainted] ? kTimingsDisturbed : "its speed was not measured");
  }
  if (row.ceiling && measured.lo && *measured.lo > *row.ceiling) {
    return undecided("its speedup lies above its own ceiling");
  }
  const Ratio decides = deciding(measured, occasions);
  if (!decides.lo) {
    return undecided("its speed was " + timed_in_few(measured.n, kProcessesForATiming));
  }
  if (needed.equivalent.fewest_seeds < kSeedsForAVerdict) {
    return undecided(fmt::format("{} a side, a verdict needs {}",
                                 seeds_text(needed.equivalent.fewest_seeds), kSeedsForAVerdict));
  }
  const Bounded gap = percent_above(decides, needed.speedup);
  if (is_above(gap)) return {Answer::kYes, "faster than break-even"};
  if (is_below(gap)) return {Answer::kNo, "slower than break-even"};
  const Bounded seen = percent_above(measured, needed.speedup);
  if (!is_above(seen) && !is_below(seen)) {
    return undecided("its speedup cannot be told from break-even");
  }
  if (measured.n < kProcessesForAVerdict) {
    return undecided(
        fmt::format("its speedup cannot be told from break-even by {} processes, {} may do",
                    measured.n, kProcessesForAVerdict));
  }
  return undecided(
      "its speedup is within 3 % of break-even, and was timed on one occasion: time it again on "
      "another day");
}

std::string equivalent_text(const BreakEven& needed) {
  const auto& found = needed.equivalent;
  const std::string below = fmt::format("<{:.2f}", found.shortest);
  const std::string above = fmt::format(">{:.2f}", found.longest);
  const std::string value =
      end_text(found.length, found.place == CurvePlace::kBelowAll ? below : above);
  if (found.seeds < 2) return value + " (n=1)";
  return fmt::format("{} [{}, {}]", value, end_text(found.lo, below), end_text(found.hi, above));
}

std::string breakeven_text(const BreakEven& needed) {
  if (!needed.has_curve()) return "–";
  const auto& found = needed.equivalent;
  const std::string below = fmt::format("<{:.2f}", needed.curve.epochs / found.longest);
  const std::string above = fmt::format(">{:.2f}", needed.curve.epochs / found.shortest);
  const auto& [value, lo, hi] = needed.speedup;
  const std::string text =
      end_text(value, found.place == CurvePlace::kBelowAll ? above : below) + "×";
  if (found.seeds < 2) return text + " (n=1)";
  return fmt::format("{} [{}, {}]", text, end_text(lo, below), end_text(hi, above));
}

}  // namespace approx
