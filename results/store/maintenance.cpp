#include "results/store/maintenance.h"

#include <filesystem>

#include "base/params.h"
#include "results/store/database.h"
#include "results/store/ending.h"
#include "results/store/run_folders.h"

namespace approx {
namespace {

// A rule as a query for its violations: each row is one, as text.
struct CheckRule {
  const char* name;
  const char* sql;
};

// Cells that a table compares: equal in all but method, schedule and seed.
#define APPROX_GROUP \
  "network, dataset, split, train_examples, recipe, batch_size, precision, threads, device"

constexpr CheckRule kRules[] = {
    {"structure",
     "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'"},
    {"references",
     "SELECT 'a row of ' || \"table\" || ' refers to a missing row of ' || parent "
     "FROM pragma_foreign_key_check"},
    {"one running attempt",
     "SELECT 'cell ' || cell_id || ' has ' || count(*) || ' runs in state running' FROM run "
     "WHERE state = 'running' GROUP BY cell_id HAVING count(*) > 1"},
    {"one end",
     "SELECT 'run ' || run_id || ' is ' || state || CASE WHEN ended_utc IS NULL THEN ' without an "
     "end' ELSE ' and has an end' END FROM run WHERE (state = 'running') <> (ended_utc IS NULL)"},
    {"attempts in order",
     "SELECT 'cell ' || cell_id || ' has ' || count(*) || ' attempts numbered up to ' || "
     "max(attempt) FROM run GROUP BY cell_id HAVING max(attempt) <> count(*)"},
    {"what was computed has a name",
     "SELECT 'run ' || run_id FROM run WHERE uid = '' UNION ALL "
     "SELECT 'kernel run ' || kernel_run_id FROM kernel_run WHERE uid = '' UNION ALL "
     "SELECT 'study run ' || study_run_id FROM study_run WHERE uid = ''"},
    {"finished runs have totals",
     "SELECT 'run ' || run_id || ' is finished without its times' FROM run "
     "WHERE state = 'finished' AND (train_ns IS NULL OR wall_ns IS NULL)"},
    {"finished runs have an accuracy",
     "SELECT 'run ' || run_id || ' is finished without a test accuracy' FROM run r "
     "JOIN cell USING(cell_id) WHERE state = 'finished' AND purpose = 'accuracy' AND NOT EXISTS "
     "(SELECT 1 FROM metric m "
     "WHERE m.run_id = r.run_id AND m.name = 'accuracy' AND split = 'test')"},
    {"steps and times grow together",
     "SELECT 'run ' || a.run_id || ': ' || a.name || '/' || a.split || ' goes back in time after "
     "step ' || a.step FROM metric a JOIN metric b ON b.run_id = a.run_id AND b.name = a.name AND "
     "b.split = a.split AND b.step = (SELECT min(step) FROM metric x WHERE x.run_id = a.run_id AND "
     "x.name = a.name AND x.split = a.split AND x.step > a.step) "
     "WHERE b.train_ns < a.train_ns OR b.epoch < a.epoch"},
    {"one grid of evaluations",
     "WITH grid AS (SELECT c.*, m.run_id, group_concat(m.step) AS steps FROM v_final c JOIN "
     "(SELECT run_id, step FROM metric WHERE name = 'accuracy' AND split = 'test' "
     "ORDER BY run_id, step) m USING(run_id) GROUP BY m.run_id) "
     "SELECT 'runs ' || min(run_id) || ' and ' || max(run_id) || "
     "' of one comparison were evaluated at different steps' "
     "FROM grid GROUP BY " APPROX_GROUP " HAVING count(DISTINCT steps) > 1"},
    {"parts do not exceed the whole",
     "SELECT 'run ' || run_id || ': training, evaluation and warm-up take longer than the run' "
     "FROM run WHERE wall_ns IS NOT NULL AND coalesce(train_ns, 0) + coalesce(eval_ns, 0) + "
     "coalesce(warmup_ns, 0) + coalesce(start_ns, 0) + coalesce(aside_ns, 0) > 1.01 * wall_ns"},
    // Within 1 %, or 30 ms of a short run. Earlier runs kept some parts only.
    {"parts make up the whole",
     "WITH parts AS (SELECT run_id, wall_ns, coalesce(train_ns, 0) + coalesce(eval_ns, 0) + "
     "coalesce(warmup_ns, 0) + start_ns + aside_ns AS ns FROM run WHERE wall_ns IS NOT NULL) "
     "SELECT 'run ' || run_id || ': of ' || round(wall_ns / 1e9, 3) || ' s its parts are ' || "
     "round(ns / 1e9, 3) || ' s' FROM parts WHERE wall_ns - ns > max(0.01 * wall_ns, 3e7)"},
    {"no negative time",
     "SELECT 'run ' || run_id || ' has a negative time' FROM run "
     "WHERE min(coalesce(train_ns, 0), coalesce(eval_ns, 0), coalesce(wall_ns, 0), "
     "coalesce(warmup_ns, 0), coalesce(start_ns, 0), coalesce(aside_ns, 0)) < 0"},
    {"seeds differ",
     "WITH curve AS (SELECT run_id, count(*) AS points, "
     "group_concat(name || split || step || ':' || value) AS text "
     "FROM (SELECT * FROM metric WHERE name IN ('loss', 'accuracy') "
     "ORDER BY run_id, name, split, step) GROUP BY run_id), "
     "last AS (SELECT c.*, f.text, f.points FROM v_final c JOIN curve f USING(run_id)) "
     "SELECT 'runs ' || a.run_id || ' and ' || b.run_id || ' have different seeds and the same "
     "curves' FROM last a JOIN last b USING(" APPROX_GROUP ", method, schedule) "
     "WHERE a.seed < b.seed AND a.text = b.text AND a.points > 2"},
    {"builds are known",
     "SELECT 'run ' || run_id || ' does not say which sources it was built from' FROM run "
     "JOIN build USING(build_id) WHERE state IN ('finished', 'diverged') AND "
     "git_sha IN ('', 'unknown')"},
    {"data are known",
     "SELECT 'run ' || run_id || ' does not say which data it read' FROM run "
     "LEFT JOIN dataset USING(dataset_id) WHERE state IN ('finished', 'diverged') AND "
     "coalesce(sha256, '') = ''"},
    {"data are the same inside a comparison",
     "SELECT 'runs ' || min(run_id) || ' and ' || max(run_id) || ' are compared and read different "
     "data' FROM v_final GROUP BY " APPROX_GROUP " HAVING count(DISTINCT dataset_id) > 1"},
    {"data are those that were asked for",
     "SELECT 'run ' || run_id || ' asked for ' || dataset || ' and read ' || name FROM run "
     "JOIN cell USING(cell_id) JOIN dataset USING(dataset_id) WHERE name <> dataset"},
    {"valid timings were alone",
     "SELECT 'run ' || run_id || ' counts as a valid timing, although it was ' || "
     "CASE WHEN purpose <> 'timing' THEN 'an accuracy run' WHEN state <> 'finished' THEN state "
     "WHEN NOT isolated THEN 'not isolated' ELSE 'disturbed' END "
     "FROM run JOIN cell USING(cell_id) WHERE timing_valid AND "
     "(purpose <> 'timing' OR state <> 'finished' OR NOT isolated OR taint <> '[]')"},
    {"a time for each step",
     "SELECT 'run ' || run_id || ' has ' || length(step_ns) / 8 || ' step times for ' || steps || "
     "' steps' FROM run WHERE step_ns IS NOT NULL AND steps IS NOT NULL AND state = 'finished' AND "
     "length(step_ns) / 8 NOT IN (steps, steps - coalesce(warmup_steps, 0))"},
    {"blocks come in pairs",
     "SELECT 'run ' || run_id || ': block pair ' || pair || ' has one arm' FROM timing_block "
     "JOIN run USING(run_id) WHERE state = 'finished' GROUP BY run_id, pair HAVING count(*) <> 2"},
    {"what is not a number is marked",
     "SELECT 'run ' || run_id || ': ' || name || ' at step ' || step || ' is not finite and not "
     "marked' FROM metric WHERE (value IS NULL) <> (special IS NOT NULL) OR "
     "abs(value) > 1.7976931348623157e308"},
    {"accuracies are shares",
     "SELECT 'run ' || run_id || ': accuracy ' || value || ' at step ' || step FROM metric "
     "WHERE name = 'accuracy' AND value NOT BETWEEN 0 AND 1"},
    {"layers add up",
     "SELECT 'run ' || run_id || ': layer ' || layer || ' has an impossible count' "
     "FROM layer_metric WHERE calls < 0 OR exact_calls < 0 OR macs_done < 0 OR macs_dense < 0 OR "
     "(method = 'dense' AND exact_calls <> calls)"},
    {"variants computed what was counted",
     "SELECT 'run ' || run_id || ': layer ' || layer || ': ' || variant || ' computed ' || calls "
     "|| "
     "' times a ' || product || ' that was never called' FROM layer_variant v WHERE calls < 1 OR "
     "NOT EXISTS (SELECT 1 FROM layer_metric m WHERE m.run_id = v.run_id AND "
     "m.layer = v.layer AND m.product = v.product)"},
    {"bytes that ranks sent are possible",
     "WITH sent AS (SELECT t.*, r.steps, c.purpose, CASE layer WHEN '' THEN 'what goes along' "
     "ELSE 'layer ' || layer END AS what, CASE WHEN json_valid(config) THEN "
     "coalesce(json_extract(config, '$.ranks'), 1) ELSE 0 END AS ranks "
     "FROM layer_traffic t JOIN run r USING(run_id) JOIN cell c USING(cell_id)) "
     "SELECT 'run ' || run_id || ': ' || what || ': ' || bytes || ' bytes by each of ' || ranks || "
     "' ranks in ' || calls || ' steps, ' || bytes_dense || ' in exact training' FROM sent "
     "WHERE ranks < 2 OR min(calls, bytes, bytes_dense) < 0 OR "
     "(calls = 0 AND max(bytes, bytes_dense) > 0) OR (purpose = 'accuracy' AND calls > steps) OR "
     // All entries of a gradient, each with its position, sent to all others are 1.5 N times what
     // each of N ranks sends for its sum. The rest is room for counts beside them.
     "(layer <> '' AND ((calls > 0 AND bytes_dense = 0) OR bytes > 2.0 * ranks * bytes_dense))"},
    {"ranks sent of each layer",
     "SELECT DISTINCT 'run ' || run_id || ' does not say what its ranks sent of layer ' || layer "
     "FROM layer_metric m JOIN run USING(run_id) WHERE state = 'finished' AND "
     "run_id IN (SELECT run_id FROM layer_traffic) AND NOT EXISTS "
     "(SELECT 1 FROM layer_traffic t WHERE t.run_id = m.run_id AND t.layer = m.layer)"},
    // A sweep that chose seeds, methods or runs may leave the partners to another one.
    {"seeds have a partner",
     "WITH labels AS (SELECT DISTINCT experiment_id, method_label FROM experiment_cell "
     "JOIN cell USING(cell_id) JOIN experiment USING(experiment_id) WHERE method = 'dense' AND "
     "NOT (command_line GLOB '* --seed*' OR command_line GLOB '* --method*' OR "
     "command_line GLOB '* --only*' OR command_line GLOB '* --skip*')), "
     // An excluded one has its reason and no cell.
     "exact AS MATERIALIZED (SELECT DISTINCT experiment_id, network_label, dataset, seed "
     "FROM experiment_cell JOIN labels USING(experiment_id, method_label) "
     "WHERE purpose = 'accuracy'), "
     "compared AS MATERIALIZED (SELECT DISTINCT experiment_id, network_label, dataset FROM exact) "
     "SELECT DISTINCT 'cell ' || c.cell_id || ': ' || c.method || ' has seed ' || m.seed || "
     "', which its experiment gives to no exact training' FROM experiment_cell m "
     "JOIN compared USING(experiment_id, network_label, dataset) JOIN cell c USING(cell_id) "
     "LEFT JOIN exact x USING(experiment_id, network_label, dataset, seed) "
     "WHERE m.purpose = 'accuracy' AND c.method <> 'dense' AND x.seed IS NULL AND "
     "c.cell_id IN (SELECT cell_id FROM run WHERE state = 'finished')"},
    {"targets to stop at have an origin",
     "SELECT 'cell ' || cell_id || ' stops at ' || stop_at || ', which no experiment of it says' "
     "FROM cell c WHERE stop_at <> 0 AND NOT EXISTS (SELECT 1 FROM experiment_cell m "
     "JOIN experiment e USING(experiment_id) WHERE m.cell_id = c.cell_id AND "
     "(abs(coalesce(e.target_value, 9) - stop_at) < 1e-9 OR instr(e.text, 'stop_at') > 0 OR "
     "instr(e.command_line, 'stop_at') > 0))"},
    // The columns of a stored target (kTargetColumns in results/records/targets.h) by position.
    {"derived targets follow from their runs",
     "WITH stored AS MATERIALIZED (SELECT study_run_id, iif(json_valid(v.value), v.value, '[]') "
     "AS line FROM study_run, json_each(iif(json_valid(content), content, '{}'), '$.rows') v "
     "WHERE name = 'target'), "
     "lines AS MATERIALIZED (SELECT study_run_id, json_extract(line, '$[0]') AS network, "
     "json_extract(line, '$[1]') AS dataset, json_extract(line, '$[2]') AS setting, "
     "json_extract(line, '$[4]') AS run_key, json_extract(line, '$[5]') AS started_utc, "
     "json_extract(line, '$[7]') AS best, json_extract(line, '$[8]') AS median, "
     "json_extract(line, '$[9]') AS target, json_extract(line, '$[10]') AS margin, "
     "json_extract(line, '$[11]') AS runs FROM stored) "
     "SELECT 'study run ' || study_run_id || ': no finished exact run ' || "
     "coalesce(run_key, '?') || ' of ' || coalesce(started_utc, '?') || ' has the accuracy ' || "
     "coalesce(best, '?') FROM lines l WHERE NOT EXISTS (SELECT 1 FROM cell c JOIN run r "
     "USING(cell_id) JOIN metric m USING(run_id) WHERE c.run_key = l.run_key AND "
     "c.method = 'dense' AND r.state = 'finished' AND r.started_utc = l.started_utc AND "
     "m.name = 'accuracy' AND abs(m.value - l.best) < 1e-9) UNION ALL "
     "SELECT 'study run ' || study_run_id || ': the target of ' || coalesce(network, '?') || "
     "' is not the median of its ' || count(*) || ' runs less the margin' FROM lines "
     "GROUP BY study_run_id, network, dataset, setting HAVING coalesce("
     "2 * sum(best <= median + 1e-9) < count(*) OR 2 * sum(best >= median - 1e-9) < count(*) OR "
     "min(abs(median - margin / 100.0 - target) < 1e-9) = 0 OR min(runs) <> count(*) OR "
     "max(runs) <> count(*), 1)"},
    {"what ended early is marked",
     "WITH ends AS (SELECT r.run_id, r.state, r.error, r.ended_by, c.stop_at, c.patience, CASE "
     "WHEN json_valid(recipe) "
     "THEN "
     "json_extract(recipe, '$.epochs') END AS epochs, (SELECT max(epoch) FROM metric m WHERE "
     "m.run_id = r.run_id AND name = 'accuracy' AND split = 'test') AS epoch, "
     "(SELECT max(value) FROM metric m WHERE m.run_id = r.run_id AND name = 'accuracy' AND "
     "split IN ('test', 'holdout')) AS best FROM run r JOIN cell c USING(cell_id) "
     "WHERE c.purpose = 'accuracy') "
     "SELECT 'run ' || run_id || ' is finished and ended in epoch ' || epoch || ' of ' || epochs "
     "FROM ends WHERE state = 'finished' AND stop_at = 0 AND ended_by <> 'patience' AND "
     "epoch < epochs - 1 UNION ALL "
     "SELECT 'run ' || run_id || ' ended in epoch ' || epoch || ' of ' || epochs || ' without "
     "reaching ' || stop_at FROM ends WHERE state = 'finished' AND stop_at > 0 AND "
     "ended_by <> 'patience' AND epoch < epochs - 1 AND best < stop_at UNION ALL "
     "SELECT 'run ' || run_id || ' was cut off and does not say why' FROM ends "
     "WHERE state IN ('timeout', 'oom') AND error = ''"},
    {"early ends have a cause",
     "WITH ended AS (SELECT r.run_id, ended_by, stop_at, patience, "
     "iif(EXISTS(SELECT 1 FROM metric m WHERE m.run_id = r.run_id AND name = 'accuracy' AND "
     "split = 'holdout'), 'holdout', 'test') AS judge FROM run r JOIN cell USING(cell_id) "
     "WHERE ended_by <> ''), "
     "judged AS (SELECT e.*, m.epoch, m.value FROM ended e JOIN metric m ON m.run_id = e.run_id "
     "AND "
     "m.name = 'accuracy' AND m.split = judge), "
     "spans AS (SELECT run_id, ended_by, stop_at, patience, max(value) AS best, max(epoch) - "
     "min(iif(value = (SELECT max(value) FROM judged b WHERE b.run_id = j.run_id), epoch, NULL)) "
     "AS since FROM judged j GROUP BY run_id) "
     "SELECT 'run ' || run_id || ' ended at a target of ' || stop_at || ', and its best accuracy "
     "is ' || best FROM spans WHERE ended_by = 'target' AND (stop_at <= 0 OR best < stop_at) "
     "UNION ALL "
     "SELECT 'run ' || run_id || ' ended by a patience of ' || patience || ' epochs, ' || since || "
     "' after its best' FROM spans WHERE ended_by = 'patience' AND (patience < 1 OR "
     "since < patience - 1e-6)"},
    {"numbers of papers are defined",
     "WITH reports AS (SELECT name, report FROM experiment WHERE json_valid(report)), "
     "entries AS (SELECT name, CASE json_type(report, '$.value') WHEN 'array' THEN "
     "json_extract(report, '$.value') WHEN 'object' THEN "
     "json_array(json(json_extract(report, '$.value'))) ELSE '[]' END AS list, "
     "json_type(report, '$.paper') AS common FROM reports), "
     "numbers AS (SELECT name, coalesce(json_extract(v.value, '$.quantity'), '') AS quantity, "
     "coalesce(json_extract(v.value, '$.unit'), '') AS unit, "
     "coalesce(json_extract(v.value, '$.basis'), 'measured-e2e') AS basis FROM entries, "
     "json_each(list) v WHERE v.type = 'object' AND (common IS NOT NULL OR "
     "json_type(v.value, '$.paper') IS NOT NULL)), "
     "lacks AS (SELECT name, CASE WHEN quantity = '' THEN 'quantity' WHEN basis NOT IN "
     "('measured-e2e', 'measured-kernel', 'measured-backward', 'estimated', 'count', 'unknown') "
     "THEN 'known basis' WHEN unit = '' AND quantity IN ('accuracy', 'accuracy_loss', 'time', "
     "'time_saved', 'compute_reduction') THEN 'unit' END AS lack FROM numbers) "
     "SELECT name || ': a number of the paper has no ' || lack FROM lacks "
     "WHERE lack IS NOT NULL"},
    {"cells belong to an experiment",
     "SELECT 'cell ' || cell_id || ' is in no experiment' FROM cell "
     "WHERE cell_id NOT IN (SELECT cell_id FROM experiment_cell WHERE cell_id IS NOT NULL)"},
    {"views agree with tables",
     "WITH base AS (SELECT count(*) AS n FROM (SELECT cell_id, state, "
     "row_number() OVER (PARTITION BY cell_id ORDER BY attempt DESC) AS nth, run_id "
     "FROM run WHERE state IN ('finished', 'diverged')) JOIN cell USING(cell_id) "
     "WHERE nth = 1 AND state = 'finished' AND purpose = 'accuracy' AND stop_at = 0 AND "
     "patience = 0 AND run_id IN "
     "(SELECT run_id FROM metric m WHERE name = 'accuracy' AND split = 'test' GROUP BY run_id "
     "HAVING sum(step = (SELECT max(step) FROM metric x WHERE x.run_id = m.run_id "
     "AND x.name = 'accuracy' AND x.split = 'test') AND value IS NOT NULL) = 1)) "
     "SELECT 'v_final has ' || (SELECT count(*) FROM v_final) || ' rows, the tables ' || n "
     "FROM base WHERE n <> (SELECT count(*) FROM v_final)"},
};

// Columns that hold JSON, as table.column.
constexpr std::pair<const char*, const char*> kJsonColumns[] = {{"host", "detail"},
                                                                {"experiment", "report"},
                                                                {"cell", "recipe"},
                                                                {"cell", "config"},
                                                                {"run", "taint"},
                                                                {"run", "environment"},
                                                                {"kernel_run", "environment"},
                                                                {"study_run", "params"},
                                                                {"study_run", "methods"},
                                                                {"study_run", "environment"},
                                                                {"study_run", "content"},
                                                                {"kernel_case", "shape"},
                                                                {"kernel_result", "special"},
                                                                {"kernel_result", "held_back"}};

constexpr const char* kJsonRule = "JSON is valid";
constexpr const char* kLockRule = "running rows have a process";

}  // namespace

std::vector<std::string> check_rules() {
  std::vector<std::string> names;
  for (const auto& rule : kRules) names.emplace_back(rule.name);
  names.emplace_back(kJsonRule);
  names.emplace_back(kLockRule);
  return names;
}

std::vector<std::string> check_store(const std::string& path) {
  StoreOptions options;
  options.check_pages = false;
  auto db = open_snapshot(path, options);
  std::vector<std::string> violations;
  const auto add = [&](const char* rule, const std::string& what) {
    violations.push_back(fmt::format("{}: {}", rule, what));
  };
  try {
    for (const auto& rule : kRules) {
      for_each_row(db, rule.sql,
                   [&](SQLite::Statement& row) { add(rule.name, row.getColumn(0).getString()); });
    }
    for (const auto& [table, column] : kJsonColumns) {
      int64_t number = 0;
      for_each_row(db, fmt::format("SELECT {} FROM {}", column, table),
                   [&, table = table, column = column](SQLite::Statement& row) {
                     ++number;
                     if (Json::accept(row.getColumn(0).getString())) return;
                     add(kJsonRule, fmt::format("{}.{} of row {}", table, column, number));
                   });
    }
    for_each_row(
        db, "SELECT run_id, run_directory FROM run WHERE state = 'running' ORDER BY run_id",
        [&](SQLite::Statement& row) {
          const RunningRow running{row.getColumn(0).getInt64(), text_at(row, 1)};
          if (!gone(running)) return;
          add(kLockRule, fmt::format("run {} is lost; the next sweep settles it", running.run_id));
        });
  } catch (const SQLite::Exception& error) {
    throw_database_error(path, error);
  }
  return violations;
}

void backup_store(const std::string& path, const std::string& out) {
  auto db = open_snapshot(path);
  save_store(db, out);
}

SchemaChange migrate_store(const std::string& path, const StoreOptions& options) {
  check_named(path);
  const auto version = [&] {
    int64_t found = 0;
    with_retry(path, options, [&] {
      // For writing, by which SQLite takes back what a killed program left half done.
      SQLite::Database db(sqlite_name(path), SQLite::OPEN_READWRITE);
      found = db.execAndGet("PRAGMA user_version").getInt64();
    });
    return found;
  };
  if (!std::filesystem::exists(path)) throw database_error("{}: there is no such database", path);
  SchemaChange change{.from = version(), .to = 0};
  { open_for_writing(path, options); }
  change.to = version();
  return change;
}

}  // namespace approx
