#include "results/store/journal_entries.h"

#include <algorithm>
#include <filesystem>

#include "results/store/json_values.h"
#include "results/store/run_folders.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

// Whether the query has a row; `sql` takes one text.
bool has_row(SQLite::Database& db, const char* sql, const std::string& text) {
  bool found = false;
  for_each_row(
      db, sql, [&](SQLite::Statement&) { found = true; }, text);
  return found;
}

Json ending_json(const RunEnding& ending) {
  Json json = {{"uid", ending.uid},
               {"utc", ending.utc},
               {"state", name(ending.end.state)},
               {"events", ending.events}};
  if (ending.end.exit_code) json["exit_code"] = *ending.end.exit_code;
  if (ending.end.signal) json["signal"] = *ending.end.signal;
  if (!ending.end.error.empty()) json["error"] = ending.end.error;
  if (!ending.end.taint.empty()) json["taint"] = ending.end.taint;
  return json;
}

RunEnding ending_of(const Json& json) {
  RunEnding ending{.uid = json.at("uid").get<std::string>(),
                   .utc = json.at("utc").get<std::string>(),
                   .end = {.state = stored_run_state(json.at("state").get<std::string>()),
                           .error = json.value("error", std::string()),
                           .taint = json.value("taint", std::vector<std::string>())},
                   .events = json.at("events").get<int64_t>()};
  if (json.contains("exit_code")) ending.end.exit_code = json["exit_code"].get<int>();
  if (json.contains("signal")) ending.end.signal = json["signal"].get<int>();
  return ending;
}

Stamp stamp_of(const Json& json) {
  return {.uid = json.at("uid").get<std::string>(), .utc = json.at("utc").get<std::string>()};
}

// Where the run's log is now: the folder of runs may have been moved with its database.
std::string log_directory(SQLite::Database& db, const std::string& uid, const std::string& runs) {
  std::string written;
  for_each_row(
      db, "SELECT run_directory FROM run WHERE uid = ?",
      [&](SQLite::Statement& row) { written = text_at(row, 0); }, uid);
  const fs::path beside = fs::path(runs) / fs::path(written).filename();
  std::error_code error;
  return fs::is_directory(beside, error) ? beside.string() : written;
}

// Ends a run by its log. A result without its whole log is none: the run is to be done again.
void apply_end(SQLite::Database& db, const Json& json, const std::string& runs,
               std::vector<std::string>& missing) {
  RunEnding ending = ending_of(json);
  const std::string directory = log_directory(db, ending.uid, runs);
  const Outcome log(read_events(directory), ending.events);
  if (log.taken < ending.events) {
    const std::string what =
        fmt::format("{} of {} events of {}/{} are missing", ending.events - log.taken,
                    ending.events, directory, kEventsFile);
    const bool result = is_result(ending.end.state);
    missing.push_back(what + (result ? ": a sweep does the run again" : ""));
    if (result) ending.end = {.state = RunState::kLost, .error = what};
  }
  write_end(db, log, ending);
}

void apply_experiment(SQLite::Database& db, const JournalEntry& entry) {
  ExperimentWriter writer(db, entry.entry.at("experiment").get<ExperimentRow>());
  const auto members = entry.entry.at("members").get<size_t>();
  if (entry.parts.size() < members) throw database_error("runs of the experiment are missing");
  // What is before them is of a transaction that never came to its end.
  for (size_t i = entry.parts.size() - members; i < entry.parts.size(); ++i) {
    const Json part = Json::parse(entry.parts[i]);
    const auto member = part.get<MemberRow>();
    if (const auto config = part.find("config"); config != part.end()) {
      writer.add_cell(member.run_key, config->get<RunConfig>(), json_text(*config));
    }
    writer.add(member);
  }
  writer.finish();
}

void apply_begin(SQLite::Database& db, const Json& entry, const std::string& runs,
                 std::vector<std::string>& missing) {
  if (entry.contains("settled")) apply_end(db, entry["settled"], runs, missing);
  const Stamp stamp = stamp_of(entry);
  insert_run(db, {.uid = stamp.uid,
                  .run_key = entry.at("run_key").get<std::string>(),
                  .utc = stamp.utc,
                  .directory = entry.at("directory").get<std::string>(),
                  .environment = entry.at("environment"),
                  .isolated = entry.at("isolated").get<bool>()});
}

}  // namespace

