#include "results/records/sound_numbers.h"

#include <cmath>

#include "base/error.h"

namespace approx {
namespace {

template <typename Number>
Number checked(bool sound, Number value, const char* column, const NumberOwner& owner) {
  if (sound) return value;
  throw database_error("{} {} has {} = {}, which nothing measures; the database is damaged",
                       owner.what, owner.id, column, value);
}

bool is_sound(double value) {
  constexpr double kLargest = 1e100;
  const double size = std::abs(value);
  return size == 0 || (size >= 1 / kLargest && size <= kLargest);
}

}  // namespace

double sound_number(const SQLite::Column& column, const NumberOwner& owner) {
  const double value = column.getDouble();
  return checked(is_sound(value), value, column.getName(), owner);
}

double sound_share(const SQLite::Column& column, const NumberOwner& owner) {
  const double value = column.getDouble();
  return checked(value >= 0 && value <= 1, value, column.getName(), owner);
}

std::optional<double> sound_number_or_none(const SQLite::Column& column, const NumberOwner& owner) {
  return column.isNull() ? std::nullopt : std::optional(sound_number(column, owner));
}

int64_t sound_time(const SQLite::Column& column, const NumberOwner& owner) {
  const int64_t value = column.getInt64();
  return checked(value >= 0, value, column.getName(), owner);
}

std::optional<int64_t> sound_time_or_none(const SQLite::Column& column, const NumberOwner& owner) {
  return column.isNull() ? std::nullopt : std::optional(sound_time(column, owner));
}

Ratio sound_ratio(const Ratio& read, const NumberOwner& owner) {
  const double lo = read.least(), hi = read.most();
  checked(is_sound(read.ratio) && read.ratio > 0, read.ratio, "ratio", owner);
  checked(is_sound(lo) && lo > 0 && lo <= read.ratio, lo, "ratio_lo", owner);
  checked(is_sound(hi) && hi >= read.ratio, hi, "ratio_hi", owner);
  return read;
}

}  // namespace approx
