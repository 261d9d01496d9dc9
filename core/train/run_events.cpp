#include "core/train/run_events.h"

#include <sys/resource.h>

#include "base/numbers.h"

namespace approx {
namespace {

int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

Json metric_event(const Session& session, const char* name, std::string_view split,
                  int64_t train_ns, double value) {
  const double epoch =
      static_cast<double>(session.steps_done()) / static_cast<double>(session.steps_per_epoch());
  Json event = {{"event", "metric"},
                {"name", name},
                {"split", split},
                {"step", session.steps_done()},
                {"epoch", epoch},
                {"train_ns", train_ns},
                {"value", json_number(value)}};
  if (const auto special = special_name(value)) event["special"] = *special;
  return event;
}

void report_graphs(
    const Session& session, const std::string& arm,
    const std::function<void(const char* name, const std::string& split, double value)>& metric) {
  const auto report = session.graph_report();
  if (!report) return;
  metric("graph_rows", arm, static_cast<double>(report->rows));
  metric("graphs", arm, static_cast<double>(report->graphs));
  for (const auto& [how, steps] : report->steps) {
    metric("graph_steps", fmt::format("{}: {}", arm, how), static_cast<double>(steps));
  }
}

void send_start(const Session& session, const LoadedDataset& data, const RunConfig& config,
                const EventSink& sink, const Json& more) {
  Json event{{"event", "start"},
             {"dataset",
              {{"name", data.name},
               {"variant", data.variant},
               {"sha256", data.sha256},
               {"n_train", data.train.count},
               {"n_test", data.test.count},
               {"lossy", data.lossy}}},
             {"parameters", session.network().parameter_count()},
             {"macs", session.network().macs()},
             {"batch_images", session.batch_size()},
             {"steps_per_epoch", session.steps_per_epoch()},
             {"total_steps", session.total_steps()},
             {"approximated_share", session.approximated_share()}};
  if (session.ranks() != nullptr) event["engine"] = {{"mpi", session.ranks()->description()}};
  event.update(more);
  sink(event);
  if (session.batch_size() == config.batch_size) return;
  sink({{"event", "note"},
        {"message", fmt::format("batch_size = {}: steps have {} images, which are all that {} has "
                                "to train on",
                                config.batch_size, session.batch_size(), data.name)}});
}

Json final_event(Ending ending, int64_t steps, RunClock::time_point began) {
  return {{"event", "final"},
          {"state", ending},
          {"steps", steps},
          {"wall_ns", nanoseconds(RunClock::now() - began)},
          {"peak_rss_bytes", peak_rss_bytes()}};
}

void put_divergence(Json& event, const Divergence& divergence) {
  event["diverged_step"] = divergence.step;
  event["diverged_layer"] = divergence.layer;
}

}  // namespace approx
