#include "core/studies/recorded.h"

#include "base/error.h"
#include "core/data/dataset.h"
#include "core/train/operand_probe.h"
#include "core/train/session.h"

namespace approx {

void declare_training(StudyEntry& entry) {
  entry.param({"network", std::string("small_cnn"), "network to train"})
      .param({"dataset", std::string("mnist14"), "data set to train on"})
      .param({"steps", int64_t{50}, "steps of dense training before the recorded one", 0, 1e6})
      .param({"batch-size", int64_t{128}, "images in a step", 1, 65536})
      .param({"recipe", std::string(), "name of the recipe; none: SGD, momentum 0.9"})
      .param({"learning-rate", 0.0, "learning rate; 0: the recipe's, or 0.05 without a recipe", 0,
              100})
      .param({.name = "device",
              .fallback = std::string(name(DeviceKind::kCpu)),
              .help = "device that trains",
              .choices = names_of_enum<DeviceKind>()})
      .param({"seed", int64_t{0}, "seed of the training and of the draws", 0});
}

std::vector<std::pair<LayerInfo, Operands>> recorded_layers(const StudyRequest& request) {
  const auto& params = request.params;
  RunConfig config;
  config.network = params.text("network");
  config.dataset = params.text("dataset");
  config.method = kDense;
  config.batch_size = params.integer("batch-size");
  config.seed = params.integer("seed");
  config.device = params.choice<DeviceKind>("device");
  if (request.recipe) {
    config.recipe = *request.recipe;
  } else {
    config.recipe.learning_rate = 0.05;
    config.recipe.epochs = 1'000'000;  // as many as the steps need
  }
  const double rate = params.real("learning-rate");
  if (rate > 0) config.recipe.learning_rate = rate;
  const auto dataset =
      open_dataset(config.dataset, request.place.data_dir, request.place.verify_data);
  Session session(config, dataset);
  const int64_t steps = params.integer("steps");
  if (steps >= session.total_steps()) {
    throw usage_error("study: --steps {}: the recipe ends after {} steps", steps,
                      session.total_steps());
  }
  for (int64_t i = 0; i < steps; ++i) session.step();
  std::vector<std::pair<LayerInfo, Operands>> layers;
  for (auto& layer : record_exact_pass(session)) {
    if (layer.second.dy.defined()) layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace approx
