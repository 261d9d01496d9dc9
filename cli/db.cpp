// `approxtrain db`: looking after the store.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/outputs.h"
#include "cli/command.h"
#include "cli/db_target.h"
#include "cli/flags.h"
#include "cli/text.h"
#include "results/reports/export.h"
#include "results/store/database.h"
#include "results/store/garbage.h"
#include "results/store/maintenance.h"
#include "results/store/merge.h"
#include "results/store/rebuild.h"

namespace approx {
namespace {

void check(const std::string& db) {
  const auto violations = check_store(db);
  for (const auto& violation : violations)
    std::fputs((printable(violation) + "\n").c_str(), stdout);
  if (!violations.empty()) {
    throw Error(ErrorKind::kGate, fmt::format("{}: {} violations of {} rules", db,
                                              violations.size(), check_rules().size()));
  }
  std::fputs(fmt::format("{}: {} rules hold\n", printable(db), check_rules().size()).c_str(),
             stderr);
}

void migrate(const std::string& db) {
  const auto [from, to] = migrate_store(db);
  const std::string text =
      from == to ? fmt::format("{}: has schema {}, which is this program's", db, to)
                 : fmt::format("{}: schema {} became {}; the old database is in {}.v{}.backup", db,
                               from, to, db, from);
  std::fputs((printable(text) + "\n").c_str(), stderr);
}

std::string merged_text(const std::string& db, const MergeCounts& counts) {
  std::string text =
      fmt::format("{}: {} results added, {} were there already", db, counts.added, counts.present);
  if (counts.running > 0) {
    text += fmt::format(
        "; {} left out, which are running or whose sweep died: merge again when they have ended",
        counts.running);
  }
  return printable(text) + "\n";
}

// The databases in a folder, without `into`, which already has its own runs.
std::vector<std::string> databases_in(const std::vector<std::string>& paths,
                                      const std::string& into) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const auto& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      if (is_same_place(path, into)) {
        throw usage_error("{}: is the database that the others are merged into; leave it out",
                          path);
      }
      files.push_back(path);
      continue;
    }
    const auto before = static_cast<std::ptrdiff_t>(files.size());
    for (const auto& file : fs::directory_iterator(path, error)) {
      const auto& name = file.path();
      if (name.extension() == ".db" && !is_same_place(name.string(), into)) {
        files.push_back(name.string());
      }
    }
    std::sort(files.begin() + before, files.end());
    if (static_cast<size_t>(before) == files.size()) {
      throw usage_error("{}: no file in it ends in .db", path);
    }
  }
  return files;
}

// For a database that is to be created: an existing file is never replaced, whatever its name.
void check_new(const std::string& out) {
  std::error_code ignored;
  if (!std::filesystem::exists(out, ignored)) check_output(out);
}

void rebuild(const std::string& db, const std::string& out, int64_t journal) {
  const Rebuilt rebuilt = rebuild_store(db, out, journal);
  for (const auto& what : rebuilt.missing) {
    std::fputs(fmt::format("missing: {}\n", printable(what)).c_str(), stderr);
  }
  for (const int64_t number : rebuilt.more_journals) {
    std::fputs(fmt::format("journal {} is of another database that was here: approxtrain db "
                           "rebuild OUT --journal {}\n",
                           number, number)
                   .c_str(),
               stderr);
  }
  if (!rebuilt.old_journal.empty()) {
    std::fputs(fmt::format("{} belongs to the old database: move both away before the new one "
                           "takes its place, or SQLite applies it to the new one\n",
                           printable(rebuilt.old_journal))
                   .c_str(),
               stderr);
  }
  std::fputs(fmt::format("{}: {} runs, {} kernel benchmarks, {} studies; {}\n", printable(out),
                         rebuilt.runs, rebuilt.kernel_runs, rebuilt.study_runs,
                         rebuilt.missing.empty() ? "nothing is missing" : "not all of it")
                 .c_str(),
             stderr);
}

void print_garbage(const GarbageFound& found, const GarbageOptions& options) {
  std::map<std::string, std::pair<int64_t, int64_t>> sums;  // how many, bytes
  int64_t bytes = 0;
  for (const auto& one : found.garbage) {
    auto& [count, size] = sums[one.what];
    ++count, size += one.bytes, bytes += one.bytes;
    std::fputs((printable(one.path) + "\n").c_str(), stdout);
  }
  std::fflush(stdout);
  for (const auto& what : found.kept) {
    std::fputs(fmt::format("kept: {}\n", printable(what)).c_str(), stderr);
  }
  for (const auto& [what, sum] : sums) {
    std::fputs(fmt::format("{} {}: {}\n", sum.first, what, format_size(sum.second)).c_str(),
               stderr);
  }
  std::fputs(
      fmt::format("{} {}\n", format_size(bytes), options.dry_run ? "would be freed" : "are freed")
          .c_str(),
      stderr);
}

