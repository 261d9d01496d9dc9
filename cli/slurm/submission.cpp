#include "cli/slurm/submission.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/numbers.h"
#include "cli/text.h"
#include "core/config/catalogue.h"
#include "results/store/run_folders.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSubmissionSchema = "approxtrain.slurm/1";
constexpr const char* kTaskSchema = "approxtrain.slurm-task/1";
constexpr const char* kRunsEnd = ".runs";  // as of runs_directory
constexpr int64_t kMostBytes = int64_t{1} << 30;

std::string record_path(const std::string& folder) { return folder + "/submission.json"; }

std::string task_path(const std::string& folder, int64_t task) {
  return fmt::format("{}/task-{}.json", folder, task);
}

// Reads a file of that schema by `use`.
template <typename Use>
auto read_json(const std::string& path, const std::string& schema, const Use& use) {
  const auto bytes = read_file(path, kMostBytes);
  try {
    const Json json = Json::parse(bytes.begin(), bytes.end());
    if (json.at("schema") != schema) {
      throw data_error("{}: is of {}, this program reads {}", printable(path),
                       printable(json.at("schema").dump()), schema);
    }
    return use(json);
  } catch (const Json::exception& error) {
    throw data_error("{}: {}", printable(path), printable(error.what()));
  }
}

Submission submission_of(const Json& json) {
  Submission submission;
  json.at("experiment").get_to(submission.experiment);
  json.at("tasks").get_to(submission.tasks);
  json.at("settled").get_to(submission.settled);
  submission.folder_was = json.value("folder", "");
  for (const auto& job : json.at("jobs")) {
    submission.jobs.push_back({job.at("id").get<std::string>(), job.at("first").get<int64_t>(),
                               job.at("last").get<int64_t>()});
  }
  return submission;
}

Json json_of(const PlannedRun& run, int64_t position) {
  return {{"key", run.key},
          {"method", run.method_label},
          {"schedule", run.schedule_label},
          {"network", run.network_label},
          {"position", position},
          {"config", run.config}};
}

PlannedRun run_of(const Json& json) {
  PlannedRun run;
  run.config = json.at("config").get<RunConfig>();
  json.at("key").get_to(run.key);
  json.at("method").get_to(run.method_label);
  json.at("schedule").get_to(run.schedule_label);
  json.at("network").get_to(run.network_label);
  run.position = json.at("position").get<int64_t>();
  return run;
}

Experiment experiment_of(const Json& json) {
  Experiment experiment;
  json.at("id").get_to(experiment.id);
  json.at("item").get_to(experiment.item);
  json.at("title").get_to(experiment.title);
  json.at("source").get_to(experiment.source);
  json.at("text").get_to(experiment.text);
  json.at("files").get_to(experiment.files);
  experiment.report = json.at("report");
  if (const auto& target = json.at("target"); !target.is_null()) {
    experiment.target = Target{target.at("metric").get<std::string>(), target.at("value")};
  }
  Trainings trainings;
  for (const auto& run : json.at("runs")) trainings.runs.push_back(run_of(run));
  experiment.work = std::move(trainings);
  return experiment;
}

}  // namespace

bool Submission::is_queued(int64_t task, const QueuedTasks& queue) const {
  const std::string number = fmt::format("{}", task);
  return std::ranges::any_of(jobs, [&](const Job& job) {
    if (task < job.first || task > job.last) return false;
    return job.id.empty() ? queue.by_folder.contains({folder_was, number})
                          : queue.by_job.contains({job.id, number});
  });
}

bool Submission::is_queued(const QueuedTasks& queue) const {
  for (int64_t task = 0; task < tasks; ++task) {
    if (is_queued(task, queue)) return true;
  }
  return false;
}

std::string submissions_folder(const std::string& db) {
  return path_beside(fs::absolute(db).lexically_normal().string(), ".slurm");
}

std::vector<Submission> read_submissions(const std::string& db) {
  std::vector<Submission> submissions;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(submissions_folder(db), error)) {
    const std::string folder = entry.path().string();
    // One without a record was left by a process that ended before it had submitted anything.
    if (!fs::exists(record_path(folder))) continue;
    submissions.push_back(read_json(record_path(folder), kSubmissionSchema, submission_of));
    submissions.back().folder = folder;
  }
  std::ranges::sort(submissions, {}, &Submission::folder);
  return submissions;
}

