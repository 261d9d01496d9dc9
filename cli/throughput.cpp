// throughput: a network that trains in turns, for being timed beside another program. Hidden: the
// other side is scripts/compare-pytorch.
//
// Once ready it prints {"event":"ready",...}. Each line `WARMUP STEPS` on standard input makes it
// train WARMUP steps off the clock and STEPS on it, and print {"event":"turn",...,"ns":...}. It
// ends with its input.
#include <cstdio>
#include <iostream>
#include <sstream>

#include "base/error.h"
#include "cli/command.h"
#include "cli/engine_loader.h"

namespace approx {
namespace {

void say(const Json& event) {
  std::fputs((json_text(event) + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void take_turns(const RunConfig& config, bool phases, const GlobalOptions& options) {
  const auto stepper =
      load_engine().stepper(config, {options.data_dir, options.verify_data}, phases);
  say({{"event", "ready"}, {"parameters", stepper->parameters()}, {"threads", config.threads}});
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    int64_t warmup = -1, steps = -1;
    if (!(words >> warmup >> steps) || warmup < 0 || steps < 1 || !(words >> std::ws).eof()) {
      throw usage_error("throughput: \"{}\": expected WARMUP STEPS, two whole numbers", line);
    }
    if (warmup > 0) stepper->run(warmup);
    stepper->mean_loss();
    const int64_t ns = stepper->run(steps);
    Json turn{{"event", "turn"}, {"steps", steps}, {"ns", ns}, {"loss", stepper->mean_loss()}};
    if (phases) turn["phases"] = stepper->phases();
    say(turn);
  }
}

}  // namespace

void add_throughput(CLI::App& app, GlobalOptions& options) {
  auto* command = app.add_subcommand("throughput", "Train in turns told on standard input");
  command->group("");  // hidden
  auto config = std::make_shared<RunConfig>();
  config->dataset = "synthetic";
  config->threads = 1;
  config->recipe.learning_rate = 0.01;
  config->recipe.weight_decay = 5e-4;
  command->add_option("--network", config->network, "Network")->required();
  command->add_option("--batch-size", config->batch_size, "Examples in a batch");
  command->add_option("--threads", config->threads, "Threads");
  command->add_option_function<std::string>(
      "--precision",
      [config](const std::string& text) {
        config->precision = parse<Precision>(text, "precision");
      },
      "fp32, bf16; cuda: tf32, fp16");
  command->add_option_function<std::string>(
      "--device",
      [config](const std::string& text) { config->device = parse<DeviceKind>(text, "device"); },
      "cpu or cuda");
  command->add_option("--dataset", config->dataset, "Data set");
  auto phases = std::make_shared<bool>(false);
  command->add_flag("--phases", *phases, "Say where the time of a turn went");
  command->add_flag_callback(
      "--augment",
      [config] {
        config->recipe.crop_padding = 4;
        config->recipe.padding_mode = PaddingMode::kReflect;
        config->recipe.flip = true;
        config->recipe.label_smoothing = 0.1;
        config->recipe.nesterov = true;
      },
      "With the augmentation, the smoothed labels and Nesterov's momentum of the recipe "
      "cifar10_quick");
  command->callback([config, phases, &options] { take_turns(*config, *phases, options); });
}

}  // namespace approx
