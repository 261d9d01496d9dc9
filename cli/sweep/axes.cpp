#include "cli/sweep/axes.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/numbers.h"
#include "base/range.h"
#include "cli/text.h"
#include "core/data/dataset.h"

namespace approx {
namespace {

struct AxisFlag {
  const char* flag;
  const char* type;
  const char* axis;  // the key of an experiment file; "recipe.": set, not
                     // replaced as an axis
  const char* help;
};

constexpr AxisFlag kAxisFlags[] = {
    {"--method", "NAME", "method", "methods, as name:key=value"},
    {"--schedule", "NAME", "schedule", "schedules, as name:key=value"},
    {"--selection", "NAME", "selection", "batch sources, as name:key=value; none: all examples"},
    {"--network", "NAME", "network", "networks, as name:key=value"},
    {"--dataset", "NAME", "dataset", "data sets"},
    {"--recipe", "NAME", "recipe", "optimizer, learning rate and augmentation"},
    {"--epochs", "N", "recipe.epochs", "epochs, in place of the recipe's"},
    {"--patience", "N", "patience",
     "end accuracy runs that gain no accuracy for so many epochs. They have times to targets, and "
     "no accuracy"},
    {"--batch-size", "N", "batch_size", "images in a training step"},
    {"--precision", "P", "precision", "fp32, bf16; cuda: tf32, fp16"},
    {"--threads", "N", "threads", "threads of a run"},
    {"--ranks", "N", "ranks", "processes that train a network together, on cuda with a GPU each"},
    {"--device", "D", "device", "cpu or cuda"},
    {"--graphs", "G", "graphs", "whether steps on cuda are captured and replayed: auto, on or off"},
    {"--split", "S", "split", "images that judge choices: holdout, or paper (the test set)"},
    {"--kernel-rules", "FILE", "kernel_rules", "table of kernel rules, as tune-kernels writes it"},
    {"--purpose", "P", "purpose", "accuracy or timing"},
};

// Throws Error(kUsage) for what the experiment would refuse in words of its own: it knows these
// flags as `seeds` and `--set recipe.epochs`.
void check_number(const std::string& flag, const std::string& text, bool lists) {
  if (flag == "--epochs") {
    constexpr int64_t kMost = 100'000;
    std::vector<std::string> numbers = {text};
    try {
      if (lists) numbers = list_values(text);
    } catch (const Error& error) {
      throw error.in(flag);
    }
    for (const auto& number : numbers) {
      if (parse_integer(number, 1, kMost)) continue;
      throw usage_error("--epochs: \"{}\" is not a whole number from 1 to {}", printable(number),
                        kMost);
    }
    return;
  }
  if (flag != "--seed") return;
  constexpr int64_t kMost = 4'294'967'295;
  try {
    // Several seeds pass here: the run itself says that it has one.
    const auto seeds = parse_range(text);
    if (std::all_of(seeds.begin(), seeds.end(), [](int64_t seed) { return seed <= kMost; })) return;
  } catch (const Error&) {
    // Said below.
  }
  throw usage_error("--seed: \"{}\" is not a whole number from 0 to {}", printable(text), kMost);
}

// Takes the texts of one flag, in the order of the command line.
void take(const AxisFlag& axis, const std::vector<std::string>& texts, bool lists,
          Overrides& overrides) {
  for (const auto& text : texts) check_number(axis.flag, text, lists);
  const std::string key = axis.axis;
  if (key.find('.') != std::string::npos) {
    overrides.set.emplace_back(key, fmt::format("{}", fmt::join(texts, ",")));
    return;
  }
  for (const auto& text : texts) overrides.axes.emplace_back(key, text);
}

}  // namespace

void add_axis_flags(CLI::App& app, Overrides& overrides, bool lists) {
  const auto add = [&](const AxisFlag& axis) {
    CLI::Option* option = nullptr;
    if (lists) {
      option = app.add_option_function<std::vector<std::string>>(
                      axis.flag,
                      [&overrides, axis](const std::vector<std::string>& texts) {
                        take(axis, texts, /*lists=*/true, overrides);
                      },
                      axis.help)
                   ->allow_extra_args(false);
    } else {
      option = app.add_option_function<std::string>(
          axis.flag,
          [&overrides, axis](const std::string& text) {
            take(axis, {text}, /*lists=*/false, overrides);
          },
          axis.help);
    }
    option->type_name(lists ? std::string(axis.type) + ",..." : axis.type)->group("What to run");
  };
  for (const auto& axis : kAxisFlags) add(axis);
  if (lists) {
    add({"--seeds", "RANGE", "seeds", "seeds: 0-9, or 1,2,5, or 0-90+10"});
  } else {
    add({"--seed", "N", "seeds", "seed of the run (default 0)"});
  }
  if (lists) {
    app.add_option_function<std::string>(
           "--scale",
           [&overrides](const std::string& text) { overrides.scale = parse_scale(text); },
           "full (the paper's setting, default), reduced or smoke")
        ->type_name("SCALE")
        ->group("What to run");
  }
  app.add_option_function<std::vector<std::string>>(
         "--set",
         [&overrides](const std::vector<std::string>& pairs) {
           for (const auto& pair : pairs) {
             const auto equals = pair.find('=');
             if (equals == std::string::npos || equals == 0) {
               throw usage_error("--set: \"{}\" is not KEY=VALUE, such as recipe.epochs=2",
                                 printable(pair));
             }
             overrides.set.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
           }
         },
         "any other setting of an experiment file, such as recipe.epochs=2")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group("What to run");
}

std::function<std::string(const std::string&)> dataset_checksums(
    const std::string& data_dir, const std::function<std::string(const std::string&)>& otherwise) {
  // Asked for once per run, read once.
  const auto known = std::make_shared<std::map<std::string, std::string>>();
  return [data_dir, otherwise, known](const std::string& name) {
    const auto [at, is_new] = known->try_emplace(name);
    if (!is_new) return at->second;
    at->second = dataset_checksum(name, data_dir);
    if (!at->second.empty()) return at->second;
    const auto missing =
        data_error("data set \"{}\" is not in {}; {}", name, printable(data_dir), how_to_get(name));
    if (!otherwise) throw missing;
    std::fputs(fmt::format("{}\n", missing.what()).c_str(), stderr);
    at->second = otherwise(name);
    return at->second;
  };
}

}  // namespace approx
