// doctor: what this machine has and lacks, and what to do about it.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/disk.h"
#include "base/error.h"
#include "base/user_folders.h"
#include "cli/command.h"
#include "cli/doctor/findings.h"
#include "cli/engine_loader.h"
#include "cli/environment.h"
#include "cli/flags.h"
#include "cli/plot.h"
#include "cli/tables.h"
#include "cli/text.h"
#include "core/data/dataset.h"
#include "results/store/maintenance.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

Finding program() {
  const Json own = program_environment();
  const bool dirty = own.value("dirty", false);
  Finding finding{
      .what = "program",
      .found = fmt::format("{} ({}{}, {})", own["version"].get<std::string>(),
                           own["git_sha"].get<std::string>().substr(0, 12), dirty ? "-dirty" : "",
                           own["build_type"].get<std::string>())};
  if (own["build_type"] != "Release") {
    finding.severity = Severity::kNote;
    finding.fix = "for timings: scripts/build, which makes a release";
  } else if (dirty) {
    finding.severity = Severity::kNote;
    finding.fix = "commit the changes: reports mark what such a build computes";
  }
  return finding;
}

// LibTorch, and `environment` what the library says of itself.
Finding library(Json& environment) {
  try {
    environment = merged_environment(load_engine().environment());
    const auto text = [&](const char* key) {
      const auto value = environment.value(key, Json());
      return value.is_string() ? value.get<std::string>() : value.dump();
    };
    Finding finding{.what = "LibTorch",
                    .found = fmt::format("{}, {}", text("torch"), text("cpu_capability"))};
    // Set by hand, or where the processor announces AMX tiles that it does not describe.
    if (const char* held = std::getenv("ONEDNN_MAX_CPU_ISA")) {
      finding.found += fmt::format(", oneDNN held to {}", printable(held));
    }
    return finding;
  } catch (const Error& error) {
    return {.severity = Severity::kFault,
            .what = "LibTorch",
            .found = error.what(),
            .fix = "scripts/setup, then scripts/build"};
  }
}

// Whether a GPU can be computed on; opened only where there is a driver, which takes seconds.
Finding gpu(const Machine& machine, Json& environment) {
  if (machine.nvidia_driver.empty()) {
    return {.what = "GPU", .found = "no NVIDIA driver: runs with --device cuda are not possible"};
  }
  try {
    const ConvShape shape{.label = "probe", .batch = 1, .size = 3};
    load_engine().kernel_choices(shape, Product::kWeightGradient, {}, {.device = "cuda"});
    environment = merged_environment(load_engine().environment());
    const Json model = environment.value("gpu_model", Json());
    return {.what = "GPU",
            .found =
                fmt::format("{}, driver {}", model.is_string() ? model.get<std::string>() : "a GPU",
                            machine.nvidia_driver)};
  } catch (const Error& error) {
    return {.severity = Severity::kNote,
            .what = "GPU",
            .found = error.what(),
            .fix = fmt::format("driver {} is there: see docs/install.md for the CUDA build",
                               machine.nvidia_driver)};
  }
}

Finding data_sets(const std::string& folder) {
  std::vector<std::string> there;
  for (const auto* entry : Registry<DatasetEntry>::instance().all()) {
    if (is_at_hand(*entry, folder)) there.push_back(entry->name);
  }
  return {.what = "data sets",
          .found = fmt::format("{} (approxtrain data list)", fmt::join(there, ", "))};
}

Finding store(const std::string& db) {
  std::error_code error;
  if (db.empty()) {
    return {.severity = Severity::kNote,
            .what = "database",
            .found = "no folder for the default one: " + data_folder().problem,
            .fix = "give --db and --data-dir, or set HOME"};
  }
  if (!fs::exists(db, error)) return {.what = "database", .found = printable(db) + ": none yet"};
  try {
    const auto violations = check_store(db);
    if (violations.empty()) {
      return {.what = "database",
              .found = fmt::format("{}: {} rules hold", printable(db), check_rules().size())};
    }
    return {.severity = Severity::kNote,
            .what = "database",
            .found = fmt::format("{}: {} violations, the first: {}", printable(db),
                                 violations.size(), violations.front()),
            .fix = "approxtrain db check shows all; docs/internals/store.md says what they mean"};
  } catch (const Error& failure) {
    return {.severity = Severity::kFault,
            .what = "database",
            .found = failure.what(),
            .fix = "keep the file; choose another with --db"};
  }
}

Finding figures() {
  try {
    if (can_draw()) return {.what = "figures", .found = "gnuplot"};
  } catch (const Error& error) {
    return {.severity = Severity::kNote,
            .what = "figures",
            .found = error.what(),
            .fix = "set TMPDIR to a folder to write in"};
  }
  return {.severity = Severity::kNote,
          .what = "figures",
          .found = "no gnuplot: reports have tables alone",
          .fix = "apt-get install gnuplot-nox"};
}

void examine(const std::string& format, const GlobalOptions& options) {
  const Machine machine = read_machine();
  Json environment = program_environment();
  std::vector<Finding> findings = {program(), library(environment)};
  for (auto& finding : machine_findings(machine)) findings.push_back(std::move(finding));
  findings.push_back(gpu(machine, environment));
  if (!options.db.empty()) {
    const auto results = existing_folder(fs::absolute(options.db).parent_path());
    findings.push_back(disk_finding("disk of results", results, free_bytes(results)));
  }
  if (!options.data_dir.empty()) {
    const auto data = existing_folder(fs::absolute(options.data_dir));
    findings.push_back(disk_finding("disk of data sets", data, free_bytes(data)));
  }
  findings.push_back(data_sets(options.data_dir));
  findings.push_back(store(options.db));
  findings.push_back(figures());

  bool any_fault = false;
  Json rows = Json::array();
  std::vector<std::vector<std::string>> table;
  for (const auto& finding : findings) {
    any_fault = any_fault || finding.severity == Severity::kFault;
    rows.push_back({{"what", finding.what},
                    {"state", finding.severity},
                    {"found", finding.found},
                    {"fix", finding.fix}});
    table.push_back(
        {finding.what, std::string(name(finding.severity)), finding.found, finding.fix});
  }
  if (format == "json") {
    const Json document = {
        {"schema", "approxtrain.doctor/1"}, {"findings", rows}, {"environment", environment}};
    std::fputs((json_text(document, 2) + "\n").c_str(), stdout);
  } else {
    const TextRow header = {"what", "state", "found", "what to do"};
    std::fputs(rows_text(header, table, {.format = format}).c_str(), stdout);
  }
  if (any_fault) throw Exit{static_cast<int>(ErrorKind::kGate)};
}

}  // namespace

void add_doctor(CLI::App& app, GlobalOptions& options) {
  auto* command =
      app.add_subcommand("doctor", "Check this machine, and say what to do about what it lacks");
  command->footer("approxtrain doctor");
  const auto format = std::make_shared<std::string>();
  add_choice(*command, "--format", *format, {"md", "json"},
             "Markdown or JSON (default: Markdown, on a terminal a table that fits it)");
  command->callback([format, &options] { examine(*format, options); });
}

}  // namespace approx
