#include "cli/process/protocol.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "cli/text.h"

namespace approx {

sigset_t worker_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&signals, number);
  return signals;
}

void write_task(const std::string& run_directory, const WorkerTask& task) {
  Json json = {{"run_key", task.run_key},           {"config", task.config},
               {"data_dir", task.place.data_dir},   {"verify_data", task.place.verify_data},
               {"isolated", task.isolated},         {"changed_files", task.changed_files},
               {"memory_bytes", task.memory_bytes}, {"cpus", task.cpus}};
  const Checkpoints& checkpoints = task.place.checkpoints;
  if (!checkpoints.folder.empty()) {
    json["checkpoints"] = {{"folder", checkpoints.folder},
                           {"every_ns", checkpoints.every_ns},
                           {"every_epochs", checkpoints.every_epochs}};
  }
  if (task.python) json["python"] = *task.python;
  const Recording& recording = task.place.recording;
  if (!recording.folder.empty()) {
    json["recording"] = {{"folder", recording.folder},
                         {"every_epochs", recording.every_epochs},
                         {"every_steps", recording.every_steps}};
  }
  if (task.config.ranks > 1) {
    json["ranks"] = {{"launcher", name(task.launcher)},
                     {"oversubscribe", task.oversubscribe},
                     {"cpus", task.rank_cpus},
                     {"timeout_ns", task.place.rank_timeout_ns}};
  }
  const std::string path = run_directory + "/" + kTaskFile;
  std::ofstream out(path);
  out << json_text(json, 1) << "\n";
  out.close();
  if (!out) {
    throw Error(ErrorKind::kInternal, fmt::format("{}: {}; free some space and run again",
                                                  printable(path), std::strerror(errno)));
  }
}

WorkerTask read_task(const std::string& run_directory) {
  std::ifstream in(run_directory + "/" + kTaskFile);
  const Json json = Json::parse(in);
  WorkerTask task{.run_key = json.at("run_key").get<std::string>(),
                  .config = json.at("config").get<RunConfig>(),
                  .place = {.data_dir = json.at("data_dir").get<std::string>(),
                            .verify_data = json.at("verify_data").get<bool>()},
                  .isolated = json.value("isolated", false),
                  .changed_files = json.value("changed_files", std::vector<std::string>()),
                  .cpus = json.value("cpus", std::vector<int>()),
                  .memory_bytes = json.value("memory_bytes", int64_t{0})};
  if (const auto given = json.find("checkpoints"); given != json.end()) {
    auto& checkpoints = task.place.checkpoints;
    given->at("folder").get_to(checkpoints.folder);
    given->at("every_ns").get_to(checkpoints.every_ns);
    given->at("every_epochs").get_to(checkpoints.every_epochs);
  }
  if (const auto given = json.find("python"); given != json.end()) {
    task.python = given->get<PythonMethods>();
  }
  if (const auto given = json.find("recording"); given != json.end()) {
    auto& recording = task.place.recording;
    recording.run_key = task.run_key;
    given->at("folder").get_to(recording.folder);
    given->at("every_epochs").get_to(recording.every_epochs);
    given->at("every_steps").get_to(recording.every_steps);
  }
  if (const auto given = json.find("ranks"); given != json.end()) {
    const auto launcher = find_named<Launcher>(given->at("launcher").get<std::string>());
    task.launcher = launcher.value_or(Launcher::kMpirun);
    given->at("oversubscribe").get_to(task.oversubscribe);
    given->at("cpus").get_to(task.rank_cpus);
    given->at("timeout_ns").get_to(task.place.rank_timeout_ns);
  }
  return task;
}

std::string event_line(const Json& event) { return json_text(event) + "\n"; }

}  // namespace approx
