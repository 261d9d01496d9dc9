// A batch source chooses the examples that a step trains on. It stands between the data and the
// step, and knows every example by its id: its row in the training part.
//
// A step has `batch` candidates, and an epoch is one pass over the candidates. The source only
// decides which candidates a step trains on. The number of steps and the course of the learning
// rate do not depend on it. There are two kinds of sources:
// - plan() chooses before an epoch, on the host, from what is remembered of earlier steps.
// - choose() chooses in each step, on the device, from the losses of its candidates.
//
// To add a source, write core/selections/<name>.cpp that ends in REGISTER_SELECTION. The build
// finds the file. `list`, experiment files, the completion and the contract test then see it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_text.h"
#include "base/params.h"
#include "base/registry.h"
#include "core/config/catalogue.h"
#include "kernels/rng.h"

namespace approx {

// The stream of sources' draws, beside those of RngStream.
inline constexpr uint32_t kSelectionStream = 5;

// The number that is remembered of an example, from the last step that trained on it.
// - kLoss: its loss;
// - kNorm: the norm of the loss's gradient in its logits;
// - kMargin: its loss minus the mean loss of its batch.
enum class Remembered { kNothing, kLoss, kNorm, kMargin };

// Who computes the losses of the candidates of each step. kNetwork: the network that trains, by a
// forward pass without a gradient. kProxy: a small network that trains beside it.
enum class ScoredBy { kNobody, kNetwork, kProxy };

// The small network that scores candidates. In every `train_every`-th step it trains on the
// candidates that the step keeps, or on all of them. Loss, update rule, initialisation, ghost
// batches, first_bias_epochs and learning rate are those of the training. There is no average of
// its weights (ema) and no lookahead.
struct ProxySettings {
  std::string network;  // full text
  int64_t train_every = 1;
  bool trains_on_all = false;
};

// The facts that a source gets to plan an epoch.
struct EpochCall {
  int64_t epoch = 0;                // from 0
  double epochs = 1;                // of the training; the last one may be partial
  int64_t batch = 1;                // candidates of a step
  int64_t steps = 1;                // steps of an epoch
  std::vector<int64_t> order = {};  // the ids of all examples in random order, each once
  // [N] float on the host, by id. NaN: no step has trained on the example yet. Undefined for a
  // source that remembers nothing.
  at::Tensor remembered = {};
  Rng rng = {};  // of the epoch
};

// The examples of an epoch in the order of training. Each step takes `per_step` of them; 0: as many
// as kept_per_step() says. `weights` are factors of the examples' losses, one per id; empty: all
// are 1. A step's loss is the mean of the weighted losses.
struct EpochPlan {
  std::vector<int64_t> ids;
  std::vector<float> weights = {};
  int64_t per_step = 0;
};

// The sizes of a training.
struct SourceSizes {
  int64_t examples = 0;  // of the training part
  int64_t batch = 1;     // candidates of a step
  int64_t steps = 1;     // steps of an epoch
};

// The facts that a source gets to choose in a step. [B] on the device each.
struct BatchCall {
  at::Tensor losses;   // of the candidates, float
  at::Tensor uniform;  // a draw for each candidate, float in (0, 1)
  int64_t kept = 1;    // how many to choose
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // The number that plan() wants to be remembered.
  virtual Remembered remembers() const { return Remembered::kNothing; }

  // Whether plan() may give weights.
  virtual bool weighs() const { return false; }

  // The examples of an epoch. Equal calls give equal plans.
  virtual EpochPlan plan(const EpochCall& call) { return {.ids = call.order}; }

  // The least number of examples that a step trains on. A source that chooses in steps trains on
  // so many in every step, so that the shapes of a step do not change.
  virtual int64_t least_kept(const SourceSizes& sizes) const { return sizes.batch; }

  // Whose losses choose() reads; kNobody: a step trains on what the epoch's plan has for it.
  virtual ScoredBy scored_by() const { return ScoredBy::kNobody; }

  // kProxy only.
  virtual ProxySettings proxy() const { return {}; }

  // The positions [kept] int64 of the candidates to train on, none twice. It must not wait for the
  // device.
  virtual at::Tensor choose(const BatchCall& call);
};

struct SelectionEntry : SelectionInfo {
  static constexpr const char* kWhat = "selection";
  std::function<std::unique_ptr<BatchSource>(const Params&)> make;

  // Chained onto REGISTER_SELECTION.
  SelectionEntry& about(std::string text) { return summary = std::move(text), *this; }
  SelectionEntry& from_paper(std::string id, std::string at) {
    return paper = std::move(id), paper_at = std::move(at), *this;
  }
  // The source keeps everything in the first epoch, so that a timing run would not time it.
  SelectionEntry& begins_after_an_epoch() { return after_an_epoch = true, *this; }
  // The version of its results, from 1. Raise it when they change.
  SelectionEntry& in_version(int64_t number) { return version = number, *this; }
  SelectionEntry& param(ParamSpec spec) { return params.push_back(std::move(spec)), *this; }
};

// The source of `name:key=value,...`. Throws Error(kUsage).
std::unique_ptr<BatchSource> make_selection(std::string_view text);

// The sources registered in this library.
std::vector<SelectionInfo> library_selections();

// The number of examples that each of `steps` steps trains on, if an epoch keeps `kept`. It is at
// most `batch`. From a sixteenth of the batch on it is a multiple of that. So a training has few
// sizes, each of which needs a captured graph of its own on a GPU.
int64_t kept_per_step(int64_t kept, int64_t steps, int64_t batch);

// Throws Error(kUsage), which names `text`, if the source may leave a step without an example.
void check_leaves_batches(const BatchSource& source, std::string_view text,
                          const SourceSizes& sizes);

// Throws Error(kInternal) for an id that is none of `count` examples or is in the plan twice. Also
// throws it for weights that do not fit the ids. `text` is the source's name.
void check_plan(const EpochPlan& plan, std::string_view text, int64_t epoch, int64_t count);

// The parameter of sources that keep a fixed share of a step's candidates.
ParamSpec ratio_param(double fallback);
int64_t share_of(double ratio, int64_t batch);

// The plan of sources that prune the examples that a network has learnt well. `well` says of each
// id whether it is one. Int((1 - r) n) of the n well-learnt examples stay, drawn without
// replacement, and are weighted by 1 / (1 - r). All weights are multiplied by the share of
// examples that stay, so that the expected gradient of a step is that of all examples.
EpochPlan prune_well_learnt(const EpochCall& call, const std::vector<bool>& well, double r);
int64_t least_kept_of_pruned(int64_t count, double r);

// Whether an epoch trains on everything: one that ends behind a share `delta` of the training. So
// the last one always does, for a delta below 1.
bool trains_on_everything(const EpochCall& call, double delta);

// The parameters of sources that prune: `r`, and `delta`, the share of the epochs that are pruned.
ParamSpec prune_param();
ParamSpec until_param();

template <typename Type>
SelectionEntry& register_selection(std::string name) {
  auto& entry = Registry<SelectionEntry>::instance().add(std::move(name));
  entry.make = [](const Params& params) { return std::make_unique<Type>(params); };
  return entry;
}

}  // namespace approx

#define REGISTER_SELECTION(NAME, TYPE)                                                \
  [[maybe_unused]] static ::approx::SelectionEntry& APPROX_UNIQUE(selection_entry_) = \
      ::approx::register_selection<TYPE>(NAME)
