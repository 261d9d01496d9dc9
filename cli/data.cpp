// `approxtrain data`: what data sets there are, and how they get where training finds them.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "base/outputs.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/tables.h"
#include "cli/text.h"
#include "core/data/dataset.h"
#include "core/data/fetch.h"

namespace approx {
namespace {

struct DataOptions {
  std::string name, path, from, mirror;
  bool skip_damaged = false;
  int64_t shorter_side = 0, longer_side = 0;
  bool has_shorter = false, has_longer = false;
  std::string format;  // "": for a person
  std::vector<std::string> names;
};

// What `data list` says of one set: opening it reads no more than its header and labels.
Json describe(const DatasetEntry& entry, const std::string& data_dir) {
  Json row = {{"name", entry.name},
              {"summary", entry.summary},
              {"classes", entry.classes},
              {"image", fmt::format("{}x{}x{}", entry.height, entry.width, entry.channels)},
              {"train", entry.n_train},
              {"test", entry.n_test},
              {"state", "missing"},
              {"variant", ""},
              {"lossy", false},
              {"sha256", ""},
              {"source", ""}};
  if (!is_at_hand(entry, data_dir)) return row;
  try {
    const auto dataset = open_dataset(entry.name, data_dir, /*verify=*/false);
    row["state"] = entry.embedded ? "built in" : "imported";
    row["variant"] = dataset.variant;
    row["lossy"] = dataset.lossy;
    row["sha256"] = dataset.sha256;
    row["source"] = dataset.source;
  } catch (const Error& error) {
    row["state"] = "damaged";
    std::cerr << printable(error.what()) << '\n';
  }
  return row;
}

void list(const DataOptions& options, const GlobalOptions& globals) {
  Json rows = Json::array();
  for (const auto* entry : Registry<DatasetEntry>::instance().all()) {
    rows.push_back(describe(*entry, globals.data_dir));
  }
  if (options.format == "json") {
    std::cout << json_text({{"schema", "approxtrain.table/1"}, {"rows", rows}}, 2) << '\n';
    return;
  }
  std::vector<std::vector<std::string>> table;
  for (const auto& row : rows) {
    const auto text = [&](const char* key) { return row[key].get<std::string>(); };
    const auto number = [&](const char* key) { return std::to_string(row[key].get<int64_t>()); };
    const auto variant = text("variant") + (row["lossy"].get<bool>() ? " (lossy)" : "");
    table.push_back({text("name"), number("classes"), text("image"), number("train"),
                     number("test"), text("state"), variant, text("sha256").substr(0, 12)});
  }
  const std::vector<std::string> header = {"data set", "classes", "image",   "train",
                                           "test",     "state",   "variant", "sha256"};
  std::cout << rows_text(header, table, {.format = options.format});
}

void print_imported(const LoadedDataset& dataset, const std::string& data_dir) {
  std::cout << fmt::format("{}: {} + {} images, variant {}{}, sha256 {}, in {}\n", dataset.name,
                           dataset.train.count, dataset.test.count, dataset.variant,
                           dataset.lossy ? " (lossy)" : "", dataset.sha256,
                           printable(packed_path(dataset.name, data_dir)));
  if (dataset.junk > 0) {
    std::cerr << fmt::format("skipped {} {} of operating systems, such as .DS_Store\n",
                             dataset.junk, dataset.junk == 1 ? "file" : "files");
  }
}

// That the packed file may be written there: it replaces the packed file of before, and not what it
// is made from.
void check_packed(const std::string& name, const std::string& source,
                  const GlobalOptions& globals) {
  if (Registry<DatasetEntry>::instance().find(name).embedded != nullptr) return;
  if (!source.empty()) note_input(source);
  check_output(packed_path(name, globals.data_dir), kPackedDataSet);
}

void import(const DataOptions& options, const GlobalOptions& globals) {
  int64_t skipped = 0;
  const auto on_skipped = [&](const std::string& message) {
    ++skipped;
    std::cerr << "skipped: " << printable(message) << '\n';
  };
  const bool is_built_in =
      Registry<DatasetEntry>::instance().find(options.name).embedded != nullptr;
  // What is built in has no path to ask for; import_dataset() says so.
  if (!is_built_in && options.path.empty() == options.from.empty()) {
    throw usage_error("data import: {}; for example: approxtrain data import {} PATH",
                      options.path.empty() ? "the folder or archive with the files is missing"
                                           : "PATH and --from PATH mean the same; give one",
                      options.name);
  }
  const std::string& source = options.path.empty() ? options.from : options.path;
  check_packed(options.name, source, globals);
  ImportOptions how{.skip_damaged = options.skip_damaged, .on_skipped = on_skipped};
  if (options.has_shorter) how.limit = PhotoLimit{.side = options.shorter_side};
  if (options.has_longer) {
    how.limit = PhotoLimit{.side = options.longer_side, .of_longer = true};
  }
  const auto dataset = import_dataset(options.name, source, globals.data_dir, how);
  if (options.skip_damaged) std::cerr << fmt::format("{} files skipped\n", skipped);
  print_imported(dataset, globals.data_dir);
}

// Progress on stderr: a line that is rewritten on a terminal, a line per file elsewhere.
class FetchProgress {
 public:
  explicit FetchProgress(const std::string& mode)
      : shown_(mode != "none" && mode != "json"),
        bar_(mode == "bar" || (mode == "auto" && ::isatty(STDERR_FILENO) != 0)) {}
  ~FetchProgress() {
    if (drawn_) std::cerr << '\n';
  }
  FetchProgress(const FetchProgress&) = delete;
  FetchProgress& operator=(const FetchProgress&) = delete;

