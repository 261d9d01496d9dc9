#include "results/papers/layer_time_numbers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/dense.h"

namespace approx {
namespace {

// A line of the study.
struct LayerTime {
  std::string layer, product, method;
  double ms = 0;
  std::optional<double> estimated_ms;
};

// The lines of its convolutions; none where the study is of a time before it knew methods.
std::vector<LayerTime> convolution_times(const Json& content) {
  std::map<std::string, size_t> at;
  const Json columns = content.value("columns", Json::array());
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].is_string()) at[columns[i].get<std::string>()] = i;
  }
  std::vector<LayerTime> times;
  for (const char* needed : {"layer", "product", "method", "ms", "estimated_ms", "kind"}) {
    if (!at.contains(needed)) return times;
  }
  for (const auto& row : content.value("rows", Json::array())) {
    if (!row.is_array() || row.size() != columns.size()) continue;
    const auto text = [&](const char* column) {
      const Json& cell = row[at[column]];
      return cell.is_string() ? cell.get<std::string>() : std::string();
    };
    if (!text("kind").starts_with("conv") || !row[at["ms"]].is_number()) continue;
    // Another way to compute what the line before it has by the chosen one.
    if (at.contains("variant") && !text("variant").empty()) continue;
    LayerTime& time = times.emplace_back(
        LayerTime{.layer = text("layer"), .product = text("product"), .method = text("method")});
    time.ms = row[at["ms"]].get<double>();
    const Json& estimated = row[at["estimated_ms"]];
    if (estimated.is_number()) time.estimated_ms = estimated.get<double>();
  }
  return times;
}

// Its methods in their order, exact computation first.
std::vector<std::string> methods_of(const std::vector<LayerTime>& times) {
  std::vector<std::string> methods = {std::string(kDense)};
  for (const auto& time : times) {
    const bool known = std::ranges::find(methods, time.method) != methods.end();
    if (!known) methods.push_back(time.method);
  }
  return methods;
}

}  // namespace

Measured layer_time_number(const ReportedValue& value, size_t row, const Json& content) {
  const auto times = convolution_times(content);
  const auto methods = methods_of(times);
  double total = 0, data_gradients = 0;
  std::map<std::pair<std::string, std::string>, double> exact;  // ms, by layer and product
  for (const auto& time : times) {
    if (!is_dense(time.method)) continue;
    total += time.ms;
    if (time.product == name(Product::kDataGradient)) data_gradients += time.ms;
    exact[{time.layer, time.product}] = time.ms;
  }
  Measured measured;
  if (total <= 0 || row >= methods.size()) return measured;
  const bool saved = value.quantity == PaperQuantity::kTimeSaved;
  if (value.quantity == PaperQuantity::kTime && value.unit == "%" && row == 0) {
    measured.n = 1;
    measured.value = 100 * data_gradients / total;
  } else if (saved && row > 0) {
    const bool estimated = value.basis == Basis::kEstimated;
    double left = 0, before = 0;
    for (const auto& time : times) {
      if (time.method != methods[row]) continue;
      before += exact[{time.layer, time.product}];
      left += estimated ? time.estimated_ms.value_or(0) : time.ms;
    }
    measured.n = 1;
    measured.value = 100 * (before - left) / total;
    measured.estimated = estimated;
  }
  return measured;
}

}  // namespace approx
