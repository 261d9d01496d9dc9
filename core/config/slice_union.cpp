#include "core/config/slice_union.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace approx {
namespace {

constexpr int64_t kMost = 4096;

// With the least stop and step that contain the same.
Slice tightened(Slice slice) {
  if (slice.stop < 0) return slice;
  const int64_t last = slice.start + (slice.stop - 1 - slice.start) / slice.step * slice.step;
  return {.start = slice.start, .stop = last + 1, .step = last == slice.start ? 1 : slice.step};
}

bool is_before(const Slice& a, const Slice& b) {
  return std::tie(a.start, a.stop, a.step) < std::tie(b.start, b.stop, b.step);
}

// A set of numbers that repeats itself from `tail` on with a period.
struct PeriodicSet {
  std::vector<bool> has;  // of the numbers below tail + period
  int64_t tail = 0, period = 1;
};

// Nothing where a slice reaches too far.
bool make_set(const std::vector<Slice>& slices, PeriodicSet& set) {
  for (const auto& slice : slices) {
    const int64_t end = slice.stop < 0 ? slice.start : slice.stop;
    if (end > kMost || slice.step > kMost) return false;
    set.tail = std::max(set.tail, end);
    if (slice.stop >= 0) continue;
    set.period = std::lcm(set.period, slice.step);
    if (set.period > kMost) return false;
  }
  for (int64_t n = 0; n < set.tail + set.period; ++n) {
    set.has.push_back(std::ranges::any_of(slices, [n](const Slice& s) { return s.contains(n); }));
  }
  return true;
}

// The least period of the tail.
int64_t least_period(const PeriodicSet& set) {
  const auto at = [&](int64_t n) {
    return set.has[static_cast<size_t>(set.tail + n % set.period)];
  };
  for (int64_t period = 1; period < set.period; ++period) {
    if (set.period % period != 0) continue;
    bool repeats = true;
    for (int64_t n = 0; n < set.period && repeats; ++n) repeats = at(n) == at(n + period);
    if (repeats) return period;
  }
  return set.period;
}

// Takes the numbers that go on for ever out of the set, as slices without a stop.
std::vector<Slice> take_open(PeriodicSet& set) {
  std::vector<Slice> open;
  const int64_t period = least_period(set);
  for (int64_t first = set.tail; first < set.tail + period; ++first) {
    if (!set.has[static_cast<size_t>(first)]) continue;
    int64_t start = first;
    while (start >= period && set.has[static_cast<size_t>(start - period)]) start -= period;
    open.push_back({.start = start, .stop = -1, .step = period});
  }
  for (const auto& slice : open) {
    for (int64_t n = slice.start; n < static_cast<int64_t>(set.has.size()); n += period) {
      set.has[static_cast<size_t>(n)] = false;
    }
  }
  return open;
}

// One slice where the numbers, ascending, are equally far apart; else one for each.
std::vector<Slice> closed(const std::vector<int64_t>& numbers) {
  std::vector<Slice> slices;
  if (numbers.size() > 1) {
    const Slice all{numbers.front(), numbers.back() + 1, numbers[1] - numbers[0]};
    const auto count = static_cast<int64_t>(numbers.size());
    const bool even = std::ranges::all_of(numbers, [&](int64_t n) { return all.contains(n); }) &&
                      (numbers.back() - numbers.front()) / all.step + 1 == count;
    if (even) return {all};
  }
  for (const int64_t n : numbers) slices.push_back({.start = n, .stop = n + 1, .step = 1});
  return slices;
}

}  // namespace

std::vector<Slice> canonical_union(const std::vector<Slice>& slices) {
  PeriodicSet set;
  std::vector<Slice> made;
  if (make_set(slices, set)) {
    made = take_open(set);
    std::vector<int64_t> rest;
    for (size_t n = 0; n < set.has.size(); ++n) {
      if (set.has[n]) rest.push_back(static_cast<int64_t>(n));
    }
    for (const auto& slice : closed(rest)) made.push_back(slice);
  } else {
    std::ranges::transform(slices, std::back_inserter(made), tightened);
  }
  std::ranges::sort(made, is_before);
  made.erase(std::unique(made.begin(), made.end()), made.end());
  return made;
}

}  // namespace approx
