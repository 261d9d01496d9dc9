#include "results/store/journal_entries.h"

#include <algorithm>
#include <filesystem>

#include "results/stats/stats.h"
#include "results/store/json_values.h"
#include "results/store/origin.h"
#include "results/store/run_folders.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

// Where the run's log is now: the folder of runs may have been moved with its database.
std::string log_directory(SQLite::Database& db, const std::string& uid, const std::string& runs) {
  const std::string written = first_text(db, "SELECT run_directory FROM run WHERE uid = ?", uid);
  const fs::path beside = fs::path(runs) / fs::path(written).filename();
  std::error_code error;
  return fs::is_directory(beside, error) ? beside.string() : written;
}

// Ends a run by its log. A result without its whole log is none: the run is to be done again.
void apply_end(SQLite::Database& db, const Json& json, const std::string& runs,
               std::vector<std::string>& missing) {
  auto ending = json.get<RunEnding>();
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
  ExperimentWriter writer(db, entry.entry.at("experiment"));
  const auto members = entry.entry.at("members").get<size_t>();
  if (entry.parts.size() < members) throw database_error("runs of the experiment are missing");
  // What is before them is of a transaction that never came to its end.
  for (size_t i = entry.parts.size() - members; i < entry.parts.size(); ++i) {
    const Json part = Json::parse(entry.parts[i]);
    if (const auto config = part.find("config"); config != part.end()) {
      writer.add_cell(part.at("run_key").get<std::string>(), config->get<RunConfig>(),
                      json_text(*config));
    }
    writer.add(part);
  }
  writer.finish();
}

// A number of a row, which says in "special" what it is where it is not finite.
StoredNumber number_at(const Json& row, const char* key) {
  const auto it = row.find(key);
  if (it == row.end()) return {};
  const auto given = row.find("special");
  const bool marked = given != row.end() && given->is_object() && given->contains(key);
  if (it->is_null() && !marked) return {};
  return to_number(*it, marked ? (*given)[key] : Json(nullptr));
}

void write_kernel_row(SQLite::Database& db, int64_t kernel_run_id, const Json& row) {
  const Json shape = row.value("shape", Json::object());
  const auto text = [&row](const char* key, const std::string& fallback = "") {
    return text_or(row, key, fallback);
  };
  const auto ns = times_of(row, "ns"), baseline_ns = times_of(row, "baseline_ns");
  const Json kernel_case = {{"op", text("op")},
                            {"method", text("method")},
                            {"variant", text("variant")},
                            {"shape", json_text(shape)},
                            {"precision", text("precision", "fp32")},
                            {"threads", integer_or_none(row, "threads").value_or(1)},
                            {"device", text("device", "cpu")}};
  const Json chosen = row.value("chosen", Json());
  Json values = {{"kernel_run_id", kernel_run_id},
                 {"kernel_case_id", find_or_add(db, "kernel_case", kernel_case)},
                 {"label", text("label", text_or(shape, "label", ""))},
                 {"n", ns.size()},
                 {"ns", to_blob(ns)},
                 {"baseline_n", baseline_ns.size()},
                 {"baseline_ns", to_blob(baseline_ns)},
                 {"verdict", text("verdict", "ambiguous")},
                 {"reason", text("reason")},
                 {"baseline_variant", text("baseline_variant")},
                 {"chosen", chosen.is_boolean() ? chosen : Json()}};
  if (!ns.empty()) {
    const auto quarters = quartiles({ns.begin(), ns.end()});
    values["ns_median"] = quarters.median;
    values["ns_q1"] = quarters.q1, values["ns_q3"] = quarters.q3;
  }
  if (!baseline_ns.empty()) {
    values["baseline_ns_median"] = quantile({baseline_ns.begin(), baseline_ns.end()}, 0.5);
  }
  // A list that does not belong to the times is left out, as a clock that is not known.
  const auto add_clocks = [&](const char* prefix, size_t n) {
    const auto khz = times_of(row, fmt::format("{}clock_khz", prefix).c_str());
    if (khz.empty() || khz.size() != n) return;
    values[fmt::format("{}clock_khz", prefix)] = to_blob(khz);
    values[fmt::format("{}clock_mhz", prefix)] = 1e-3 * quantile({khz.begin(), khz.end()}, 0.5);
  };
  add_clocks("", ns.size());
  add_clocks("baseline_", baseline_ns.size());
  const Json held_back = row.value("held_back", Json());
  if (held_back.is_object()) values["held_back"] = json_text(held_back);
  Json special = Json::object();
  for (const char* column :
       {"ratio", "ratio_lo", "ratio_hi", "gflops", "dense_flops", "flops", "plan_ns",
        "max_abs_error", "max_rel_error", "density", "ceiling_gflops", "bytes", "memory_gbs"}) {
    const auto number = number_at(row, column);
    values[column] = or_null(number.value);
    if (number.special) special[column] = *number.special;
  }
  values["special"] = special;
  insert_row(db, "INSERT OR REPLACE INTO kernel_result", values);
}

