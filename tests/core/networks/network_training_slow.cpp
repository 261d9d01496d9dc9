// Every network takes a step of training under every method in each of its modes.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>

#include "core/methods/freezing.h"
#include "core/methods/method.h"
#include "core/networks/network.h"
#include "core/train/session.h"

namespace approx {
namespace {

// As many images of noise as a batch holds, one class each.
LoadedDataset noise(int64_t channels, int64_t size, int64_t count) {
  struct Storage {
    std::vector<uint8_t> pixels;
    std::vector<int64_t> labels;
  };
  const auto storage = std::make_shared<Storage>();
  const Rng rng{.seed = 5};
  for (int64_t i = 0; i < count * size * size * channels; ++i) {
    storage->pixels.push_back(static_cast<uint8_t>(rng.block(static_cast<uint32_t>(i))[0]));
  }
  for (int64_t i = 0; i < count; ++i) storage->labels.push_back(i);
  LoadedDataset dataset;
  dataset.name = "noise";
  dataset.classes = 10;
  dataset.mean.assign(static_cast<size_t>(channels), 0.5);
  dataset.stddev.assign(static_cast<size_t>(channels), 0.29);
  dataset.train = {count, size, size, channels, storage->pixels, storage->labels, storage};
  dataset.test = dataset.train;
  return dataset;
}

// Every method as text, once in each of its modes, with the products that it then approximates.
std::vector<std::pair<std::string, std::vector<Product>>> every_method() {
  std::vector<std::pair<std::string, std::vector<Product>>> all;
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    std::vector<std::string> modes = {""};
    for (const auto& param : entry->params) {
      if (param.name == "mode") modes = param.choices;
    }
    for (const auto& mode : modes) {
      auto text = mode.empty() ? entry->name : fmt::format("{}:mode={}", entry->name, mode);
      // Few entries, made up for by their number in every layer, leave the range of a float.
      if (text == "random_entries") text += ":ratio=0.9";
      if (text == "int8") text += ":min_uses=0";  // otherwise it leaves small layers exact
      const Params params(entry->params, parse_spec(text));
      all.emplace_back(params.full_text(), entry->products_with(params));
    }
  }
  return all;
}

// The networks at their defaults, then in their other forms.
std::vector<std::string> every_network() {
  std::vector<std::string> all;
  for (const auto* entry : Registry<NetworkEntry>::instance().all()) all.push_back(entry->name);
  for (const auto* text : {"resnet18:form=cifar", "resnet50:form=cifar", "alexnet:form=cifar",
                           "resnet18:blurpool=true", "resnet50:blurpool=true,zero_init=true",
                           "regnetx_400mf:blurpool=true",
                           "wide_resnet:depth=10,width=2,dropout=0.3", "airbench:form=96"}) {
    all.emplace_back(text);
  }
  return all;
}

// Whether a method may need every multiplication in some network: by what it is; where it prunes a
// product's result; where it draws every pair; where a map is one position.
bool may_save_nothing(const std::string& method) {
  return method == "exact" || method == "stochastic_pruning" || method == "bernoulli_crs" ||
         method == "topk_position" || method == "random_position" || method == "gradient_filter" ||
         method == "vcas" || method == "int8";
}

// Whether a step may leave the weights as they were: vcas draws each of two images by itself, with
// some seeds none, and then has no gradient.
bool may_draw_nothing(const std::string& method) { return method == "vcas"; }

// Whether gradients may leave the range of a float: of two images, drawn anew in each of a hundred
// layers, they do so with most seeds. Which of them do depends on the draws.
bool may_overflow(const std::string& method, size_t layers) {
  return layers > 100 && (method == "crs" || method == "bernoulli_crs" || method == "uniform_crs" ||
                          method == "random_entries");
}

// Whether norms may do so: behind a filter that passes on one channel, a channel that a sample
// leaves out is constant, and a norm with an epsilon of 1e-12 makes its gradient a million times
// larger. airbench begins with such filters, and form 96 has nine norms.
bool norms_may_overflow(const std::string& network, const std::vector<Product>& products) {
  return network == "airbench:form=96" &&
         std::find(products.begin(), products.end(), Product::kForward) != products.end();
}

class NetworkTraining : public testing::TestWithParam<std::string> {};

// One session, one method a step: so the weights of a large network are drawn once.
TEST_P(NetworkTraining, TakesAStepUnderEveryMethod) {
  const auto name = parse_spec(GetParam()).name;
  const auto& described = Registry<NetworkEntry>::instance().find(name).input;
  const bool small = GetParam().find("form=cifar") != std::string::npos;
  // Photographs shrunk to what every network takes.
  const auto dataset = noise(described.channels, std::min<int64_t>(described.size, small ? 32 : 64),
                             /*count=*/2);
  auto methods = every_method();
  const auto of_blocks = [](const std::string& text) {
    return Registry<MethodEntry>::instance().find(parse_spec(text).name).stops_blocks;
  };
  const auto built = make_network(GetParam(), {described.channels, described.size}, /*seed=*/0);
  // Nothing trains where all layers are frozen (core/train/frozen_steps_test.cpp).
  std::erase_if(methods, [](const auto& method) {
    return dynamic_cast<FreezingMethod*>(make_method(method.first).get()) != nullptr;
  });
  if (built->branches().empty()) {
    std::erase_if(methods, [&](const auto& method) { return of_blocks(method.first); });
  }

  RunConfig config;
  config.network = GetParam();
  config.dataset = dataset.name;
  config.method = "mixed";
  config.split = SplitKind::kPaper;
  config.batch_size = 2;
  config.recipe.learning_rate = 1e-3;
  config.recipe.momentum = 0;
  config.recipe.epochs = static_cast<int64_t>(methods.size());
  for (size_t i = 0; i < methods.size(); ++i) {
    Rule rule;
    rule.layers = "name=*";
    rule.steps = fmt::format("{}", i);
    rule.method = methods[i].first;
    config.schedule.push_back(rule);
  }
  at::set_num_threads(1);  // other tests run beside this one
  Session session(config, dataset);
  const auto parameters = session.network().parameters();
  std::vector<at::Tensor> before;
  for (const auto& parameter : parameters) before.push_back(parameter.detach().clone());
  for (const auto& [text, products] : methods) {
    SCOPED_TRACE(text);
    session.step();
    EXPECT_TRUE(std::isfinite(session.take_mean_loss()));
    if (!may_overflow(parse_spec(text).name, session.network().layers().size()) &&
        !norms_may_overflow(GetParam(), products)) {
      EXPECT_EQ(session.network().first_bad_parameter(), "");
    }
    bool moved = false;
    for (size_t i = 0; i < parameters.size() && !moved; ++i) {
      moved = !at::equal(parameters[i].detach(), before[i]);
    }
    EXPECT_TRUE(moved || may_draw_nothing(parse_spec(text).name));
    // Each method starts from the same weights: sampled gradients of two images, sampled anew in
    // each of 150 layers, grow by ten orders of magnitude on their way back, and one step of that
    // leaves nothing for the next.
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].detach().copy_(before[i]);
  }

