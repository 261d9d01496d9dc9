// Steps in which layers are frozen: what trains, what is computed, and that what trains is what it
// would be.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/networks/network.h"
#include "core/train/frozen_parameters.h"
#include "core/train/session.h"
#include "tests/core/train/repeating_recorder.h"
#include "tests/core/train/same_training.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

RunConfig freezing_run(const std::string& network, const std::vector<Rule>& rules) {
  auto config = toy_run("freeze_layers", "", /*epochs=*/20);
  config.network = network;
  config.schedule = rules;
  config.recipe.momentum = 0.9;
  config.recipe.weight_decay = 1e-3;
  return config;
}

std::map<std::string, at::Tensor> tensors_of(const Session& session) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : session.save().tensors) tensors[name] = tensor.clone();
  return tensors;
}

bool is_of_parameter(const std::string& name) {
  return name.starts_with("parameter:") || name.starts_with("optimizer:");
}

// In every network, however far the freezing reaches: no parameter before the first layer that
// trains moves, nor does its momentum; all others move as without it.
TEST(FrozenSteps, LeaveWhatComesBeforeAloneAndTrainTheRestAsEver) {
  const auto dataset = toy_dataset();
  for (const auto* network : {"small_cnn:width=4", "resnet14", "wide_resnet:depth=10,width=1",
                              "resnet9_celu:width=8", "mnist_mlp:hidden=8,dropout=0"}) {
    Session any(freezing_run(network, {{.layers = "name=*", .steps = "200::1"}}), dataset);
    std::vector<std::string> names;
    for (const auto* layer : any.network().layers()) names.push_back(layer->info.name);
    std::vector<std::string> parameters;
    for (const auto& item : any.network().named_parameters()) parameters.push_back(item.key());
    for (size_t leading = 1; leading < names.size(); ++leading) {
      SCOPED_TRACE(fmt::format("{}: {} layers", network, leading));
      std::vector<Rule> rules;
      for (size_t i = 0; i < leading; ++i) rules.push_back({.layers = "name=" + names[i]});
      auto plain = freezing_run(network, {});
      plain.method = "dense";
      Session exact(plain, dataset);
      std::unique_ptr<Session> frozen;
      try {
        frozen = std::make_unique<Session>(freezing_run(network, rules), dataset);
      } catch (const Error& error) {  // a layer that whitens trains nothing anyway
        EXPECT_EQ(leading, 1u) << error.what();
        EXPECT_NE(std::string(error.what()).find("approximates nothing"), std::string::npos);
        continue;
      }
      const auto before = tensors_of(*frozen);
      exact.step();
      frozen->step();
      const auto with = tensors_of(*frozen), without = tensors_of(exact);
      // Up to the first parameter of a later layer.
      std::set<std::string> still;
      for (const auto& name : parameters) {
        const auto module = name.substr(0, name.rfind('.'));
        const auto at = std::ranges::find(names, module) - names.begin();
        const auto layer = static_cast<size_t>(at);
        if (layer >= leading && layer < names.size()) break;
        still.insert(name);
      }
      EXPECT_FALSE(still.empty());
      for (const auto& [name, tensor] : with) {
        if (!is_of_parameter(name)) continue;
        const auto parameter = name.substr(name.find(':') + 1);
        if (parameter == "whiten.weight") {  // taken from the images at the first step
          EXPECT_TRUE(at::equal(tensor, without.at(name)));
          continue;
        }
        const bool is_still = std::ranges::any_of(still, [&](const std::string& one) {
          return parameter == one || parameter.starts_with(one + ":");
        });
        if (is_still) {
          EXPECT_TRUE(at::equal(tensor, before.at(name))) << name;
        } else {  // a layer that computes one gradient alone may round otherwise
          EXPECT_TRUE(at::allclose(tensor, without.at(name), 1e-4, 1e-5)) << name;
          EXPECT_FALSE(at::equal(tensor, before.at(name))) << name;
        }
      }
      // Running statistics of norms move as ever.
      for (const auto& [name, tensor] : with) {
        if (!name.starts_with("buffer:")) continue;
        EXPECT_TRUE(at::equal(tensor, without.at(name))) << name;
      }
    }
  }
}

// A frozen layer among others that train: it alone stands still, and the gradient passes it.
TEST(FrozenSteps, AFrozenLayerFurtherBackStandsStillAlone) {
  const auto dataset = toy_dataset();
  Session session(freezing_run("resnet14", {{.layers = "4"}}), dataset);
  const auto before = tensors_of(session);
  session.step();
  const auto name = session.network().layers()[3]->info.name;
  for (const auto& [key, tensor] : tensors_of(session)) {
    if (!is_of_parameter(key)) continue;
    EXPECT_EQ(at::equal(tensor, before.at(key)), key.find(name + ".weight") != std::string::npos)
        << key;
  }
}