Json experiment_entry(const ExperimentRow& row, int64_t members) {
  return {{"op", "experiment"}, {"experiment", row}, {"members", members}};
}

std::string member_part(const MemberRow& member, const std::string& config) {
  Json json = member;
  json["op"] = "member";
  std::string text = json_text(json);
  if (!config.empty()) text.insert(text.size() - 1, ",\"config\":" + config);
  return text;
}

Json begin_entry(const RunBegin& run, const std::optional<RunEnding>& settled) {
  Json entry = {{"op", "begin"},
                {"uid", run.uid},
                {"run_key", run.run_key},
                {"utc", run.utc},
                {"isolated", run.isolated},
                {"directory", run.directory},
                {"environment", run.environment}};
  if (settled) entry["settled"] = ending_json(*settled);
  return entry;
}

Json end_entry(const RunEnding& ending) {
  Json entry = ending_json(ending);
  entry["op"] = "end";
  return entry;
}

Json discard_entry(const std::string& uid) { return {{"op", "discard"}, {"uid", uid}}; }

Json study_entry(const Stamp& stamp, const Json& environment, const StudyRecord& study) {
  return {{"op", "study"},           {"uid", stamp.uid},
          {"utc", stamp.utc},        {"environment", environment},
          {"name", study.name},      {"experiment", study.experiment},
          {"params", study.params},  {"methods", study.methods},
          {"content", study.content}};
}

Json kernels_entry(const Stamp& stamp, const Json& environment, const std::vector<Json>& rows,
                   const std::string& experiment) {
  return {{"op", "kernels"},          {"uid", stamp.uid},
          {"utc", stamp.utc},         {"environment", environment},
          {"experiment", experiment}, {"rows", rows}};
}

Json rewritten_entry(const std::vector<std::string>& from) {
  return {{"op", "rewritten"}, {"from", from}};
}

bool is_in_store(SQLite::Database& db, const Json& entry) {
  const std::string op = text_or(entry, "op", ""), uid = text_or(entry, "uid", "");
  if (op == "begin") return has_row(db, "SELECT 1 FROM run WHERE uid = ?", uid);
  if (op == "end") {
    return has_row(db, "SELECT 1 FROM run WHERE uid = ? AND state <> 'running'", uid);
  }
  if (op == "discard") return !has_row(db, "SELECT 1 FROM run WHERE uid = ?", uid);
  if (op == "study") return has_row(db, "SELECT 1 FROM study_run WHERE uid = ?", uid);
  if (op == "kernels") return has_row(db, "SELECT 1 FROM kernel_run WHERE uid = ?", uid);
  if (op == "experiment") {
    bool same = false;
    const auto row = entry.at("experiment").get<ExperimentRow>();
    for_each_row(
        db, "SELECT 1 FROM experiment WHERE name = ? AND text = ? AND command_line = ?",
        [&](SQLite::Statement&) { same = true; }, row.name, row.text, row.command_line);
    return same;
  }
  return op.empty();  // the head of a journal: what it begins with
}

std::vector<std::string> apply_entry(SQLite::Database& db, const JournalEntry& entry,
                                     const std::string& runs) {
  std::vector<std::string> missing;
  const Json& json = entry.entry;
  const std::string op = text_or(json, "op", "");
  if (op == "experiment") {
    apply_experiment(db, entry);
  } else if (op == "begin") {
    apply_begin(db, json, runs, missing);
  } else if (op == "end") {
    apply_end(db, json, runs, missing);
  } else if (op == "discard") {
    remove_run(db, json.at("uid").get<std::string>());
  } else if (op == "study") {
    write_study(db, stamp_of(json), json.at("environment"),
                {.experiment = json.at("experiment").get<std::string>(),
                 .name = json.at("name").get<std::string>(),
                 .params = json.at("params"),
                 .methods = json.at("methods"),
                 .content = json.at("content")});
  } else if (op == "kernels") {
    write_kernel_results(db, stamp_of(json), json.at("environment"),
                         json.at("rows").get<std::vector<Json>>(),
                         json.at("experiment").get<std::string>());
  } else if (op == "rewritten") {
    for (const auto& from : json.at("from")) {
      missing.push_back(
          fmt::format("what was merged from {}: merge it again", from.get<std::string>()));
    }
  } else {
    throw database_error("\"{}\" is nothing that this program does", op);
  }
  return missing;
}

}  // namespace approx