std::string next_folder(const std::string& db, const std::string& experiment) {
  for (int64_t number = 1;; ++number) {
    std::string folder = fmt::format("{}/{}-{}", submissions_folder(db), experiment, number);
    if (!fs::exists(folder)) return folder;
  }
}

void save(const Submission& submission) {
  Json jobs = Json::array();
  for (const auto& job : submission.jobs) {
    jobs.push_back({{"id", job.id}, {"first", job.first}, {"last", job.last}});
  }
  const Json json = {{"schema", kSubmissionSchema},     {"experiment", submission.experiment},
                     {"folder", submission.folder_was}, {"tasks", submission.tasks},
                     {"settled", submission.settled},   {"jobs", jobs}};
  write_file(record_path(submission.folder), json_text(json, 1) + "\n");
}

std::string task_database(const std::string& folder, int64_t task) {
  return fmt::format("{}/task-{}.db", folder, task);
}

std::vector<std::string> ended_databases(const Submission& submission, const QueuedTasks& queue) {
  std::vector<std::string> databases;
  for (int64_t task = 0; task < submission.tasks; ++task) {
    const std::string path = task_database(submission.folder, task);
    if (!submission.is_queued(task, queue) && fs::exists(path)) databases.push_back(path);
  }
  return databases;
}

std::vector<std::string> task_run_folders(const std::string& db) {
  std::vector<std::string> folders;
  std::error_code error;
  for (const auto& submission : fs::directory_iterator(submissions_folder(db), error)) {
    for (const auto& entry : fs::directory_iterator(submission.path(), error)) {
      if (entry.path().extension() == kRunsEnd) folders.push_back(entry.path().string());
    }
  }
  return folders;
}

void write_task_file(const std::string& folder, int64_t task, const Experiment& experiment,
                     const TaskRuns& runs, const std::string& command_line) {
  Json members = Json::array();
  for (const auto* run : runs) members.push_back(json_of(*run, run - experiment.runs().data()));
  std::vector<std::string> files;
  for (const auto& file : experiment.files) files.push_back(fs::absolute(file).string());
  Json target;
  if (experiment.target) {
    target = {{"metric", experiment.target->metric}, {"value", experiment.target->value}};
  }
  const Json json = {{"schema", kTaskSchema},
                     {"command_line", command_line},
                     {"experiment",
                      {{"id", experiment.id},
                       {"item", experiment.item},
                       {"title", experiment.title},
                       {"source", experiment.source},
                       {"text", experiment.text},
                       {"files", files},
                       {"report", experiment.report},
                       {"target", target},
                       {"runs", members}}}};
  write_file(task_path(folder, task), json_text(json, 1) + "\n");
}

SlurmTask read_task_file(const std::string& folder, int64_t task,
                         const std::function<std::string(const std::string&)>& dataset_sha256) {
  const std::string path = task_path(folder, task);
  auto read = read_json(path, kTaskSchema, [](const Json& json) {
    return SlurmTask{experiment_of(json.at("experiment")),
                     json.at("command_line").get<std::string>()};
  });
  for (auto& run : std::get<Trainings>(read.experiment.work).runs) {
    const std::string submitted = run.key;
    set_keys(run, dataset_sha256(run.config.dataset), Catalogue::embedded());
    if (run.key == submitted) continue;
    // What the store has under an earlier key keeps it.
    if (const auto same = std::ranges::find(run.same_keys, submitted);
        same != run.same_keys.end()) {
      std::swap(run.key, *same);
      continue;
    }
    throw usage_error(
        "{}: run {} would be {} here, since the program or the data set {} has changed; submit the "
        "sweep again",
        printable(path), submitted.substr(0, 12), run.key.substr(0, 12), run.config.dataset);
  }
  return read;
}

std::vector<std::string> keys_of_task(const std::string& folder, int64_t task) {
  return read_json(task_path(folder, task), kTaskSchema, [](const Json& json) {
    std::vector<std::string> keys;
    for (const auto& run : json.at("experiment").at("runs")) {
      keys.push_back(run.at("key").get<std::string>());
    }
    return keys;
  });
}

}  // namespace approx
