#include "core/experiment/selection.h"

#include <algorithm>

#include "base/error.h"
#include "core/experiment/grid.h"

namespace approx {
namespace {

template <typename T>
bool names(const std::vector<T>& values, const T& value) {
  return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

std::string plain(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

bool selects(const Selection& selection, const PlannedRun& run) {
  if (!names(selection.methods, run.method_label) ||
      !names(selection.schedules, run.schedule_label) ||
      !names(selection.networks, run.network_label) ||
      !names(selection.purposes, run.config.purpose)) {
    return false;
  }
  if (selection.scalars.empty()) return true;
  const Json config = scalar_settings(run.config);
  return std::all_of(selection.scalars.begin(), selection.scalars.end(), [&](const auto& scalar) {
    return names(scalar.second, config.at(scalar.first));
  });
}

std::string text_of(const Selection& selection) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& key, const std::vector<std::string>& values) {
    if (!values.empty()) parts.push_back(fmt::format("{} {}", key, fmt::join(values, " or ")));
  };
  add("method", selection.methods);
  add("schedule", selection.schedules);
  add("network", selection.networks);
  std::vector<std::string> purposes;
  for (const auto purpose : selection.purposes) purposes.emplace_back(name(purpose));
  add("purpose", purposes);
  for (const auto& [key, values] : selection.scalars) {
    std::vector<std::string> texts;
    for (const auto& value : values) texts.push_back(plain(value));
    add(key, texts);
  }
  return fmt::format("{}", fmt::join(parts, " and "));
}

}  // namespace approx