void add_rebuild(CLI::App& db, const GlobalOptions& options) {
  struct Flags {
    std::string out;
    int64_t journal = 0;
  };
  const auto flags = std::make_shared<Flags>();
  auto* command = db.add_subcommand(
      "rebuild",
      "Make a lost or damaged database again, from its journal and the logs of its runs");
  command->footer("approxtrain db rebuild saved.db --db lost.db");
  command->add_option("OUT", flags->out,
                      "Path of the new database; no file may be there (default: --db)");
  add_integer(*command, "--journal", flags->journal, 1, 1'000'000'000,
              "number of the journal, if another database stood here before (default: the last)");
  command->callback([flags, &options] {
    if (!flags->out.empty() && !is_same_place(flags->out, options.db)) check_new(flags->out);
    rebuild(options.db, flags->out.empty() ? options.db : flags->out, flags->journal);
  });
}

void add_gc(CLI::App& db, const GlobalOptions& options) {
  const auto flags = std::make_shared<GarbageOptions>();
  auto* command = db.add_subcommand("gc", "Remove what no result needs, and compact the database");
  command->footer("approxtrain db gc --dry-run --db results.db");
  command->add_flag("--finished", flags->finished,
                    "remove also the folders of runs whose results are in the database");
  command->add_flag("--backups", flags->backups,
                    "remove also the copies that were made before a migration");
  command->add_flag("--dry-run", flags->dry_run, "show what would be removed; remove nothing");
  command->callback([flags, &options] {
    collect_garbage(options.db, *flags,
                    [&](const GarbageFound& found) { print_garbage(found, *flags); });
  });
}

}  // namespace

void add_db(CLI::App& app, GlobalOptions& options) {
  auto* db = app.add_subcommand("db", "Check, copy, merge and export the database of results");
  db->footer("approxtrain db check --db results.db");
  db->require_subcommand(1);

  auto* checked = db->add_subcommand(
      "check", "Check whether the stored numbers can be trusted; exit code 4 if not");
  checked->footer("approxtrain db check --db results.db");
  checked->callback([&options] { check(options.db); });

  const auto out = std::make_shared<std::string>();
  auto* backup = db->add_subcommand("backup", "Make a complete copy, also while a sweep runs");
  backup->footer("approxtrain db backup copy.db --db results.db");
  backup->add_option("OUT", *out, "Path of the copy; no file may be there")->required();
  backup->callback([out, &options] {
    check_new(*out);
    backup_store(options.db, *out);
  });

  const auto folder = std::make_shared<std::string>();
  auto* export_tables = db->add_subcommand("export", "Write every table as a CSV file");
  export_tables->footer("approxtrain db export tables --db results.db");
  export_tables->add_option("FOLDER", *folder, "Folder of the CSV files; made if it is missing")
      ->required();
  export_tables->callback([folder, &options] {
    check_output(*folder);
    for (const auto& path : export_store(Snapshot(options.db), *folder)) {
      std::fputs((path + "\n").c_str(), stdout);
    }
  });

  auto* migrated = db->add_subcommand(
      "migrate", "Change the database to this program's schema, as the next sweep would");
  migrated->footer("approxtrain db migrate --db results.db");
  migrated->callback([&options] { migrate(options.db); });

  const auto others = std::make_shared<std::vector<std::string>>();
  auto* merge = db->add_subcommand("merge", "Copy the results of other databases into this one");
  merge->footer("approxtrain db merge theirs.db others/ --db results.db");
  merge->add_option("FILE", *others, "Other databases, or folders of them; they are only read")
      ->required();
  merge->callback([others, &options] {
    const auto counts = merge_stores(options.db, databases_in(*others, options.db));
    std::fputs(merged_text(options.db, counts).c_str(), stderr);
  });

  add_rebuild(*db, options);
  add_gc(*db, options);
  add_db_target(*db, options);

  auto* schema = db->add_subcommand("schema", "Print the tables and views of a database as SQL");
  schema->footer("approxtrain db schema");
  schema->callback([] { std::fputs(schema_text().c_str(), stdout); });
}

}  // namespace approx
