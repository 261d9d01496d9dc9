#include "results/store/outcome.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "core/config/rule.h"
#include "results/store/event_reader.h"
#include "results/store/json_values.h"
#include "results/store/run_folders.h"
#include "results/store/sql.h"

namespace approx {
namespace {

// The columns of a row, from the fields of an event that have their names: texts and whole numbers.
// Throws where one is missing or of another type, as the functions below.
Json columns_of(const Json& event, std::initializer_list<const char*> texts,
                std::initializer_list<const char*> numbers) {
  Json row;
  for (const char* column : texts) row[column] = event.at(column).get<std::string>();
  for (const char* column : numbers) row[column] = integer_at(event, column);
  return row;
}

// Of a field that may be missing.
int64_t integer_or_zero(const Json& event, const char* key) {
  return event.contains(key) ? integer_at(event, key) : 0;
}

std::string product_of(const Json& event) {
  return std::string(name(parse_product(event.at("product").get<std::string>())));
}

Json metric_of(const Json& event) {
  Json row = columns_of(event, {"name"}, {"step"});
  row["split"] = text_or(event, "split", "");
  row["epoch"] = event.value("epoch", 0.0);
  row["train_ns"] = integer_or_zero(event, "train_ns");
  const auto number = to_number(event.value("value", Json()), event.value("special", Json()));
  row["value"] = or_null(number.value), row["special"] = or_null(number.special);
  return row;
}

Json layer_of(const Json& event) {
  Json row =
      columns_of(event, {"layer", "method"}, {"calls", "exact_calls", "macs_dense", "macs_done"});
  row["product"] = product_of(event);
  const Json density = event.value("density", Json());
  row["density"] = density.is_number() ? Json(density.get<double>()) : Json();
  return row;
}

Json variant_of(const Json& event) {
  Json row = columns_of(event, {"layer", "plan", "variant"}, {"calls"});
  row["product"] = product_of(event);
  return row;
}

Json traffic_of(const Json& event) {
  Json row = columns_of(event, {"layer"}, {"calls", "bytes", "bytes_dense"});
  for (const char* count : {"calls", "bytes", "bytes_dense"}) {
    if (row[count] < 0) throw usage_error("not a count of bytes");
  }
  return row;
}

Json block_of(const Json& event) {
  Json row = columns_of(event, {"arm"}, {"pair", "steps", "ns"});
  row["block_order"] = integer_at(event, "order");
  row["repeats"] = integer_or_zero(event, "repeats");
  for (const char* share : {"core_share", "clock_mhz"}) {
    if (event.contains(share)) row[share] = event[share].get<double>();
  }
  if (event.contains("slowed_by")) row["slowed_by"] = event["slowed_by"].get<std::string>();
  if ((row["arm"] != "dense" && row["arm"] != "approx") || row["steps"] <= 0 || row["ns"] <= 0) {
    throw usage_error("not a block");
  }
  return row;
}

}  // namespace

Outcome::Outcome(const std::vector<Json>& events, int64_t most) {
  for (const auto& event : events) {
    if (taken == most) return;
    try {
      add(event);
      ++taken;
    } catch (const std::exception&) {
      ++malformed;
    }
  }
}

void Outcome::add(const Json& event) {
  const auto kind = event.at("event").get<std::string>();
  if (kind == "start") {
    start = event;
  } else if (kind == "metric") {
    details.push_back({"metric", metric_of(event)});
  } else if (kind == "layer") {
    details.push_back({"layer_metric", layer_of(event)});
  } else if (kind == "variant") {
    details.push_back({"layer_variant", variant_of(event)});
  } else if (kind == "traffic") {
    details.push_back({"layer_traffic", traffic_of(event)});
  } else if (kind == "block") {
    details.push_back({"timing_block", block_of(event)});
  } else if (kind == "final") {
    // All of it or nothing, as of the others.
    auto times = times_of(event, "step_ns");
    auto reasons = event.value("taint", std::vector<std::string>());
    step_ns = std::move(times), taint = std::move(reasons);
    final = event;
  } else if (kind == "error") {
    error = event;
  }
}

namespace {

std::vector<Json> events_of(const std::string& run_directory, bool stop_at_damage) {
  const std::string path = run_directory + "/" + kEventsFile;
  EventReader reader;
  if (!is_plain_file(path)) return reader.take_events();
  std::ifstream in(path, std::ios::binary);
  // What no line feed ends was cut off in the middle: the reader is not told of an end.
  for (std::array<char, 1 << 16> piece; in.read(piece.data(), piece.size()), in.gcount() > 0;) {
    std::string_view bytes(piece.data(), static_cast<size_t>(in.gcount()));
    while (!bytes.empty()) {
      const size_t line = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
      reader.add(bytes.substr(0, line), [](const Json&) {});
      if (stop_at_damage && reader.garbage() > 0) return reader.take_events();
      bytes.remove_prefix(line);
    }
  }
  return reader.take_events();
}

}  // namespace

std::vector<Json> read_events(const std::string& run_directory) {
  return events_of(run_directory, /*stop_at_damage=*/false);
}

std::vector<Json> read_events_before_damage(const std::string& run_directory) {
  return events_of(run_directory, /*stop_at_damage=*/true);
}

}  // namespace approx
