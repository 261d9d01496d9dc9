#include "results/store/outcome.h"

#include <array>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "results/store/event_reader.h"
#include "results/store/run_folders.h"

namespace approx {
namespace {

Json value_or_null(const Json& event, const char* key) {
  return event.contains(key) ? event[key] : Json(nullptr);
}

Outcome::Metric metric_of(const Json& event) {
  return {.name = event.at("name").get<std::string>(),
          .split = text_or(event, "split", ""),
          .step = integer_at(event, "step"),
          .train_ns = event.contains("train_ns") ? integer_at(event, "train_ns") : 0,
          .epoch = event.value("epoch", 0.0),
          .number = to_number(value_or_null(event, "value"), value_or_null(event, "special"))};
}

LayerCount layer_of(const Json& event) {
  const Json density = value_or_null(event, "density");
  return {.layer = event.at("layer").get<std::string>(),
          .product = parse_product(event.at("product").get<std::string>()),
          .method = event.at("method").get<std::string>(),
          .calls = integer_at(event, "calls"),
          .exact_calls = integer_at(event, "exact_calls"),
          .macs_dense = integer_at(event, "macs_dense"),
          .macs_done = integer_at(event, "macs_done"),
          .density = density.is_number() ? std::optional(density.get<double>()) : std::nullopt};
}

VariantCount variant_of(const Json& event) {
  return {.layer = event.at("layer").get<std::string>(),
          .product = parse_product(event.at("product").get<std::string>()),
          .plan = event.at("plan").get<std::string>(),
          .variant = event.at("variant").get<std::string>(),
          .calls = integer_at(event, "calls")};
}

TrafficCount traffic_of(const Json& event) {
  TrafficCount traffic{.layer = event.at("layer").get<std::string>(),
                       .calls = integer_at(event, "calls"),
                       .bytes = integer_at(event, "bytes"),
                       .bytes_dense = integer_at(event, "bytes_dense")};
  if (traffic.calls < 0 || traffic.bytes < 0 || traffic.bytes_dense < 0) {
    throw usage_error("not a count of bytes");
  }
  return traffic;
}

Outcome::Block block_of(const Json& event) {
  Outcome::Block block{.pair = integer_at(event, "pair"),
                       .arm = event.at("arm").get<std::string>(),
                       .order = integer_at(event, "order"),
                       .steps = integer_at(event, "steps"),
                       .ns = integer_at(event, "ns"),
                       .repeats = event.contains("repeats") ? integer_at(event, "repeats") : 0};
  if (event.contains("core_share")) block.core_share = event["core_share"].get<double>();
  if (event.contains("clock_mhz")) block.clock_mhz = event["clock_mhz"].get<double>();
  if ((block.arm != "dense" && block.arm != "approx") || block.steps <= 0 || block.ns <= 0) {
    throw usage_error("not a block");
  }
  return block;
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
    metrics.push_back(metric_of(event));
  } else if (kind == "layer") {
    layers.push_back(layer_of(event));
  } else if (kind == "variant") {
    variants.push_back(variant_of(event));
  } else if (kind == "traffic") {
    traffic.push_back(traffic_of(event));
  } else if (kind == "block") {
    blocks.push_back(block_of(event));
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

std::vector<Json> read_events(const std::string& run_directory) {
  const std::string path = run_directory + "/" + kEventsFile;
  EventReader reader;
  if (!is_plain_file(path)) return reader.take_events();
  std::ifstream in(path, std::ios::binary);
  // What no line feed ends was cut off in the middle: the reader is not told of an end.
  for (std::array<char, 1 << 16> piece; in.read(piece.data(), piece.size()), in.gcount() > 0;) {
    reader.add({piece.data(), static_cast<size_t>(in.gcount())}, [](const Json&) {});
  }
  return reader.take_events();
}

}  // namespace approx
