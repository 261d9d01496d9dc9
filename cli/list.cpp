// `approxtrain list`: what there is to name in an experiment, with parameters, ranges and sources.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <span>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/machine.h"
#include "cli/tables.h"
#include "cli/text.h"
#include "core/config/catalogue.h"
#include "core/config/dense.h"
#include "core/config/named_schedule.h"
#include "core/data/dataset.h"
#include "core/experiment/experiment.h"
#include "core/experiment/files.h"
#include "results/records/items.h"
#include "results/records/snapshot.h"
#include "results/render/verdict.h"

namespace approx {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// What one `list` subcommand shows: the same things twice, as a table and as JSON objects.
struct Listing {
  std::vector<std::string> header;
  Rows rows;
  Json json = Json::array();
  ForScreen screen = {};
};

std::string bound_text(const ParamSpec& param, double bound) {
  return std::holds_alternative<int64_t>(param.fallback) ? fmt::format("{:.0f}", bound)
                                                         : fmt::format("{:g}", bound);
}

// "k=1 (1 or more); scale=equal (equal, signed)".
std::string parameters_text(const std::vector<ParamSpec>& params) {
  std::vector<std::string> parts;
  for (const auto& param : params) {
    std::string text = fmt::format("{}={}", param.name, value_text(param.fallback));
    if (!param.at_most.empty()) {
      text += fmt::format(" ({} to {})", bound_text(param, param.min), param.at_most);
    } else if (param.step > 1) {
      text += fmt::format(" ({0}, {1}, ...)", bound_text(param, param.min),
                          bound_text(param, param.min + static_cast<double>(param.step)));
    } else if (!param.choices.empty()) {
      text += fmt::format(" ({})", fmt::join(param.choices, ", "));
    } else if (std::isfinite(param.min) && std::isfinite(param.max)) {
      text +=
          fmt::format(" ({} to {})", bound_text(param, param.min), bound_text(param, param.max));
    } else if (std::isfinite(param.min)) {
      text += fmt::format(" ({} or more)", bound_text(param, param.min));
    } else if (std::isfinite(param.max)) {
      text += fmt::format(" (at most {})", bound_text(param, param.max));
    }
    parts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string source_text(const EntryInfo& info) {
  if (info.paper_at.empty()) return info.paper;
  return fmt::format("{}, {}", info.paper, info.paper_at);
}

Json entry_json(const EntryInfo& info) {
  return Json{{"name", info.name},         {"summary", info.summary}, {"paper", info.paper},
              {"paper_at", info.paper_at}, {"version", info.version}, {"params", info.params}};
}

Listing list_methods(const GlobalOptions& /*options*/) {
  const auto& catalogue = Catalogue::embedded();
  Listing listing{{"method", "parameters", "products", "source", "summary"}};
  const auto add = [&listing](const MethodInfo& info) {
    std::vector<std::string_view> products;
    for (const auto product : info.products) products.push_back(name(product));
    listing.rows.push_back({info.name, parameters_text(info.params),
                            fmt::format("{}", fmt::join(products, ", ")), source_text(info),
                            info.summary});
    listing.json.push_back(Json(info));
  };
  add(catalogue.method(kDense));
  add(catalogue.method(kMixed));
  for (const auto& info : catalogue.methods) add(info);
  return listing;
}

Listing list_schedules(const GlobalOptions& /*options*/) {
  Listing listing{{"schedule", "parameters", "source", "summary"}};
  for (const auto* entry : Registry<ScheduleEntry>::instance().all()) {
    listing.rows.push_back(
        {entry->name, parameters_text(entry->params), source_text(*entry), entry->summary});
    listing.json.push_back(entry_json(*entry));
  }
  return listing;
}

Listing list_selections(const GlobalOptions& /*options*/) {
  Listing listing{{"selection", "parameters", "source", "summary"}};
  for (const auto& info : Catalogue::embedded().selections) {
    listing.rows.push_back(
        {info.name, parameters_text(info.params), source_text(info), info.summary});
    listing.json.push_back(Json(info));
  }
  return listing;
}

Listing list_networks(const GlobalOptions& /*options*/) {
  Listing listing{
      {"network", "parameters", "weights", "MACs", "convolutions", "input", "source", "summary"}};
  for (const auto& info : Catalogue::embedded().networks) {
    const auto convolutions = std::count_if(info.layers.begin(), info.layers.end(),
                                            [](const LayerInfo& layer) { return layer.is_conv(); });
    listing.rows.push_back({info.name, parameters_text(info.params),
                            std::to_string(info.parameters), std::to_string(info.macs),
                            std::to_string(convolutions),
                            fmt::format("{}x{}x{}", info.size, info.size, info.channels),
                            source_text(info), info.summary});
    listing.json.push_back(Json(info));
    listing.json.back()["convolutions"] = convolutions;
  }
  return listing;
}

Listing list_datasets(const GlobalOptions& /*options*/) {
  Listing listing{{"data set", "classes", "image", "train", "test", "summary"}};
  for (const auto* entry : Registry<DatasetEntry>::instance().all()) {
    listing.rows.push_back({entry->name, std::to_string(entry->classes),
                            fmt::format("{}x{}x{}", entry->height, entry->width, entry->channels),
                            std::to_string(entry->n_train), std::to_string(entry->n_test),
                            entry->summary});
    Json json = entry_json(*entry);
    json.update(Json{{"classes", entry->classes},
                     {"channels", entry->channels},
                     {"height", entry->height},
                     {"width", entry->width},
                     {"train", entry->n_train},
                     {"test", entry->n_test}});
    listing.json.push_back(std::move(json));
  }
  return listing;
}

// Whether a file does not leave the run out.
bool is_planned(const PlannedRun& run) { return run.excluded.empty() || run.excluded == kNotTuned; }

int64_t count_planned(const Experiment& experiment) {
  return std::count_if(experiment.runs().begin(), experiment.runs().end(), is_planned);
}

// A file that cannot be read is said so on stderr and hides no other.
Listing list_experiments(const GlobalOptions& /*options*/) {
  Listing listing{{"experiment", "runs", "title", "file"}};
  for (const auto& [name, path] : known_experiments()) {
    try {
      const auto experiment = load_layout(path, Catalogue::embedded());
      const auto runs = count_planned(experiment);
      listing.rows.push_back({"@" + name, std::to_string(runs), experiment.title, printable(path)});
      listing.json.push_back(
          Json{{"name", name}, {"runs", runs}, {"title", experiment.title}, {"file", path}});
    } catch (const Error& error) {
      std::cerr << printable(error.what()) << '\n';
    }
  }
  return listing;
}

// What items of papers are held against: the store, and what this machine has to go on with.
struct AtHand {
  const StoredItems& stored;
  std::string data_dir;
  bool gpu = false;
};

// "12 of 60 runs, 5 timing runs" of one scale, the latter asked for beside what its file plans; or
// why there are none.
std::string state_text(const Experiment& item, const AtHand& at_hand) {
  if (item.as<NotRunItem>()) return std::string(name(Verdict::kNotRun));
  if (item.as<PictureItem>()) return "a picture";
  const auto found = at_hand.stored.all().find(item.id);
  const StoredItem has = found == at_hand.stored.all().end() ? StoredItem() : found->second;
  if (!item.as<Trainings>()) return has.item_results > 0 ? "done" : "to do";
  auto text = fmt::format("{} of {} runs", at_hand.stored.finished_runs(item), count_planned(item));
  for (const auto& [purpose, count] : at_hand.stored.finished_beside(item)) {
    text += fmt::format(", {} {} {}", count, name(purpose), count == 1 ? "run" : "runs");
  }
  return text;
}

// What runs of the item want and this machine has not, in their order: data sets, "a GPU".
std::vector<std::string> lacking(const Experiment& item, const AtHand& at_hand) {
  std::vector<std::string> lacks;
  const auto want = [&lacks](const std::string& what, bool here) {
    if (!here && std::find(lacks.begin(), lacks.end(), what) == lacks.end()) lacks.push_back(what);
  };
  const auto want_dataset = [&want, &at_hand](const std::string& name) {
    want(name, is_at_hand(Registry<DatasetEntry>::instance().find(name), at_hand.data_dir));
  };
  const auto want_device = [&want, &at_hand](DeviceKind device) {
    want("a GPU", device != DeviceKind::kCuda || at_hand.gpu);
  };
  if (const auto* trainings = item.as<Trainings>()) {
    for (const auto& run : trainings->runs) {
      if (!is_planned(run)) continue;
      want_dataset(run.config.dataset);
      want_device(run.config.device);
    }
  } else if (const auto* study = item.as<StudyItem>()) {
    for (const auto& [key, value] : study->params) {
      if (key == "dataset") want_dataset(value);
      if (key == "device") want_device(parse<DeviceKind>(value, "unknown device"));
    }
  } else if (const auto* kernels = item.as<KernelItem>()) {
    want_device(kernels->device);
  }
  return lacks;
}

// Items of papers, counted by what the store has of them; the first of some kinds by their names.
struct PaperCounts {
  int64_t items = 0, measured = 0, pictures = 0, not_run = 0;
  std::string first_measured, first_to_do;

  void add(const std::string& name, const Experiment& item, bool is_measured) {
    const bool is_picture = item.as<PictureItem>() != nullptr;
    const bool is_not_run = item.as<NotRunItem>() != nullptr;
    ++items;
    measured += is_measured;
    pictures += is_picture;
    not_run += is_not_run;
    if (is_measured && first_measured.empty()) first_measured = name;
    const bool is_to_do = !is_measured && !is_picture && !is_not_run;
    if (is_to_do && first_to_do.empty()) first_to_do = name;
  }

  // "43 items: 12 with results, 4 pictures, 27 to do."
  std::string sentence() const {
    std::string text = fmt::format("{} {}: {} with results", items, items == 1 ? "item" : "items",
                                   measured == 0 ? "none" : std::to_string(measured));
    if (pictures > 0) {
      text += fmt::format(", {} {}", pictures, pictures == 1 ? "picture" : "pictures");
    }
    if (not_run > 0) text += fmt::format(", {} that cannot be run", not_run);
    return text + fmt::format(", {} to do.", items - measured - pictures - not_run);
  }

  std::vector<std::string> next() const {
    if (!first_measured.empty()) return {"report", "paper", first_measured};
    if (first_to_do.empty()) return {};
    return {"sweep", "@" + first_to_do, "--dry-run"};
  }
};

// An item of a paper, `full` at full scale, with what the store has of each scale that its file
// has.
void add_paper(const std::string& name, const std::string& path, const Experiment& full,
               const AtHand& at_hand, Listing& listing, PaperCounts& counts) {
  std::vector<std::string> row = {"@" + name, full.paper.item};
  Json json = {
      {"name", name}, {"item", full.paper.item}, {"title", full.title}, {"lacks", Json::object()}};
  std::vector<std::string> lacks;
  bool measured = false;
  for (const auto scale : kAllScales) {
    const std::string scale_name(approx::name(scale));
    auto& state = json[scale_name];
    if (std::find(full.scales.begin(), full.scales.end(), scale) == full.scales.end()) {
      row.emplace_back("-");
      continue;
    }
    auto shown = scale == Scale::kFull
                     ? full
                     : load_layout(path, Catalogue::embedded(), scale, at_hand.stored.checksums());
    at_hand.stored.plan(shown, Catalogue::embedded());
    state = state_text(shown, at_hand);
    measured = measured || at_hand.stored.measured(shown);
    row.push_back(state.get<std::string>());
    const auto missing = lacking(shown, at_hand);
    json["lacks"][scale_name] = missing;
    if (!missing.empty()) {
      lacks.push_back(fmt::format("{}: {}", scale_name, fmt::join(missing, ", ")));
    }
  }
  const auto* not_run = full.as<NotRunItem>();
  counts.add(name, full, measured);
  json["not_run"] = not_run == nullptr ? "" : not_run->why;
  row.push_back(fmt::format("{}", fmt::join(lacks, "; ")));
  row.push_back(not_run == nullptr ? full.title : fmt::format("{} ({})", full.title, not_run->why));
  listing.rows.push_back(std::move(row));
  listing.json.push_back(std::move(json));
}

// The items of papers: files whose [report] names one.
Listing list_papers(const GlobalOptions& options) {
  Listing listing{{"item", "of", "full", "reduced", "smoke", "lacks here", "title"}};
  const auto snapshot = Snapshot::or_empty(options.db);
  const AtHand at_hand = {.stored = snapshot.items(),
                          .data_dir = options.data_dir,
                          .gpu = !read_machine().nvidia_driver.empty()};
  PaperCounts counts;
  for (const auto& [name, path] : known_experiments()) {
    try {
      const auto full =
          load_layout(path, Catalogue::embedded(), Scale::kFull, at_hand.stored.checksums());
      if (!full.paper.item.empty()) add_paper(name, path, full, at_hand, listing, counts);
    } catch (const Error& error) {
      std::cerr << printable(error.what()) << '\n';
    }
  }
  listing.screen = {.results = {"item", "full", "reduced", "smoke", "title"},
                    .headline = counts.sentence(),
                    .next = counts.next()};
  return listing;
}

struct Kind {
  const char* name;
  const char* help;
  Listing (*make)(const GlobalOptions&);
  bool of_runs = false;  // beside what may be run stands, or could stand, what was
};

// A name that the user gave is a slip where there is no such file; the default may come yet.
void check_db(const GlobalOptions& options) {
  std::error_code unreadable;
  if (options.default_db || std::filesystem::exists(options.db, unreadable)) return;
  throw database_error("{}: no such database; a sweep makes one, --db names another",
                       printable(options.db));
}

// How many there are of each kind, the first of them, and the command that shows all.
Listing overview(std::span<const Kind> kinds, const GlobalOptions& options) {
  constexpr size_t kShown = 4;
  Listing listing{{"what", "how many", "such as", "all of them"}};
  for (const auto& kind : kinds) {
    const auto all = kind.make(options);
    std::vector<std::string> names;
    for (const auto& row : all.rows) {
      if (names.size() < kShown) names.push_back(row[0]);
    }
    const std::string command = fmt::format("approxtrain list {}", kind.name);
    listing.rows.push_back(
        {kind.name, std::to_string(all.rows.size()),
         fmt::format("{}{}", fmt::join(names, ", "), all.rows.size() > names.size() ? ", ..." : ""),
         command});
    listing.json.push_back(
        Json{{"what", kind.name}, {"count", all.rows.size()}, {"command", command}});
  }
  return listing;
}

void print(const Listing& listing, const TableOutput& output) {
  if (output.format == "json") {
    if (output.columns != nullptr && !output.columns->names.empty()) {
      throw usage_error(
          "--columns: JSON always has all columns; leave out --columns, or take --format csv");
    }
    std::cout << json_text({{"schema", "approxtrain.table/1"}, {"rows", listing.json}}, 2) << '\n';
  } else {
    std::cout << rows_text(listing.header, listing.rows, output, listing.screen);
  }
}

}  // namespace

void add_list(CLI::App& app, GlobalOptions& options) {
  auto* command = app.add_subcommand("list", "List methods, networks, data sets and experiments");
  command->footer("approxtrain list methods\napproxtrain list networks --format json");
  command->require_subcommand(0, 1);
  static constexpr Kind kKinds[] = {
      {"methods", "Methods, their parameters and the products they approximate", list_methods},
      {"schedules", "Schedules and their parameters", list_schedules},
      {"selections", "Batch sources, which choose the examples of a step", list_selections},
      {"networks", "Networks, their sizes and convolutions", list_networks},
      {"datasets", "Data sets the program knows", list_datasets},
      {"experiments", "Experiment files that a sweep finds by name", list_experiments, true},
      {"papers", "Tables and figures of the papers, and how many of their runs are done",
       list_papers, true}};
  for (const auto& kind : kKinds) {
    auto* sub = command->add_subcommand(kind.name, kind.help);
    sub->footer(fmt::format("approxtrain list {} --format json", kind.name));
    auto format = std::make_shared<std::string>();
    auto columns = std::make_shared<ColumnFlags>();
    add_choice(*sub, "--format", *format, {"md", "csv", "json"},
               "Markdown, CSV or JSON (default: Markdown, on a terminal a table that fits it)");
    add_column_flags(*sub, *columns);
    sub->callback([format, columns, kind, &options] {
      if (kind.of_runs) check_db(options);
      print(kind.make(options), {.format = *format, .columns = columns.get(), .options = &options});
    });
  }
  command->callback([command, &options] {
    if (command->get_subcommands().empty()) print(overview(kKinds, options), {});
  });
}

}  // namespace approx