  struct Work {
    int64_t calls = 0;
    double done = 0, dense = 0;
  };
  std::map<std::pair<std::string, std::string>, Work> work;  // by method and product
  for (const auto& event : session.layer_events()) {
    if (event["event"] != "layer") continue;
    auto& sum = work[{event["method"], event["product"]}];
    sum.calls += event["calls"].get<int64_t>();
    sum.done += event["macs_done"].get<double>();
    sum.dense += event["macs_dense"].get<double>();
  }
  for (const auto& [text, products] : methods) {
    for (const auto product : products) {
      SCOPED_TRACE(fmt::format("{} {}", text, approx::name(product)));
      const auto& sum = work[{text, std::string(approx::name(product))}];
      // The first layer needs no gradient of the image, and a frozen one stays exact.
      int64_t layers = 0;
      for (const auto* layer : session.network().layers()) {
        const bool meant = !of_blocks(text) || !layer->info.block.empty();
        layers += meant && layer->info.computes(product) && !layer->info.frozen ? 1 : 0;
      }
      EXPECT_EQ(sum.calls, layers);
      EXPECT_LE(sum.done, sum.dense);
      if (!may_save_nothing(parse_spec(text).name)) {
        EXPECT_LT(sum.done, sum.dense);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, NetworkTraining, testing::ValuesIn(every_network()),
                         [](const auto& info) {
                           std::string text = info.param;
                           std::replace_if(
                               text.begin(), text.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return text;
                         });

}  // namespace
}  // namespace approx
