// study: numbers about methods that need no training, or only a few steps of one. The studies and
// their flags are the catalogue's.
#include "cli/study.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/error.h"
#include "base/known_names.h"
#include "cli/command.h"
#include "cli/engine_loader.h"
#include "cli/environment.h"
#include "cli/flags.h"
#include "cli/python_flags.h"
#include "cli/store.h"
#include "cli/tables.h"
#include "cli/text.h"
#include "core/config/catalogue.h"
#include "core/config/dense.h"
#include "core/data/dataset.h"
#include "core/experiment/files.h"
#include "core/experiment/recipe_reader.h"

namespace approx {
namespace {

// The study whose methods may be in Python: it times nothing.
constexpr std::string_view kOfGradients = "gradient-error";

struct StudyFlags {
  std::map<std::string, std::string> params;
  std::string methods;
  PythonFlags python;
  std::string format;  // "": for a person
  int64_t threads = 1;
  bool no_store = false;
  bool require_clean = false;
  bool quiet = false;              // print no table
  std::string experiment;          // the id of the one that asks for it
  std::vector<std::string> files;  // of that experiment
  std::string asked_by;            // its file: recipes are looked for beside it
};

std::string cell_text(const Json& cell, bool exact) {
  if (cell.is_null()) return exact ? "" : "–";
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_number_float()) {
    return exact ? shortest(cell.get<double>()) : fmt::format("{:.4g}", cell.get<double>());
  }
  return cell.dump();
}

void run_study(const StudyInfo& info, const StudyFlags& flags, const GlobalOptions& options) {
  Spec spec{info.name, {}};
  for (const auto& [name, value] : flags.params) spec.arguments.emplace_back(name, value);
  StudyRequest request{
      .params = Params(info.params, spec),
      .methods = flags.methods.empty() ? info.methods : split_methods(flags.methods),
      .place = {.data_dir = options.data_dir}};
  const auto given = [&](const char* param) {
    const auto& params = info.params;
    const bool known = std::any_of(params.begin(), params.end(),
                                   [&](const auto& spec) { return spec.name == param; });
    return known ? request.params.text(param) : std::string();
  };
  auto files = flags.files;
  if (const auto recipe = given("recipe"); !recipe.empty()) {
    request.recipe = load_recipe(recipe, flags.asked_by);
    files.push_back(find_recipe(recipe, flags.asked_by).string());
  }
  if (flags.require_clean) require_clean(files);
  for (auto& method : request.methods) {
    if (is_mixed(parse_spec(method).name)) {
      throw usage_error(
          "study: --method: \"mixed\" is not a method; name the methods that it mixes");
    }
    method = Catalogue::embedded().method_params(method).to_string();
  }
  const auto* python = python_of(request.methods);
  // Before minutes of computing rather than after them.
  std::optional<RunStore> store;
  if (!flags.no_store) store.emplace(open_store(options));
  Engine& engine = load_engine();
  if (python != nullptr) use_in_engine(*python, /*network=*/"");
  Json table = engine.study(info.name, request, flags.threads);
  if (store) {
    Json environment = merged_environment(engine.environment());
    environment["threads"] = flags.threads;
    const auto device = given("device");
    environment["device"] = device.empty() ? "cpu" : device;
    if (const auto name = given("dataset"); !name.empty()) {
      const auto data = open_dataset(name, options.data_dir, /*verify=*/false);
      environment["dataset"] = {{"name", data.name},
                                {"variant", data.variant},
                                {"sha256", data.sha256},
                                {"lossy", data.lossy}};
    }
    mark_changed(environment, changed_experiments(files));
    Json params = Json::object();
    for (const auto& [name, value] : parse_spec(request.params.full_text()).arguments) {
      params[name] = value;
    }
    store->add_study(environment,
                     {.experiment = flags.experiment,
                      .name = info.name,
                      .params = params,
                      .methods = request.methods,
                      .content = {{"columns", table["columns"]}, {"rows", table["rows"]}}});
  }
  if (flags.quiet) return;
  if (flags.format == "json") {
    table["schema"] = "approxtrain.table/1";
    table["study"] = info.name;
    std::fputs((json_text(table, 1) + "\n").c_str(), stdout);
    return;
  }
  const bool exact = flags.format == "csv";
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : table["rows"]) {
    auto& texts = rows.emplace_back();
    for (const auto& cell : row) texts.push_back(cell_text(cell, exact));
  }
  const auto header = table["columns"].get<std::vector<std::string>>();
  // What all rows have alike stands above them.
  const ForScreen screen = {.keys = rows.size() > 1 ? header : TextRow()};
  std::fputs(rows_text(header, rows, {.format = flags.format}, screen).c_str(), stdout);
}

std::string help_of(const ParamSpec& param) {
  const std::string fallback = value_text(param.fallback);
  return fallback.empty() ? param.help : fmt::format("{} (default {})", param.help, fallback);
}

std::string type_of(const ParamSpec& param) {
  if (!param.choices.empty()) return fmt::format("{}", fmt::join(param.choices, "|"));
  return std::holds_alternative<std::string>(param.fallback) ? "NAME" : "N";
}

}  // namespace

void run_study_item(const Experiment& experiment, const StudyItem& item,
                    const GlobalOptions& options) {
  std::vector<std::string> known;
  for (const auto& info : Catalogue::embedded().studies) {
    known.push_back(info.name);
    if (info.name != item.name) continue;
    StudyFlags flags;
    flags.params = {item.params.begin(), item.params.end()};
    flags.methods = fmt::format("{}", fmt::join(item.methods, ","));
    flags.quiet = true;
    flags.experiment = experiment.id;
    flags.files = experiment.files;
    flags.asked_by = experiment.source;
    return run_study(info, flags, options);
  }
  throw usage_error("{}: study.name: no study \"{}\"{}", experiment.source, item.name,
                    known_names(item.name, known));
}

void add_study(CLI::App& app, GlobalOptions& options) {
  auto* command = app.add_subcommand("study", "Compute what the papers show without training");
  command->footer("approxtrain study matmul-error --runs 100 --format csv");
  command->require_subcommand(1);
  for (const auto& info : Catalogue::embedded().studies) {
    auto* study = command->add_subcommand(info.name, info.summary);
    study->footer(fmt::format("approxtrain study {} --format csv", info.name));
    const auto flags = std::make_shared<StudyFlags>();
    for (const auto& param : info.params) {
      study
          ->add_option_function<std::string>(
              "--" + param.name,
              [flags, name = param.name](const std::string& text) { flags->params[name] = text; },
              help_of(param))
          ->type_name(type_of(param));
    }
    if (!info.methods.empty()) {
      study
          ->add_option("--method", flags->methods,
                       fmt::format("methods (default {})", fmt::join(info.methods, ", ")))
          ->type_name("NAME,...");
      if (info.name == kOfGradients) add_python_flags(*study, flags->python, nullptr);
    }
    add_integer(*study, "--threads", flags->threads, 1, 4096,
                "threads of the computation (default 1)");
    add_choice(*study, "--format", flags->format, {"md", "csv", "json"},
               "Markdown, CSV or JSON (default: Markdown, on a terminal a table that fits it)");
    study->add_flag("--no-store", flags->no_store, "keep no record in the database");
    add_require_clean(*study, flags->require_clean);
    study->callback([&info, flags, &options] {
      use_python(flags->python);
      run_study(info, *flags, options);
    });
  }
}

}  // namespace approx
