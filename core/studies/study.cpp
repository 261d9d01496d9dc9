#include "core/studies/study.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/numbers.h"

namespace approx {

void StudyTable::add(std::vector<Json> row) {
  if (row.size() != columns_.size()) {
    throw Error(ErrorKind::kInternal, "a row of a study does not have the table's columns");
  }
  for (auto& cell : row) {
    if (cell.is_number_float()) cell = json_number(cell.get<double>());
  }
  rows_.push_back(std::move(row));
}

Json StudyTable::json() const { return {{"columns", columns_}, {"rows", rows_}}; }

std::string with_params(std::string_view method,
                        const std::vector<std::pair<std::string, std::string>>& more) {
  Spec spec = parse_spec(method);
  for (const auto& given : more) {
    const auto found =
        std::find_if(spec.arguments.begin(), spec.arguments.end(),
                     [&](const auto& argument) { return argument.first == given.first; });
    if (found == spec.arguments.end()) {
      spec.arguments.push_back(given);
    } else {
      found->second = given.second;
    }
  }
  std::string text = spec.name;
  char separator = ':';
  for (const auto& [key, value] : spec.arguments) {
    text += fmt::format("{}{}={}", separator, key, value);
    separator = ',';
  }
  return text;
}

Mean mean_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Mean mean;
  for (const double value : values) mean.value += value / n;
  double squares = 0;
  for (const double value : values) squares += std::pow(value - mean.value, 2);
  if (n > 1) mean.half = 1.959964 * std::sqrt(squares / (n - 1) / n);
  return mean;
}

}  // namespace approx
