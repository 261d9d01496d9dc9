// Applies a schedule to a network. It tells every layer before each step what to do, owns the
// methods, and counts their work.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/schedule.h"
#include "core/methods/method.h"
#include "core/nn/branch.h"
#include "core/nn/layers.h"
#include "core/parallel/collectives.h"
#include "core/train/checkpoint.h"
#include "core/train/frozen_parameters.h"
#include "core/train/gradient_variance.h"
#include "core/train/step_graphs.h"
#include "core/train/variance_control.h"

namespace approx {

// Lets a layer compute exactly and count nothing, until a step gives it orders. The layer
// still knows whether a norm follows.
void make_exact(Layer& layer);

class ScheduledLayers {
 public:
  // Throws Error(kUsage) if a schedule that tells ranks apart has a method with a memory: a
  // checkpoint joins the memories of all ranks. Nor may such a schedule freeze layers, which all
  // ranks have to freeze together. Throws it too for several methods with controlled ratios, and
  // for one if there are several ranks. `layers` must outlive this object. `seed` keys every draw
  // of the methods. `world`: the ranks of the network and this one among them, as in the schedule.
  // `branches`: those of the network, for schedules that stop some; they must outlive this object
  // too.
  ScheduledLayers(std::vector<Layer*> layers, Schedule schedule, uint64_t seed, World world = {},
                  std::vector<BranchImpl*> branches = {});

  // Whether the sensitivities of blocks are to be measured before `step` begins.
  bool wants_sensitivities(int64_t step) const { return schedule_.wants_sensitivities(step); }

  // The branches whose sensitivity is to be measured.
  std::vector<BranchImpl*> measured_branches() const;

  // Lets every layer and branch compute exactly and count nothing, until a step begins.
  void begin_exact();

  // Takes the sensitivities, by block. If one is not finite they are ignored, and asked for again
  // before the next step: a loss scale may have been too large.
  void set_sensitivities(const std::map<std::string, double>& of_blocks);

  // The share of the steps at which each measured block is stopped, by block.
  std::vector<std::pair<std::string, double>> block_rates() const;

  // Whether a method of `step` has controlled ratios, and they are to be measured before the step
  // begins.
  bool wants_variance(int64_t step) const;

  // The steps from one measurement of controlled ratios to the next. Nothing if no method has them.
  std::optional<int64_t> measured_every() const;

  // The layers of `step` whose method has controlled ratios, in the order of the forward pass.
  std::vector<ControlledLayer> controlled_layers(int64_t step);

  // Gives orders for a pass of a measurement at `step`: layers with controlled ratios compute as
  // the pass says, all others exactly. Nothing is counted. Its draws are those of no other pass.
  void begin_measured(int64_t step, const MeasuredPass& pass, const at::Tensor& loss_scale = {});

  // Takes the measurement at `step`, of batches of `images` images. If it is not finite it is
  // ignored, and asked for again before the next step.
  void set_variance(int64_t step, const GradientVariance& measured, int64_t images);

  // The controlled ratios of the layers that were measured, by layer.
  std::map<std::string, ExampleRatios> controlled_ratios() const { return control_.ratios(); }

  // The cost of control so far. Nothing if no method has controlled ratios.
  struct ControlCost {
    double passes = 0;  // multiply-accumulates of all measurements, as a share of exact steps
    double saved = 0;   // those that the steps have saved, as a share of exact steps
  };
  std::optional<ControlCost> control_cost() const;

  // Whether a training of `steps` steps measures the variance at all. True where no method has
  // controlled ratios.
  bool measures_variance_within(int64_t steps) const;

  // Sets frozen() to that of `step`. begin_step() does it, too.
  void begin_frozen(int64_t step);

  // Fills every layer's slot and gives every branch its orders for `step`. `loss_scale` is that of
  // MethodCall, undefined: 1; `step_at` is that of Rng. Costs a few comparisons per layer and rule.
  void begin_step(int64_t step, const at::Tensor& loss_scale = {},
                  const uint64_t* step_at = nullptr);

  // The decisions for the step that began last: by layer and product an index into the schedule's
  // methods, or Decision::kDense. If the schedule stops blocks, a number below that follows for
  // each branch: the rule that decides, and whether it stops. If the schedule tells ranks apart,
  // the decisions for each rank follow: two steps are alike only if they are alike on all ranks.
  const std::vector<int>& row() const { return row_; }

  // The layers that do not train in the step that began last (core/methods/freezing.h).
  const FrozenLayers& frozen() const { return frozen_; }

