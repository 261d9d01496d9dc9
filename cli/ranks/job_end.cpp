#include "cli/ranks/job_end.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

#include "base/error.h"
#include "cli/process/event_log.h"
#include "results/store/run_state.h"

namespace approx {
namespace {

std::string text_of(const Json& event, const char* key) {
  const auto value = event.is_object() ? event.value(key, Json()) : Json();
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool has_result(const Json& last) {
  const auto state = find_named<RunState>(text_of(last, "state"));
  return text_of(last, "event") == "final" && state && is_result(*state);
}

std::string killed_by(const std::string& who, int signal) {
  return fmt::format("{} was killed by signal {} ({})", who, signal, strsignal(signal));
}

// From outside, as far as that can be told; else the fault is its own.
RunState state_by(int signal) {
  return signal == SIGKILL || signal == SIGTERM ? RunState::kLost : RunState::kFailed;
}

std::string behind(const std::string& line) { return line.empty() ? "" : ": " + line; }

Json rank_error(const RankFailure& failure, const RankLeft& left) {
  const std::string who = fmt::format("rank {}", failure.rank);
  Json event;
  if (failure.out_of_memory) {
    event = error_event(ErrorKind::kInternal, who + " was killed for its memory", RunState::kOom);
  } else if (failure.signal) {
    event =
        error_event(ErrorKind::kInternal, killed_by(who, *failure.signal) + behind(left.last_line),
                    state_by(*failure.signal));
    event["signal"] = *failure.signal;
  } else if (left.problem.is_object()) {
    event = left.problem;
    event["message"] = fmt::format("{}: {}", who, text_of(left.problem, "message"));
  } else {
    event = error_event(ErrorKind::kInternal,
                        fmt::format("{} exited with code {}{}", who, failure.exit_code.value_or(-1),
                                    behind(left.last_line)),
                        RunState::kFailed);
  }
  event["rank"] = failure.rank;
  return event;
}

// The error of a job that ended and named no rank.
Json launcher_error(const JobSeen& job) {
  const std::string who(name(job.launcher));
  if (job.process.signal) {
    Json event = error_event(ErrorKind::kInternal, killed_by(who, *job.process.signal),
                             state_by(*job.process.signal));
    event["signal"] = *job.process.signal;
    return event;
  }
  return error_event(ErrorKind::kInternal,
                     fmt::format("{} exited with code {} and no rank reported an end{}", who,
                                 job.process.exit_code.value_or(-1), behind(job.said)),
                     RunState::kFailed);
}

}  // namespace

Json end_of_job(const JobSeen& job, const std::function<RankLeft(int64_t rank)>& left) {
  const std::string kind = text_of(job.last, "event");
  if (has_result(job.last)) return job.last;
  const auto& failure = job.failure;
  const bool another = failure && failure->rank != 0 &&
                       (!failure->exit_code || text_of(job.last, "state") == name(RunState::kLost));
  if (kind == "error" && !another) return job.last;
  if (failure) return rank_error(*failure, left(failure->rank));
  if (kind == "final") return job.last;
  return launcher_error(job);
}

}  // namespace approx
