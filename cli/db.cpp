// `approxtrain db`: looking after the store.
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "results/reports/export.h"
#include "results/store/database.h"
#include "results/store/maintenance.h"
#include "results/store/merge.h"

namespace approx {
namespace {

void check(const std::string& db) {
  const auto violations = check_store(db);
  for (const auto& violation : violations) std::fputs((violation + "\n").c_str(), stdout);
  if (!violations.empty()) {
    throw Error(ErrorKind::kGate, fmt::format("{}: {} violations of {} rules", db,
                                              violations.size(), check_rules().size()));
  }
  std::fputs(fmt::format("{}: {} rules hold\n", db, check_rules().size()).c_str(), stderr);
}

void migrate(const std::string& db) {
  const auto [from, to] = migrate_store(db);
  const std::string text =
      from == to ? fmt::format("{}: has schema {}, which is this program's\n", db, to)
                 : fmt::format("{}: schema {} became {}; what it was is in {}.v{}.backup\n", db,
                               from, to, db, from);
  std::fputs(text.c_str(), stderr);
}

std::string merged_text(const std::string& db, const MergeCounts& counts) {
  std::string text =
      fmt::format("{}: {} results taken in, {} were there", db, counts.added, counts.present);
  if (counts.running > 0) {
    text += fmt::format(
        "; {} left out, which are running or whose sweep died: merge again when it "
        "is over",
        counts.running);
  }
  return text + "\n";
}

}  // namespace

void add_db(CLI::App& app, GlobalOptions& options) {
  auto* db = app.add_subcommand("db", "Check, copy, merge and export the store of results");
  db->require_subcommand(1);

  db->add_subcommand("check", "Whether the stored numbers may be trusted; exit 4 if not")
      ->callback([&options] { check(options.db); });

  const auto out = std::make_shared<std::string>();
  auto* backup = db->add_subcommand("backup", "A complete copy, also while a sweep runs");
  backup->add_option("OUT", *out, "The copy; must not exist")->required();
  backup->callback([out, &options] { backup_store(options.db, *out); });

  const auto folder = std::make_shared<std::string>();
  auto* export_tables = db->add_subcommand("export", "Every table as a CSV file");
  export_tables->add_option("FOLDER", *folder, "Made where it is missing")->required();
  export_tables->callback([folder, &options] {
    for (const auto& path : export_store(options.db, *folder)) {
      std::fputs((path + "\n").c_str(), stdout);
    }
  });

  db->add_subcommand("migrate", "Bring it to this program's schema, as the next sweep would")
      ->callback([&options] { migrate(options.db); });

  const auto others = std::make_shared<std::vector<std::string>>();
  auto* merge = db->add_subcommand("merge", "Take what is in other databases into this one");
  merge->add_option("FILE", *others, "The others; only read")->required();
  merge->callback([others, &options] {
    const auto counts = merge_stores(options.db, *others);
    std::fputs(merged_text(options.db, counts).c_str(), stderr);
  });

  db->add_subcommand("schema", "Its tables and views as SQL")->callback([] {
    std::fputs(schema_text().c_str(), stdout);
  });
}

}  // namespace approx
