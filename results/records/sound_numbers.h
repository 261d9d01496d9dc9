// Numbers of a store as reports can go on with them. What a program wrote is sound; a file that was
// damaged, or is anybody's, may hold numbers that nothing measures, and the statistics of such are
// none. Each throws Error(kDatabase) that names the owner and the column.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "results/stats/stats.h"

namespace approx {

// Whose numbers they are, for messages: {"run", 3}.
struct NumberOwner {
  std::string_view what;
  int64_t id = 0;
};

inline NumberOwner of_run(int64_t run_id) { return {.what = "run", .id = run_id}; }

// Within bounds, or zero: sums, squares and ratios of many are finite.
double sound_number(const SQLite::Column& column, const NumberOwner& owner);
std::optional<double> sound_number_or_none(const SQLite::Column& column, const NumberOwner& owner);

// From 0 to 1.
double sound_share(const SQLite::Column& column, const NumberOwner& owner);

// From 0 on; counts, too.
int64_t sound_time(const SQLite::Column& column, const NumberOwner& owner);
std::optional<int64_t> sound_time_or_none(const SQLite::Column& column, const NumberOwner& owner);

// Above 0 and, where it has an interval, inside it.
Ratio sound_ratio(const Ratio& read, const NumberOwner& owner);

}  // namespace approx
