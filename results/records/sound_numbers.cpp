#include "results/records/sound_numbers.h"

#include <cmath>

#include "base/error.h"

namespace approx {
namespace {

template <typename Number>
Error unsound(const SQLite::Column& column, const NumberOwner& owner, Number value) {
  return database_error("{} {} has {} = {}, which nothing measures; the database is damaged",
                        owner.what, owner.id, column.getName(), value);
}

}  // namespace

double sound_number(const SQLite::Column& column, const NumberOwner& owner) {
  constexpr double kLargest = 1e100;
  const double value = column.getDouble();
  const double size = std::abs(value);
  if (size == 0 || (size >= 1 / kLargest && size <= kLargest)) return value;
  throw unsound(column, owner, value);
}

double sound_share(const SQLite::Column& column, const NumberOwner& owner) {
  const double value = column.getDouble();
  if (value >= 0 && value <= 1) return value;
  throw unsound(column, owner, value);
}

std::optional<double> sound_number_or_none(const SQLite::Column& column, const NumberOwner& owner) {
  return column.isNull() ? std::nullopt : std::optional(sound_number(column, owner));
}

int64_t sound_time(const SQLite::Column& column, const NumberOwner& owner) {
  const int64_t value = column.getInt64();
  if (value >= 0) return value;
  throw unsound(column, owner, value);
}

std::optional<int64_t> sound_time_or_none(const SQLite::Column& column, const NumberOwner& owner) {
  return column.isNull() ? std::nullopt : std::optional(sound_time(column, owner));
}

Ratio sound_ratio(int64_t n, const SQLite::Column& ratio, const SQLite::Column& lo,
                  const SQLite::Column& hi, const NumberOwner& owner) {
  const Ratio read{.n = n,
                   .ratio = sound_number(ratio, owner),
                   .lo = sound_number_or_none(lo, owner),
                   .hi = sound_number_or_none(hi, owner)};
  if (read.ratio <= 0) throw unsound(ratio, owner, read.ratio);
  if (read.lo && (*read.lo <= 0 || *read.lo > read.ratio)) throw unsound(lo, owner, *read.lo);
  if (read.hi && *read.hi < read.ratio) throw unsound(hi, owner, *read.hi);
  return read;
}

}  // namespace approx