// A rule ends, and the layers train on.
TEST(FrozenSteps, EndWithTheirRule) {
  const auto dataset = toy_dataset();
  Session session(
      freezing_run("small_cnn:width=4", {{.layers = "1+2", .from = "1ba", .until = "3ba"}}),
      dataset);
  const auto moves = [&] {
    const auto before = tensors_of(session);
    session.step();
    return !at::equal(tensors_of(session).at("parameter:conv1.weight"),
                      before.at("parameter:conv1.weight"));
  };
  EXPECT_EQ((std::vector<bool>{moves(), moves(), moves(), moves()}),
            (std::vector<bool>{true, false, false, true}));
}

// The products that are left out are counted with the multiplications that they would have had, and
// no variant computes them.
TEST(FrozenSteps, CountWhatIsLeftOut) {
  const auto dataset = toy_dataset();
  Session session(freezing_run("resnet14", {{.layers = "1"}, {.layers = "2"}, {.layers = "3"}}),
                  dataset);
  for (int i = 0; i < 4; ++i) session.step();
  std::map<std::string, int64_t> index;
  int64_t place = 0;
  for (const auto* layer : session.network().layers()) index[layer->info.name] = place++;
  std::map<std::pair<std::string, std::string>, int64_t> computed;
  for (const auto& event : session.layer_events()) {
    if (event["event"] != "variant") continue;
    computed[{event["layer"], event["product"]}] += event["calls"].get<int64_t>();
  }
  int64_t left_out = 0;
  for (const auto& event : session.layer_events()) {
    if (event["event"] != "layer") continue;
    const std::string layer = event["layer"], product = event["product"];
    SCOPED_TRACE(layer + " " + product);
    const int64_t at = index.at(layer);
    const bool skips = (product == "weight_gradient" && at < 3) ||
                       (product == "data_gradient" && at >= 1 && at <= 3);
    EXPECT_EQ(event["method"], skips ? "freeze_layers" : "dense");
    EXPECT_EQ((computed[{layer, product}]), skips ? 0 : 4);
    if (!skips) continue;
    ++left_out;
    EXPECT_EQ(event["calls"], 4);
    EXPECT_EQ(event["macs_done"], 0);
    EXPECT_GT(event["macs_dense"], 0);
  }
  EXPECT_EQ(left_out, 6);
}

// Steps with equally many frozen layers are one row, and replayed.
TEST(FrozenSteps, ReplayedTrainAsAny) {
  const auto dataset = toy_dataset();
  auto config = toy_run("freeze_layers", "freeze_layers:layers=2,from=0.3,until=0.6", 2);
  config.batch_size = 16;
  Session plain(config, dataset), captured(config, dataset);
  Repetitions seen;
  captured.capture_steps(std::make_unique<RepeatingRecorder>(seen));
  train_both(plain, captured, plain.total_steps());
  expect_same(plain, captured);
  EXPECT_TRUE(seen.differences.empty()) << seen.differences[0];
  EXPECT_EQ(captured.graph_report()->rows, 3);
}

TEST(FrozenSteps, SomethingMustTrainOnAllRanks) {
  const auto dataset = toy_dataset();
  Session all(freezing_run("small_cnn:width=4", {{.layers = "name=*"}}), dataset);
  try {
    all.step();
    ADD_FAILURE() << "nothing trains";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("freezes every parameter"), std::string::npos);
  }
}

TEST(FrozenParameters, HoldThoseOfFrozenLayersAndAllBeforeTheFirstThatTrains) {
  std::vector<std::pair<std::string, at::Tensor>> parameters;
  for (const auto* name : {"norm0.bias", "conv1.weight", "norm1.weight", "conv2.weight",
                           "conv2.bias", "norm2.weight", "linear.weight"}) {
    parameters.emplace_back(name, at::zeros({2}).set_requires_grad(true));
  }
  FrozenParameters frozen(parameters, {"conv1", "conv2", "linear"});
  const auto trains = [&] {
    std::string text;
    for (const auto& parameter : parameters) text += parameter.second.requires_grad() ? '*' : '.';
    return text;
  };
  frozen.freeze({});
  EXPECT_EQ(trains(), "*******");
  frozen.freeze({{true, false, false}, 1});
  EXPECT_EQ(trains(), "...****");
  frozen.freeze({{true, true, false}, 2});
  EXPECT_EQ(trains(), "......*");
  frozen.freeze({{false, true, false}, 0});
  EXPECT_EQ(trains(), "***..**");
  frozen.freeze({});
  EXPECT_EQ(trains(), "*******");
  EXPECT_THROW(frozen.freeze({{true, true, true}, 3}), Error);
}

}  // namespace
}  // namespace approx