  void operator()(const RemoteFile& file, int64_t done, int64_t total) {
    if (!shown_) return;
    if (file.url != url_) {
      if (drawn_) std::cerr << '\n';
      drawn_ = false;
      url_ = file.url;
      std::cerr << "fetching " << printable(url_) << '\n';
    }
    const auto now = std::chrono::steady_clock::now();
    if (!bar_ || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    drawn_ = true;
    constexpr double kMegabyte = 1e6;
    const auto done_mb = static_cast<double>(done) / kMegabyte;
    const auto total_mb = static_cast<double>(total) / kMegabyte;
    std::cerr << (total > 0 ? fmt::format("\r  {:.1f} of {:.1f} MB", done_mb, total_mb)
                            : fmt::format("\r  {:.1f} MB", done_mb))
              << std::flush;
  }

 private:
  bool shown_, bar_, drawn_ = false;
  std::string url_;
  std::chrono::steady_clock::time_point last_;
};

void verify(const DataOptions& options, const GlobalOptions& globals) {
  auto names = options.names;
  if (names.empty()) {
    for (const auto* entry : Registry<DatasetEntry>::instance().all()) {
      if (is_at_hand(*entry, globals.data_dir)) names.push_back(entry->name);
    }
  }
  std::vector<std::string> failures;
  for (const auto& name : names) {
    try {
      const auto dataset = open_dataset(name, globals.data_dir, /*verify=*/true);
      std::cout << fmt::format("{}: ok, sha256 {}\n", name, dataset.sha256);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData) throw;
      if (names.size() == 1) throw;
      std::cout << fmt::format("{}: failed\n", name);
      failures.emplace_back(error.what());
    }
  }
  for (size_t i = 0; i + 1 < failures.size(); ++i) std::cerr << printable(failures[i]) << '\n';
  if (!failures.empty()) throw data_error("{}", failures.back());
}

}  // namespace

void add_data(CLI::App& app, GlobalOptions& globals) {
  auto* data = app.add_subcommand("data", "Data sets: list, import, fetch and verify them");
  data->require_subcommand(1);
  data->footer("approxtrain data import cifar10 cifar-10-binary.tar.gz");
  const auto options = std::make_shared<DataOptions>();

  auto* list_command =
      data->add_subcommand("list", "List the data sets, and which of them are here");
  list_command->footer("approxtrain data list");
  add_choice(*list_command, "--format", options->format, {"md", "csv", "json"},
             "Markdown, CSV or JSON (default: Markdown, on a terminal a table that fits it)");
  list_command->callback([options, &globals] { list(*options, globals); });

  auto* import_command =
      data->add_subcommand("import", "Read a data set's files into one packed file");
  import_command->footer("approxtrain data import mnist downloads/mnist");
  import_command->add_option("name", options->name, "The data set, as `data list` names it")
      ->required();
  import_command->add_option("PATH", options->path,
                             "The folder or archive with the data set's files");
  import_command->add_option("--from", options->from, "Another way to give PATH");
  auto* shorter =
      add_integer(*import_command, "--shorter-side", options->shorter_side, 0, 1 << 20,
                  "Photographs only: shrink larger ones to a shorter side of N pixels, as new "
                  "JPEGs. 0 stores every file as it is (default: the data set's limit)");
  auto* longer = add_integer(
      *import_command, "--longer-side", options->longer_side, 1, 1 << 20,
      "Photographs only: shrink larger ones to a longer side of N pixels, as FFCV does");
  longer->excludes(shorter);
  import_command->add_flag("--skip-damaged", options->skip_damaged,
                           "Photographs only: leave out files that cannot be decoded, and list "
                           "them on stderr. Without this flag the first such file ends the import");
  import_command->callback([options, &globals, shorter, longer] {
    options->has_shorter = shorter->count() > 0;
    options->has_longer = longer->count() > 0;
    import(*options, globals);
  });

  auto* fetch_command =
      data->add_subcommand("fetch", "Download a data set from its publisher and import it");
  fetch_command->footer("approxtrain data fetch cifar10");
  fetch_command->add_option("name", options->name, "The data set, as `data list` names it")
      ->required();
  fetch_command->add_option(
      "--mirror", options->mirror,
      "An https folder to take the files from; they must still have the publisher's checksums");
  fetch_command->callback([options, &globals] {
    const auto& entry = Registry<DatasetEntry>::instance().find(options->name);
    if (entry.files.empty() && entry.embedded == nullptr) {
      throw usage_error("data set {} has no files to fetch; {}", entry.name,
                        how_to_get(entry.name));
    }
    check_packed(options->name, "", globals);
    FetchProgress progress(globals.progress);
    const auto dataset = fetch_dataset(options->name, globals.data_dir,
                                       {.mirror = options->mirror, .progress = std::ref(progress)});
    print_imported(dataset, globals.data_dir);
  });

  auto* verify_command =
      data->add_subcommand("verify", "Compare packed data sets with their checksums");
  verify_command->footer("approxtrain data verify cifar10");
  verify_command->add_option("names", options->names, "The data sets (default: all that are here)");
  verify_command->callback([options, &globals] { verify(*options, globals); });
}

}  // namespace approx
