// A schedule maps (layer, step, product) to a method or to the exact computation. It is the
// "approximation schedule" of Wang et al. 2019, section 2.5, as an ordered list of rules. If
// several ranks train the network together, it maps (rank, layer, step, product). Section 5 of the
// extended text proposes that for machines. A schedule names methods and layers, and knows neither
// tensors nor devices.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/position.h"
#include "core/config/rule.h"
#include "core/config/slice.h"
#include "core/config/step_draws.h"
#include "products/product.h"

namespace approx {

// How to compute the three products of one layer at one step: for each an index into
// Schedule::methods(), or kDense.
struct Decision {
  static constexpr int kDense = -1;
  std::array<int, 3> method = {kDense, kDense, kDense};

  int of(Product product) const { return method[static_cast<size_t>(product)]; }
  bool dense() const { return method == std::array<int, 3>{kDense, kDense, kDense}; }
  bool operator==(const Decision&) const = default;
};

// How the residual branch of a block trains at one step.
struct BranchDecision {
  // The rule that decides, an index into the schedule's rules; -1: none does.
  int rule = -1;
  int method = Decision::kDense;  // of that rule
  bool stopped = false;           // the branch has no backward pass
  double chance = 0;  // the share of the steps of that rule at which the branch is stopped

  bool operator==(const BranchDecision&) const = default;
};

// Rules that were checked against a network's layers and the known methods.
class Schedule {
 public:
  // `method` is the run's method. Rules that name none use it; "dense" is exact, and under "mixed"
  // every rule must name its own. Throws Error(kUsage) for:
  // - a selector that is malformed, or selects no layer or no rank;
  // - an unknown method;
  // - a product that a rule's method cannot approximate;
  // - a rule that stops blocks, and selects none, a part of one, or some of the ranks;
  // - rates by sensitivity without a chance, of a method that stops no blocks, or of several ranks.
  // `seed` keys the draws of rules with a chance.
  Schedule(const std::vector<Rule>& rules, const std::vector<LayerInfo>& layers,
           std::string_view method, const Catalogue& catalogue, int64_t steps_per_epoch,
           int64_t total_steps, int64_t ranks = 1, uint64_t seed = 0);

  // `layer` is the position in the list that the schedule was made with, `rank` one of the ranks.
  Decision at(size_t layer, int64_t step, int64_t rank = 0) const;

  // The decision for the branch of a block (LayerInfo::block). The last rule that stops blocks
  // decides alone, also at the steps at which it does not stop the branch.
  BranchDecision branch_at(std::string_view block, int64_t step) const;

  // Whether a method, an index into methods(), stops blocks.
  bool stops_blocks(int method) const {
    return method >= 0 && stops_.at(static_cast<size_t>(method));
  }

  // The factor on the learning rate at a step.
  double rate_at(int64_t step) const;

  // Whether any rule stops blocks.
  bool stops_any() const { return std::ranges::find(stops_, true) != stops_.end(); }

  // As at(), but exact for products that are not computed. Images have no gradient: the layer that
  // reads them has no data gradient, whatever the rules say.
  Decision computed_at(size_t layer, int64_t step, int64_t rank = 0) const;

  // Whether a rule holds for some ranks and not for others.
  bool tells_ranks_apart() const { return tells_ranks_apart_; }

  // The distinct methods in use, as full texts, without "dense".
  const std::vector<std::string>& methods() const { return methods_; }

  // The number of steps after which the decisions repeat, windows aside. The blocks of a timing run
  // are whole multiples of it. why_untimed() makes sure that a timing run has no windows.
  int64_t period() const { return period_; }

  // Whether a rule begins or ends at a plateau, so that observe() must be called.
  bool watches_accuracy() const { return !plateaus_.empty(); }

  // Takes a held-out accuracy, measured after `steps_done` steps. If it completes a plateau, the
  // rules that wait for that plateau begin or end. Returns whether it completed one.
  bool observe(double accuracy, int64_t steps_done);

  // Whether the sensitivities of blocks are to be measured before `step`. They are if rules share
  // their chance out by them, they are not known yet, and a tenth of the training is done.
  bool wants_sensitivities(int64_t step) const {
    return waits_for_sensitivities_ && step >= total_steps_ / 10;
  }

  // The blocks of the rules with rates by sensitivity.
  std::vector<std::string> measured_blocks() const;

  // Takes the sensitivities of all measured_blocks(). From the next step on each of them is stopped
  // at its own share of the steps.
  void set_sensitivities(const std::map<std::string, double>& of_blocks);

  // The share of its steps at which the last rule of measured blocks stops this one.
  double block_chance(std::string_view block) const;

  // The share of (layer, step) pairs in which a computed product is approximated. It covers the
  // convolutions and the first `steps` steps, as if no plateau came. It is the mean over the ranks.
  double approximated_share(int64_t steps) const;

  // Throws Error(kUsage) if overlapping rules give a layer products that do not go together:
  // - one of them is of a method that draws one sample for all of its products (draws_one_sample);
  // - a later one takes a layer out of a branch that an earlier one stops.
  // Checks every layer, before and after every plateau, at every step at which decisions can
  // differ. These steps are one period from each point at which a rule begins or ends. The message
  // calls the rules by `names`; empty: by their number and layers.
  void check_together(const std::vector<std::string>& names = {}) const;

