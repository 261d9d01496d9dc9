// Checked numbers of a store. A damaged or foreign file may hold numbers that no measurement can
// give, and statistics of them would be meaningless. Each function throws Error(kDatabase), which
// names the owner and the column.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "results/stats/stats.h"

namespace approx {

// The row that a number belongs to, for messages: {"run", 3}.
struct NumberOwner {
  std::string_view what;
  int64_t id = 0;
};

inline NumberOwner of_run(int64_t run_id) { return {.what = "run", .id = run_id}; }

// A number within bounds, or zero: sums, squares and ratios of many such numbers are finite.
double sound_number(const SQLite::Column& column, const NumberOwner& owner);
std::optional<double> sound_number_or_none(const SQLite::Column& column, const NumberOwner& owner);

// A number from 0 to 1.
double sound_share(const SQLite::Column& column, const NumberOwner& owner);

// A time or a count, at least 0.
int64_t sound_time(const SQLite::Column& column, const NumberOwner& owner);
std::optional<int64_t> sound_time_or_none(const SQLite::Column& column, const NumberOwner& owner);

// A ratio above 0 that lies inside its interval, if it has one.
Ratio sound_ratio(const Ratio& read, const NumberOwner& owner);

}  // namespace approx