  // The factor on the learning rate at a step (Rule::rate).
  double rate_at(int64_t step) const { return schedule_.rate_at(step); }

  // Why the host must wait for a method of the present step, on any rank: the first such reason,
  // with the method; "": it need not.
  std::string waits_for() const;

  // The counters that steps change on the host, apart from begin_step(). They live as long as this
  // object.
  HostCounts host_counts();

  // The computed part of a layer's weight gradient in the step that began last; its address does
  // not change. Null if there is one rank, or no layer of that name.
  const GradientPart* part(std::string_view layer) const;

  // See Schedule::observe.
  bool observe(double accuracy, int64_t steps_done);

  // The share of entries that were kept of a layer's pruned gradients, over all methods.
  struct Density {
    std::string layer;
    Product product;
    double value;
  };
  // The densities in the steps since the last call, for each layer and product that was pruned in
  // them. Waits for the device.
  std::vector<Density> take_densities();

  // Whether the steps that begin from now on count the gradients of the convolutions' outputs.
  void count_gradients(bool count) { counts_gradients_ = count; }

  // The share of entries that were not zero in the last step that counted, over all convolutions.
  // Nothing if there are none. Waits for the device.
  std::optional<double> take_gradient_density();

  // Events of the layers (docs/internals/events.md):
  // - a "layer" event per layer, product and method that was used;
  // - a "layer" event per layer and product for its exact calls;
  // - a "variant" event per layer, product and variant that computed it.
  std::vector<Json> events() const;

  // Everything that steps change here: the counts of this rank, the accuracies and sensitivities
  // that the schedule was told, and the memories of methods. A memory is by position in the batch.
  // With several ranks all must call this, and the checkpoint has the memory of the whole batch.
  // Any number of ranks can take its rows from that. A memory that is one number is each rank's
  // own; another number of ranks resumes from the mean.
  void save(Checkpoint& checkpoint, Collectives* ranks = nullptr) const;
  void restore(const Checkpoint& checkpoint, at::Device device);

 private:
  // Calls by kind of plan and variant.
  using VariantCalls = std::map<std::pair<std::string, std::string>, int64_t>;

  struct PerLayer {
    Layer* layer;
    std::vector<std::unique_ptr<Method>> methods;       // by method; made when first used
    std::vector<std::array<UseCount, 3>> approximated;  // by method, then by product
    std::vector<KeptBefore> kept_before;                // by method
    std::array<int64_t, 3> exact{};                     // calls, by product
    std::array<double, 3> exact_macs{};                 // of exact calls
    std::array<double, 3> seen_kept{}, seen_entries{};  // counted by take_densities, by product
    GradientCount gradient;
    GradientPart part;
    LayerVariants variants;                        // of the steps of this process
    std::array<VariantCalls, 3> earlier_variants;  // of the steps before the checkpoint, by product

    // Calls in the steps of this process and before.
    VariantCalls variant_calls(Product product) const;
  };

  // Whether a layer has the method with controlled ratios at a step.
  bool is_controlled(size_t layer, int64_t step) const;
  // That method; null: it has not.
  VarianceControlled* controlled(size_t layer, int64_t step);
  Method& method_of(PerLayer& layer, size_t index);
  void apply_ratios();
  void begin_branches(int64_t step);
  // The method that leaves a product out as its backward pass is ended: an index into the
  // schedule's methods; kDense: none does.
  int ending(size_t layer, Product product, int64_t step) const;
  void add_all_ranks(int64_t step);
  // `own`: this rank's method for the weight gradient.
  void begin_part(size_t layer, int64_t step, int own);

  Schedule schedule_;
  std::vector<std::pair<double, int64_t>> observed_;  // arguments of observe()
  std::map<std::string, double> sensitivities_;       // by block; empty: not measured
  std::vector<PerLayer> layers_;
  std::vector<BranchImpl*> branches_;  // none if the schedule stops no blocks
  std::vector<int> row_;
  uint64_t seed_;
  World world_;
  std::vector<bool> abstains_, freezes_;  // by method
  FrozenLayers frozen_;
  std::vector<std::unique_ptr<Method>> prototypes_;  // by method; answer questions only
  int controlled_ = -1;                              // the method with controlled ratios; -1: none
  VarianceControl control_;                          // of that method
  int64_t measured_from_ = 0;  // the next measurement is at this step or later
  double measured_macs_ = 0;   // multiply-accumulates of all measurements
  bool counts_gradients_ = false;
};

}  // namespace approx