// The columns that entries of studies and of benchmarks have in common.
Json item_row(SQLite::Database& db, const Json& item) {
  Json row = origin_columns(db, item.at("environment"));
  row["uid"] = item.at("uid"), row["started_utc"] = item.at("utc");
  row["experiment"] = item.at("experiment");
  return row;
}

// The parts of a study are those of StudyRecord.
void write_study(SQLite::Database& db, const Json& study) {
  Json row = item_row(db, study);
  row["name"] = study.at("name");
  for (const char* column : {"params", "methods", "content"}) {
    row[column] = json_text(study.at(column));
  }
  insert_row(db, "INSERT INTO study_run", row);
}

// Fields of a row: docs/internals/events.md ("kernel").
void write_kernel_results(SQLite::Database& db, const Json& results) {
  insert_row(db, "INSERT INTO kernel_run", item_row(db, results));
  const int64_t kernel_run_id = db.getLastInsertRowid();
  for (const auto& row : results.at("rows")) write_kernel_row(db, kernel_run_id, row);
}

// Of what has its name from now on.
Json named_entry(const char* op, const Json& environment, const std::string& experiment) {
  return {{"op", op},
          {"uid", new_uid()},
          {"utc", utc_now()},
          {"environment", environment},
          {"experiment", experiment}};
}

}  // namespace

Json experiment_entry(const Json& experiment, int64_t members) {
  return {{"op", "experiment"}, {"experiment", experiment}, {"members", members}};
}

std::string member_part(Json member, const std::string& config) {
  member["op"] = "member";
  std::string text = json_text(member);
  if (!config.empty()) text.insert(text.size() - 1, ",\"config\":" + config);
  return text;
}

Json begin_entry(Json run, const std::optional<RunEnding>& settled) {
  run["op"] = "begin";
  if (settled) run["settled"] = *settled;
  return run;
}

Json end_entry(const RunEnding& ending) {
  Json entry = ending;
  entry["op"] = "end";
  return entry;
}

Json discard_entry(const std::string& uid) { return {{"op", "discard"}, {"uid", uid}}; }

Json study_entry(const Json& environment, const StudyRecord& study) {
  Json entry = named_entry("study", environment, study.experiment);
  entry["name"] = study.name, entry["params"] = study.params;
  entry["methods"] = study.methods, entry["content"] = study.content;
  return entry;
}

Json kernels_entry(const Json& environment, const std::vector<Json>& rows,
                   const std::string& experiment) {
  Json entry = named_entry("kernels", environment, experiment);
  entry["rows"] = rows;
  return entry;
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
    const Json& row = entry.at("experiment");
    return has_row(db, "SELECT 1 FROM experiment WHERE name = ? AND text = ? AND command_line = ?",
                   row.at("name"), row.at("text"), row.at("command_line"));
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
    if (json.contains("settled")) apply_end(db, json["settled"], runs, missing);
    insert_run(db, json);
  } else if (op == "end") {
    apply_end(db, json, runs, missing);
  } else if (op == "discard") {
    execute(db, "DELETE FROM run WHERE uid = ? AND uid <> '' AND state = 'running'",
            json.at("uid"));
  } else if (op == "study") {
    write_study(db, json);
  } else if (op == "kernels") {
    write_kernel_results(db, json);
  } else if (op == "rewritten") {
    for (const auto& from : json.at("from")) {
      missing.push_back(fmt::format("results that were merged from {}: merge them again",
                                    from.get<std::string>()));
    }
  } else {
    throw database_error("\"{}\" is nothing that this program does", op);
  }
  return missing;
}

}  // namespace approx
