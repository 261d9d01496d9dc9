// A schedule applied to a network: tells every layer before each step what to do, owns the methods,
// and counts what was done.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/schedule.h"
#include "core/methods/method.h"
#include "core/nn/layers.h"
#include "core/parallel/collectives.h"
#include "core/train/checkpoint.h"
#include "core/train/step_graphs.h"

namespace approx {

class ScheduledLayers {
 public:
  // Throws Error(kUsage) where a schedule that tells ranks apart has a method with a memory: what a
  // checkpoint has of it is put together from all ranks.
  // `layers` must outlive this object. `seed` keys every random draw of the methods. `world`: of
  // which the network's ranks are, as the schedule was made for.
  ScheduledLayers(std::vector<Layer*> layers, Schedule schedule, uint64_t seed, World world = {});

  // Fills every layer's slot for `step`. `loss_scale` as MethodCall has it, undefined: 1; `step_at`
  // as Rng has it. Costs a few comparisons per layer and rule.
  void begin_step(int64_t step, const at::Tensor& loss_scale = {},
                  const uint64_t* step_at = nullptr);

  // What the schedule decided for the step that began last: by layer and product an index into its
  // methods, or Decision::kDense. Where the schedule tells ranks apart, what it decided for each of
  // them stands behind: steps are alike only if they are alike on all ranks.
  const std::vector<int>& row() const { return row_; }

  // The first method of the same step that the host must wait for, on any rank, and what for; ""
  // for none.
  std::string waits_for() const;

  // What steps count here on the host beside what begin_step() does; as long as this object lives.
  HostCounts host_counts();

  // The part of a layer's weight gradient in the step that began last; its place does not change.
  // Null where there is one rank, or no layer of the name.
  const GradientPart* part(std::string_view layer) const;

  // See Schedule::observe.
  bool observe(double accuracy, int64_t steps_done);

  // The share of entries that stayed of a layer's pruned gradients, over all methods.
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

  // The share of entries that were not zero in the last step that counted, over all convolutions;
  // nothing where there are none. Waits for the device.
  std::optional<double> take_gradient_density();

  // One "layer" event (docs/internals/events.md) per layer, product and method that was used, and
  // one per layer and product for its exact calls; one "variant" event per layer, product and
  // variant that computed it.
  std::vector<Json> events() const;

  // Everything that steps change here: the counts, which are this rank's, the accuracies that the
  // schedule was told, and what methods remember. That goes by the position in the batch: of
  // several ranks, all of which must call this, the checkpoint has the memory of the whole batch,
  // from which any number of ranks takes its rows; a number is each rank's own, and the mean of all
  // where there are others to go on.
  void save(Checkpoint& checkpoint, Collectives* ranks = nullptr) const;
  void restore(const Checkpoint& checkpoint, at::Device device);

 private:
  // Calls by kind of plan and variant.
  using VariantCalls = std::map<std::pair<std::string, std::string>, int64_t>;

  struct PerLayer {
    Layer* layer;
    std::vector<std::unique_ptr<Method>> methods;       // by index in Schedule::methods(), lazily
    std::vector<std::array<UseCount, 3>> approximated;  // likewise, by product
    std::vector<KeptBefore> kept_before;                // by method
    std::array<int64_t, 3> exact{};                     // calls, by product
    std::array<double, 3> exact_macs{};                 // of them
    std::array<double, 3> seen_kept{}, seen_entries{};  // by take_densities, by product
    GradientCount gradient;
    GradientPart part;
    LayerVariants variants;                        // of the steps of this process
    std::array<VariantCalls, 3> earlier_variants;  // of those before the checkpoint, by product

    // The calls of both.
    VariantCalls variant_calls(Product product) const;
  };

  void add_all_ranks(int64_t step);
  // `own`: this rank's method for the weight gradient.
  void begin_part(size_t layer, int64_t step, int own);

  Schedule schedule_;
  std::vector<std::pair<double, int64_t>> observed_;  // what observe() was told
  std::vector<PerLayer> layers_;
  std::vector<int> row_;
  uint64_t seed_;
  World world_;
  std::vector<bool> abstains_;                       // by method
  std::vector<std::unique_ptr<Method>> prototypes_;  // likewise: what may be asked of it unused
  bool counts_gradients_ = false;
};

}  // namespace approx
