#include "cli/slurm/request.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/numbers.h"

namespace approx {
namespace {

int64_t whole(const std::string& text, std::string_view what, int64_t min, int64_t max) {
  if (const auto number = parse_integer(text, min, max)) return *number;
  throw usage_error("{}: \"{}\" is not a whole number from {} to {}", what, printable(text), min,
                    max);
}

// A line of the script is no place for what sbatch would read as more than one word, as a comment
// or as something to be replaced.
std::string plain_word(const std::string& text, std::string_view what) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < 0x7F && std::string_view("\"'\\#%").find(c) == std::string_view::npos;
  });
  if (plain) return text;
  throw usage_error("{}: \"{}\" has white space or one of \" ' \\ # %, which sbatch does not take",
                    what, printable(text));
}

struct SlurmFlag {
  const char* key;
  const char* type;
  const char* help;
};

constexpr SlurmFlag kSlurmFlags[] = {
    {"tasks", "N",
     "number of tasks that share the runs (default: one for all rows of a seed, network and data "
     "set). Accuracy and timing runs are separate arrays"},
    {"at_once", "N", "tasks of an array at the same time (default: as the cluster has room)"},
    {"time", "TIME", "time limit of a task; runs that are left then go on in a new turn"},
    {"memory", "SIZE", "memory of a task"},
    {"cpus", "N", "processors of a task (default: threads of a run, times --jobs)"},
    {"gpus", "N", "GPUs of a task (default: one for each rank on cuda, else none)"},
    {"partition", "NAME", "partition"},
    {"option", "OPTION",
     "any other option of sbatch, as --slurm-option=--account=vision; may be repeated"}};

}  // namespace

void SlurmRequest::set(const std::string& key, const std::string& text, std::string_view what) {
  if (key == "tasks") tasks = whole(text, what, 1, 100'000);
  if (key == "at_once") at_once = whole(text, what, 1, 100'000);
  if (key == "cpus") cpus = whole(text, what, 1, 100'000);
  if (key == "gpus") gpus = whole(text, what, 0, 1000);
  if (key == "memory") memory_bytes = parse_size(text, what);
  if (key == "partition") partition = plain_word(text, what);
  if (key == "time") {
    time = parse_duration(text, what);
    if (time < std::chrono::minutes(1)) {
      throw usage_error("{}: \"{}\" is less than a minute, Slurm's shortest limit", what,
                        printable(text));
    }
  }
  if (key == "option") {
    if (!text.starts_with("--") || text.size() < 3) {
      throw usage_error("{}: \"{}\" is not an option such as --account=vision", what,
                        printable(text));
    }
    options.push_back(plain_word(text, what));
  }
}

void add_slurm_flags(CLI::App& app, SlurmRequest& request) {
  static constexpr const char* kGroup = "On a cluster";
  auto* on = app.add_flag("--slurm", request.on,
                          "submit the runs that are missing as Slurm job arrays, and merge the "
                          "results into the database. With --dry-run: print the batch scripts");
  on->group(kGroup);
  for (const auto& flag : kSlurmFlags) {
    const std::string key = flag.key;
    std::string name = "--slurm-" + key;
    std::replace(name.begin(), name.end(), '_', '-');
    const auto take = [&request, name, key](const std::string& text) {
      request.set(key, text, name);
      request.given.insert(key);
    };
    auto* option = key == "option" ? app.add_option_function<std::vector<std::string>>(
                                            name,
                                            [take](const std::vector<std::string>& texts) {
                                              for (const auto& text : texts) take(text);
                                            },
                                            flag.help)
                                         ->allow_extra_args(false)
                                   : app.add_option_function<std::string>(name, take, flag.help);
    option->type_name(flag.type)->needs(on)->group(kGroup);
  }
}

void take_table(SlurmRequest& request, const std::vector<PlacedSetting>& table) {
  for (const auto& [key, value, place] : table) {
    if (!request.given.contains(key)) request.set(key, value, place);
  }
}

}  // namespace approx
