// A schedule maps (layer, step, product) to a method or to the exact computation: Wang et al.
// 2019, section 2.5, "approximation schedule", as an ordered list of rules; and where several ranks
// train the network together, (rank, layer, step, product), which section 5 proposes for machines
// (of the extended text). It names methods and layers and knows neither tensors nor devices.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/position.h"
#include "core/config/rule.h"
#include "core/config/slice.h"
#include "products/product.h"

namespace approx {

// What is to be done for the three products of one layer at one step: an index into
// Schedule::methods(), or kDense.
struct Decision {
  static constexpr int kDense = -1;
  std::array<int, 3> method = {kDense, kDense, kDense};

  int of(Product product) const { return method[static_cast<size_t>(product)]; }
  bool dense() const { return method == std::array<int, 3>{kDense, kDense, kDense}; }
  bool operator==(const Decision&) const = default;
};

// Rules checked against a network's layers and the known methods, ready to be asked.
class Schedule {
 public:
  // `method` is the run's method, resolved into every rule that names none; "dense" is exact, and
  // under "mixed" every rule must name its own. Throws Error(kUsage)
  // for a selector that is malformed or matches no layer or none of the ranks, an unknown method,
  // and a product that a rule asks of a method which cannot approximate it.
  Schedule(const std::vector<Rule>& rules, const std::vector<LayerInfo>& layers,
           std::string_view method, const Catalogue& catalogue, int64_t steps_per_epoch,
           int64_t total_steps, int64_t ranks = 1);

  // `layer` is the position in the list the schedule was made with, `rank` one of the ranks.
  Decision at(size_t layer, int64_t step, int64_t rank = 0) const;

  // What of that is computed: images have no gradient, so nobody computes the data gradient of the
  // layer that reads them, whatever the rules say of it.
  Decision computed_at(size_t layer, int64_t step, int64_t rank = 0) const;

  // Whether a rule holds for some ranks and not for others.
  bool tells_ranks_apart() const { return tells_ranks_apart_; }

  // The distinct methods in use, full texts, "dense" never among them.
  const std::vector<std::string>& methods() const { return methods_; }

  // The number of steps after which the decisions repeat (windows aside): blocks of a timing run
  // are whole multiples of it. That a timing run has no windows, why_untimed() sees to.
  int64_t period() const { return period_; }

  // Whether a rule begins or ends at a plateau, so that observe() must be called.
  bool watches_accuracy() const { return !plateaus_.empty(); }

  // A held-out accuracy, measured after `steps_done` steps. From the evaluation on that completes a
  // plateau, the rules that wait for it begin or end. Returns whether this one did.
  bool observe(double accuracy, int64_t steps_done);

  // The share of (layer, step) pairs with an approximated product that is computed, convolutions
  // only, over `steps` steps from the first, as if no plateau came; the mean over the ranks.
  double approximated_share(int64_t steps) const;

  // Throws Error(kUsage) where rules that overlap give a layer products that do not go together:
  // where one of them has a product of a method that draws one sample for all of its own
  // (draws_one_sample). Looks at every layer and every step at which decisions can differ: a period
  // from each point at which a rule begins or ends, before and after every plateau. `names` are
  // what the message calls the rules; empty: by their number and layers.
  void check_together(const std::vector<std::string>& names = {}) const;

  // Throws Error(kUsage) where nothing is approximated in any layer at any step, whatever plateaus
  // come: a run of it would be an exact one under another name.
  void check_acts() const;

 private:
  struct Compiled {
    std::string text;  // of its layers, for messages
    std::vector<bool> layers;
    std::vector<bool>
        exact;  // which layers stay exact (MethodInfo::least_channels, LayerInfo::frozen)
    Slice steps, ranks;
    int64_t from, until;
    std::vector<Product> products;
    int method;

    // An index into Schedule::methods(), or Decision::kDense.
    int method_at(size_t layer) const { return exact.at(layer) ? Decision::kDense : method; }
    bool holds(int64_t step) const { return step >= from && step < until && steps.contains(step); }
  };

  // By product the rule that decides, -1 where none does.
  using Deciding = std::array<int, 3>;

  // A plateau that rules wait for, and how far it has come.
  struct Plateau {
    Position position;
    std::vector<size_t> begin, end;  // rules
    double best = -1;
    int64_t without_gain = 0;
    bool reached = false;
  };

  Plateau& plateau_of(const Position& position);
  bool computes(size_t layer, Product product) const;

  // The rules that may hold for a layer on one of the ranks, which are those at `candidates`.
  struct Situation {
    size_t layer;
    const std::vector<Compiled>& rules;
    std::vector<size_t> candidates;
  };
  // Every layer, before and after every plateau, on each of ranks that differ; until `use` returns
  // false. Of few plateaus: there are two to their power.
  void for_each_situation(const std::function<bool(const Situation&)>& use) const;

  // The deciding rule among those at `candidates`, which are all that select the layer.
  static Deciding deciding(const std::vector<Compiled>& rules,
                           const std::vector<size_t>& candidates, int64_t step);
  // The rules as they stand when exactly these plateaus are reached, whenever that is.
  std::vector<Compiled> rules_after(uint64_t plateaus) const;
  // Which of these rules hold for a rank.
  static std::vector<size_t> of_rank(const std::vector<Compiled>& rules,
                                     const std::vector<size_t>& candidates, int64_t rank);
  // The steps to look at for rules that select one layer.
  std::vector<int64_t> steps_to_check(const std::vector<Compiled>& rules,
                                      const std::vector<size_t>& candidates) const;
  void check_situation(const Situation& situation, const std::vector<std::string>& names) const;
  bool acts(const Situation& situation) const;
  // Why the first rule of an approximated method changes nothing.
  std::string why_idle() const;
  std::string method_text(int method) const;

  std::vector<LayerInfo> layers_;
  std::vector<std::string> methods_;
  std::vector<bool> one_sample_;  // by method: draws_one_sample
  int64_t total_steps_, ranks_;
  bool tells_ranks_apart_ = false;
  std::vector<Compiled> rules_;
  std::vector<Plateau> plateaus_;
  int64_t period_ = 1;
};

}  // namespace approx
