#include "cli/serve/live_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "base/json.h"
#include "results/store/json_values.h"

namespace approx {
namespace {

constexpr double kNsInSecond = 1e9;
constexpr size_t kLongestLine = size_t{1} << 20;  // a longer one is no metric

std::optional<double> number_in(const Json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

}  // namespace

void LiveCurve::add(std::string_view name, const std::string& split, const LivePoint& point) {
  if (!std::isfinite(point.value) || !std::isfinite(point.epoch) || !std::isfinite(point.seconds)) {
    return;
  }
  if (name == "accuracy" && split != "train") accuracies[split].push_back(point);
  if (name == "loss" && split == "train") loss.push_back(point);
}

const std::vector<LivePoint>& LiveCurve::accuracy() const {
  static const std::vector<LivePoint> none;
  for (const char* split : {"test", "holdout"}) {
    const auto found = accuracies.find(split);
    if (found != accuracies.end()) return found->second;
  }
  return none;
}

LiveCurve stored_curve(const Snapshot& snapshot, int64_t run_id) {
  LiveCurve curve;
  for_each_row(
      snapshot.db(),
      "SELECT name, split, epoch, train_ns, value FROM metric WHERE run_id = ? AND name IN "
      "('accuracy', 'loss') AND value IS NOT NULL ORDER BY name, split, step",
      [&](SQLite::Statement& row) {
        curve.add(text_at(row, 0), text_at(row, 1),
                  {.epoch = row.getColumn(2).getDouble(),
                   .seconds = row.getColumn(3).getDouble() / kNsInSecond,
                   .value = row.getColumn(4).getDouble()});
      },
      run_id);
  return curve;
}

void EventTail::read() {
  std::ifstream in(path_, std::ios::binary);
  if (!in || !in.seekg(read_to_)) return;
  std::array<char, size_t{64} << 10> piece{};
  while (in.read(piece.data(), piece.size()), in.gcount() > 0) {
    read_to_ += in.gcount();
    std::string_view rest(piece.data(), static_cast<size_t>(in.gcount()));
    for (size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      begun_ += rest.substr(0, end);
      take_line(begun_);
      begun_.clear();
      rest.remove_prefix(end + 1);
    }
    if (begun_.size() <= kLongestLine) begun_ += rest;
  }
}

void EventTail::take_line(std::string_view line) {
  // Only lines with this word are parsed: other events may be long.
  if (line.size() > kLongestLine || line.find("\"metric\"") == line.npos) return;
  const Json event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!event.is_object() || text_or(event, "event", "") != "metric") return;
  const auto value = number_in(event, "value");
  if (!value) return;
  curve_.add(text_or(event, "name", ""), text_or(event, "split", ""),
             {.epoch = number_in(event, "epoch").value_or(0),
              .seconds = number_in(event, "train_ns").value_or(0) / kNsInSecond,
              .value = *value});
}

}  // namespace approx
