// schedule show: which layer is approximated at which step, as a picture in
// text.
#include "core/config/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/plot.h"
#include "core/config/named_schedule.h"
#include "results/reports/schedule_picture.h"

namespace approx {
namespace {

struct ShowFlags {
  std::string schedule, network, method;
  PictureExtent extent{.total_steps = 0};
  std::string format = "md";
};

// One row for each layer, one letter for each step.
void print_picture(const Schedule& schedule, const NetworkInfo& network, Product product,
                   const ShowFlags& flags) {
  size_t widest = 5;
  for (const auto& layer : network.layers) widest = std::max(widest, layer.name.size());
  std::fputs(fmt::format("\n{}\n", name(product)).c_str(), stdout);
  for (size_t at = 0; at < network.layers.size(); ++at) {
    const auto& layer = network.layers[at];
    std::string line = fmt::format("{} {:>3}  {:<{}}  ", layer.is_conv() ? "conv  " : "linear",
                                   layer.index, layer.name, widest);
    for (int64_t step = 0; step < flags.extent.steps; ++step) {
      const int method = schedule.computed_at(at, step, flags.extent.rank).of(product);
      line += method == Decision::kDense ? '.' : static_cast<char>('A' + method % 26);
    }
    std::fputs((line + "\n").c_str(), stdout);
  }
}

// The share of (linear layer, step) pairs with an approximated product, the mean over the ranks.
double linear_share(const Schedule& schedule, const NetworkInfo& network,
                    const PictureExtent& extent) {
  const int64_t ranks = schedule.tells_ranks_apart() ? extent.ranks : 1;
  int64_t pairs = 0, approximated = 0;
  for (size_t at = 0; at < network.layers.size(); ++at) {
    if (network.layers[at].is_conv()) continue;
    pairs += ranks * extent.total_steps;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      for (int64_t step = 0; step < extent.total_steps; ++step) {
        approximated += schedule.computed_at(at, step, rank).dense() ? 0 : 1;
      }
    }
  }
  return pairs == 0 ? 0 : static_cast<double>(approximated) / static_cast<double>(pairs);
}

// "25.0 % of all (convolution, step) pairs". Papers count convolutions; linear layers are named
// where some of them are approximated or there is nothing else.
std::string share_text(const Schedule& schedule, const NetworkInfo& network,
                       const PictureExtent& extent) {
  const bool has_conv = std::any_of(network.layers.begin(), network.layers.end(),
                                    [](const LayerInfo& layer) { return layer.is_conv(); });
  const double linear = linear_share(schedule, network, extent);
  std::vector<std::string> shares;
  const auto add = [&shares](double share, const char* kind) {
    shares.push_back(fmt::format("{:.1f} % of all ({}, step) pairs", 100 * share, kind));
  };
  if (has_conv) add(schedule.approximated_share(extent.total_steps), "convolution");
  if (linear > 0 || !has_conv) add(linear, "linear layer");
  return fmt::format("{}", fmt::join(shares, " and "));
}

void show(const ShowFlags& flags) {
  const auto& catalogue = Catalogue::embedded();
  const Spec spec = parse_spec(flags.network);
  catalogue.network_params(flags.network);
  const NetworkInfo& network = catalogue.network(spec.name);
  // Any method will do to see where a schedule approximates.
  const std::string stand_in = flags.method.empty() ? stand_in_method(catalogue) : "";
  const std::string method = flags.method.empty() ? stand_in : flags.method;
  if (method.empty()) throw usage_error("--method is missing: no method approximates anything");
  auto extent = flags.extent;
  if (extent.total_steps == 0) extent.total_steps = 10 * extent.steps_per_epoch;
  if (extent.rank >= extent.ranks) {
    throw usage_error("--rank {}: ranks are numbered from 0, and there are {}; give --ranks too",
                      extent.rank, extent.ranks);
  }
  if (flags.format != "md") {
    const Table table = schedule_picture(make_schedule(flags.schedule), flags.network, flags.method,
                                         catalogue, extent);
    const std::string csv = render(table, "csv");
    const std::string out = flags.format == "csv" ? csv : draw("schedule", csv, flags.format);
    std::fwrite(out.data(), 1, out.size(), stdout);
    return;
  }
  const Schedule schedule(make_schedule(flags.schedule), network.layers, method, catalogue,
                          extent.steps_per_epoch, extent.total_steps, extent.ranks);
  std::fputs(
      fmt::format("{} on {}, steps 0 to {}; it repeats every {} steps; {} "
                  "approximated{}\n. exact\n",
                  flags.schedule, flags.network, extent.steps - 1, schedule.period(),
                  share_text(schedule, network, extent), extent.ranks > 1 ? ", over all ranks" : "")
          .c_str(),
      stdout);
  for (size_t i = 0; i < schedule.methods().size(); ++i) {
    const std::string& text = schedule.methods()[i];
    const bool stands_in = !stand_in.empty() && parse_spec(text).name == stand_in;
    std::fputs(
        fmt::format("{} {}\n", static_cast<char>('A' + i % 26), stands_in ? kMethodOfTheRun : text)
            .c_str(),
        stdout);
  }
  bool any = false;
  for (const Product product : kAllProducts) {
    bool used = false;
    for (size_t at = 0; at < network.layers.size(); ++at) {
      for (int64_t step = 0; step < extent.steps; ++step) {
        const auto decision = schedule.computed_at(at, step, extent.rank);
        used = used || decision.of(product) != Decision::kDense;
      }
    }
    if (used) print_picture(schedule, network, product, flags);
    any = any || used;
  }
  if (!any) std::fputs("nothing is approximated in these steps; --steps draws more\n", stdout);
}

}  // namespace

void add_schedule(CLI::App& app, GlobalOptions& /*options*/) {
  auto* command =
      app.add_subcommand("schedule", "Show which layers a schedule approximates at which steps");
  command->footer(
      "approxtrain schedule show slice:layers=2::2,steps=::4 "
      "--network resnet20");
  command->require_subcommand(1);
  auto* picture =
      command->add_subcommand("show", "Draw the layers and steps that a schedule approximates");
  picture->footer(
      "approxtrain schedule show slice:layers=2::2,steps=::4 "
      "--network resnet20");
  auto flags = std::make_shared<ShowFlags>();
  picture->add_option("SCHEDULE", flags->schedule, "schedule, as name:key=value")->required();
  picture->add_option("--network", flags->network, "network, as name:key=value")
      ->type_name("NAME")
      ->required();
  picture
      ->add_option("--method", flags->method, "method of the run (default: the picture names none)")
      ->type_name("NAME");
  add_integer(*picture, "--steps", flags->extent.steps, 1, 1000, "steps to draw (default 8)");
  add_integer(*picture, "--steps-per-epoch", flags->extent.steps_per_epoch, 1, 1'000'000'000,
              "steps in an epoch, for windows in epochs (default 100)");
  add_integer(*picture, "--total-steps", flags->extent.total_steps, 1, 1'000'000'000,
              "steps of the whole training, for windows in shares (default 10 epochs)");
  add_integer(*picture, "--ranks", flags->extent.ranks, 1, 4096,
              "processes that train together (default 1)");
  add_integer(*picture, "--rank", flags->extent.rank, 0, 4095, "rank that is drawn (default 0)");
  add_choice(*picture, "--format", flags->format, {"md", "csv", "svg", "png"},
             "picture as text, its cells as CSV, or a drawing (default md)");
  picture->callback([flags] { show(*flags); });
}

}  // namespace approx