  // Throws Error(kUsage) if no product is approximated in any layer at any step, whichever plateaus
  // come. Such a run would be an exact one under another name.
  void check_acts() const;

 private:
  struct Compiled {
    std::string text;  // the layers' text, for messages
    std::vector<bool> layers;
    // Layers that stay exact (MethodInfo::least_channels, LayerInfo::frozen).
    std::vector<bool> exact;
    Slice steps, ranks;
    int64_t from, until;
    std::vector<Product> products;
    int method;
    Slice epochs;
    int64_t epoch_steps = 1;
    double rate = 1;     // on the learning rate
    bool stops = false;  // a method that stops blocks
    bool by_sensitivity = false;
    // With a chance: by layer, the patterns of steps at which the rule holds (StepDraws); and their
    // number.
    std::vector<uint64_t> drawn;
    int64_t patterns = StepDraws::kPatterns;

    // An index into Schedule::methods(), or Decision::kDense.
    int method_at(size_t layer) const { return exact.at(layer) ? Decision::kDense : method; }
    // Whether a step is one of the rule's, whatever is drawn.
    bool holds(int64_t step) const {
      return step >= from && step < until && steps.contains(step) &&
             epochs.contains(step / epoch_steps);
    }
    // The steps after which its epochs repeat.
    int64_t epochs_period() const { return epochs == Slice() ? 1 : epochs.step * epoch_steps; }
    // The share of its steps at which the rule holds for a layer, or a block.
    double chance(size_t layer) const {
      const int own = drawn.empty() ? StepDraws::kPatterns : std::popcount(drawn.at(layer));
      return static_cast<double>(own) / static_cast<double>(StepDraws::kPatterns);
    }
    bool draws(size_t layer, int64_t pattern) const {
      return drawn.empty() || (drawn.at(layer) >> pattern & 1) != 0;
    }
  };

  // For each product the index of the deciding rule, -1 if there is none.
  using Deciding = std::array<int, 3>;

  // A plateau that rules wait for, and its progress.
  struct Plateau {
    Position position;
    std::vector<size_t> begin, end;  // rules
    double best = -1;
    int64_t without_gain = 0;
    bool reached = false;
  };

  // The least common multiple of two periods, `cap` at most.
  static int64_t together(int64_t period, int64_t other, int64_t cap);
  Plateau& plateau_of(const Position& position);
  // The layers of a rule that stops blocks: those of the branches that it selects.
  std::vector<bool> whole_branches(const std::vector<bool>& selected, const Rule& rule,
                                   const std::string& method) const;
  // Draws the steps of a rule with a chance. `rates`: the patterns of each block, where they
  // differ.
  void draw(Compiled& rule, size_t number, const std::map<std::string, int64_t>& rates = {}) const;
  // Throws Error(kUsage) if the rates of a rule cannot be by sensitivity.
  void check_rates(const Rule& rule, const std::string& method, bool stops) const;
  // The work of the backward pass of a block's branch, for one example.
  int64_t backward_macs(std::string_view block) const;
  std::string name_of(size_t rule, const std::vector<std::string>& names) const;
  bool computes(size_t layer, Product product) const;

  // A layer on one rank; `candidates` are the indices of rules that may hold for it.
  struct Situation {
    size_t layer;
    const std::vector<Compiled>& rules;
    std::vector<size_t> candidates;
  };
  // Calls `use` for every layer, before and after every plateau, on each of the ranks that differ,
  // until `use` returns false. Needs few plateaus: n plateaus give 2^n cases.
  void for_each_situation(const std::function<bool(const Situation&)>& use) const;

  // The deciding rules among `candidates`, which are all rules that select the layer.
  static Deciding deciding(const std::vector<Compiled>& rules,
                           const std::vector<size_t>& candidates, int64_t step);
  // The rules as they hold once exactly these plateaus are reached, at whatever step.
  std::vector<Compiled> rules_after(uint64_t plateaus) const;
  // The rules among `candidates` that hold for a rank.
  static std::vector<size_t> of_rank(const std::vector<Compiled>& rules,
                                     const std::vector<size_t>& candidates, int64_t rank);
  // The steps to check for rules that select one layer.
  std::vector<int64_t> steps_to_check(const std::vector<Compiled>& rules,
                                      const std::vector<size_t>& candidates) const;
  void check_situation(const Situation& situation, const std::vector<std::string>& names) const;
  void check_branch(const Situation& situation, const std::vector<std::string>& names) const;
  bool acts(const Situation& situation) const;
  // Why the first rule of an approximating method changes nothing.
  std::string why_idle() const;
  std::string method_text(int method) const;

  std::vector<LayerInfo> layers_;
  std::vector<std::string> methods_;
  std::vector<bool> one_sample_;  // by method, whether draws_one_sample() holds
  std::vector<bool> stops_;       // by method, whether it stops blocks
  StepDraws draws_;
  int64_t total_steps_, ranks_;
  bool tells_ranks_apart_ = false;
  bool waits_for_sensitivities_ = false;
  std::vector<Compiled> rules_;
  std::vector<Plateau> plateaus_;
  int64_t period_ = 1;
};

}  // namespace approx
