// What a training step asks of LibTorch: nothing that would make the host wait for a device, and
// the same operators on the same shapes every time. A step with these two properties can be
// captured as a graph.
#include <ATen/record_function.h>
#include <torch/torch.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/method.h"
#include "core/network.h"
#include "core/session.h"
#include "tests/testing.h"

namespace approx {
namespace {

// The operators dispatched while one lives, each with the sizes of its tensors. One at a time.
class Operators {
 public:
  Operators() {
    calls().clear();
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&record).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  }
  ~Operators() { at::removeCallback(handle_); }
  Operators(const Operators&) = delete;
  Operators& operator=(const Operators&) = delete;

  static std::vector<std::string>& calls() {
    static std::vector<std::string> list;
    return list;
  }

  // Those whose result the host must wait for: values read, shapes that depend on values.
  static std::vector<std::string> waits() {
    static const std::vector<std::string> kWaiting = {"aten::item",
                                                      "aten::_local_scalar_dense",
                                                      "aten::is_nonzero",
                                                      "aten::nonzero",
                                                      "aten::equal",
                                                      "aten::masked_select",
                                                      "aten::_unique2",
                                                      "aten::unique_dim",
                                                      "aten::repeat_interleave",
                                                      "aten::_assert_async",
                                                      "aten::where"};
    std::vector<std::string> found;
    for (const auto& call : calls()) {
      const auto name = call.substr(0, call.find(' '));
      // where() of one argument is nonzero(); that of three waits for nothing.
      if (name == "aten::where" && std::count(call.begin(), call.end(), '[') > 1) continue;
      if (std::ranges::find(kWaiting, name) != kWaiting.end()) found.push_back(call);
    }
    return found;
  }

 private:
  static std::unique_ptr<at::ObserverContext> record(const at::RecordFunction& function) {
    std::string call = function.name();
    for (const auto& input : function.inputs()) {
      if (input.isTensor() && input.toTensor().defined()) {
        call += fmt::format(" [{}]", fmt::join(input.toTensor().sizes(), ","));
      }
    }
    calls().push_back(std::move(call));
    return nullptr;
  }

  at::CallbackHandle handle_;
};

RunConfig busy_config() {
  RunConfig config;
  config.network = "resnet14";
  config.dataset = "toy";
  config.batch_size = 8;
  config.threads = 1;
  config.recipe.epochs = 1;
  config.recipe.crop_padding = 1;
  config.recipe.flip = true;
  config.recipe.cutout = 2;
  config.recipe.label_smoothing = 0.1;
  config.recipe.clip_norm = 1;
  config.recipe.ema = 0.9;
  return config;
}

std::vector<std::string> operators_of_step(Session& session) {
  const Operators operators;
  session.step();
  return Operators::calls();
}

TEST(Step, OfADenseNetworkWaitsForNothingAndIsTheSameEveryTime) {
  const auto dataset = toy_dataset();
  for (const char* optimizer : {"sgd", "adam"}) {
    auto config = busy_config();
    config.recipe.optimizer = optimizer;
    Session session(config, dataset);
    session.step();
    const auto second = operators_of_step(session);
    EXPECT_GT(second.size(), 100u) << "the operators were not recorded";
    // LibTorch's fused Adam for the CPU, and it alone, reads the counts of its steps: an item() and
    // what that is made of for each parameter.
    const bool reads_counts = config.recipe.optimizer == "adam";
    const size_t reads = reads_counts ? 2 * session.network().parameters().size() : 0;
    EXPECT_EQ(Operators::waits().size(), reads) << optimizer;
    EXPECT_EQ(operators_of_step(session), second) << optimizer;
  }
}

TEST(Step, ThatWaitsIsSeen) {
  const Operators operators;
  at::ones({2}).sum().item<float>();
  EXPECT_FALSE(Operators::waits().empty());
}

// The methods that ask the device for a value in the middle of a step, to decide by it: sampling,
// which computes exactly where a score is not finite. Every other method waits no more than dense.
TEST(Step, OfWhichMethodsWaits) {
  const auto dataset = toy_dataset();
  std::vector<std::string> waiting;
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    auto config = busy_config();
    config.method = entry->name;
    config.schedule = make_schedule("slice:layers=1");
    Session session(config, dataset);
    session.step();
    const auto second = operators_of_step(session);
    if (!Operators::waits().empty()) waiting.push_back(entry->name);
  }
  std::ranges::sort(waiting);
  EXPECT_EQ(waiting,
            (std::vector<std::string>{"bernoulli_crs", "crs", "topk_crs", "topk_weights"}));
}

}  // namespace
}  // namespace approx
