// A schedule maps (layer, step, product) to a method or to the exact computation: Wang et al.
// 2019, section 2.5, "approximation schedule", as an ordered list of rules. It names methods and
// layers and knows neither tensors nor devices.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "base/registry.h"
#include "core/config/catalogue.h"
#include "kernels/product.h"

namespace approx {

// `start:stop:step` as in Python: stop is exclusive, each part may be left out; a single number n
// is n:n+1. Layers count from 1, steps (training batches) from 0.
struct Slice {
  int64_t start = 0;
  int64_t stop = -1;  // -1: open
  int64_t step = 1;

  bool contains(int64_t at) const {
    return at >= start && (stop < 0 || at < stop) && (at - start) % step == 0;
  }
  bool operator==(const Slice&) const = default;
};

// `default_start` is what a missing start means. Throws Error(kUsage).
Slice parse_slice(std::string_view text, int64_t default_start);

// A point in a training: `300ba` (batches), `10ep` (epochs), `0.25dur` (share of the whole), or
// `plateau:patience=5,delta=0.001`, the evaluation that is the 5th without a held-out accuracy more
// than 0.001 above the best before (Wang et al. 2019, section 4: approximate first, exact after).
struct Position {
  enum class Unit { kBatches, kEpochs, kDuration, kPlateau };
  double value = 0;
  Unit unit = Unit::kBatches;
  int64_t patience = 5;  // of a plateau
  double delta = 0.001;  // likewise

  // The step, or the largest number for a plateau, which is not known beforehand.
  int64_t step(int64_t steps_per_epoch, int64_t total_steps) const;
  bool operator==(const Position&) const = default;
};

Position parse_position(std::string_view text);  // throws Error(kUsage)

// One rule. Where rules overlap on a product, the later one in the list decides.
struct Rule {
  // Terms joined by `,` or `+`: a slice or number over the convolutions; `kind=GLOB`;
  // `name=GLOB`. A slice without a start begins at the second convolution and a kind passes the
  // first one over: the first convolution is approximated only by its number or its name.
  std::string layers = "::1";
  std::string steps = "::1";
  std::vector<Product> products;  // empty: every product that the method can approximate
  std::string method;             // empty: the method of the run; "dense": exact
  std::string from, until;        // positions; empty: from the start, to the end

  bool operator==(const Rule&) const = default;
};

void to_json(Json& json, const Rule& rule);
void from_json(const Json& json, Rule& rule);  // missing keys take defaults, unknown throw

Product parse_product(std::string_view text);  // throws Error(kUsage)

// What can be checked of a rule without a network: its selectors, its window and, where it names
// one, its method. Throws Error(kUsage).
void check_rule(const Rule& rule, const Catalogue& catalogue);

// The one spelling of everything that means the same, for run keys: method and products are filled
// in, selectors normalised. Throws Error(kUsage).
Rule canonical_rule(const Rule& rule, std::string_view method, const Catalogue& catalogue);

// The rules of a matrix such as the paper's Figure 3: row i is the i-th convolution, column j the
// steps congruent to j modulo the row length, `.` exact, `*` the run's method, any other letter a
// method of `key`. Throws Error(kUsage) on unequal rows or an unknown letter.
std::vector<Rule> matrix_rules(const std::vector<std::string>& rows,
                               const std::vector<std::pair<char, std::string>>& key);

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
  // for a selector that is malformed or matches no layer, an unknown method, and a product that
  // a rule asks of a method which cannot approximate it.
  Schedule(const std::vector<Rule>& rules, const std::vector<LayerInfo>& layers,
           std::string_view method, const Catalogue& catalogue, int64_t steps_per_epoch,
           int64_t total_steps);

  // `layer` is the position in the list the schedule was made with.
  Decision at(size_t layer, int64_t step) const;

  // The distinct methods in use, full texts, "dense" never among them.
  const std::vector<std::string>& methods() const { return methods_; }

  // The number of steps after which the decisions repeat (windows aside): blocks of a timing run
  // are whole multiples of it.
  int64_t period() const { return period_; }

  // Whether a rule begins or ends at a plateau, so that observe() must be called.
  bool watches_accuracy() const { return !plateaus_.empty(); }

  // A held-out accuracy, measured after `steps_done` steps. From the evaluation on that completes a
  // plateau, the rules that wait for it begin or end. Returns whether this one did.
  bool observe(double accuracy, int64_t steps_done);

  // The share of (layer, step) pairs with an approximated product, convolutions only, over
  // `steps` steps from the first, as if no plateau came.
  double approximated_share(int64_t steps) const;

 private:
  struct Compiled {
    std::vector<bool> layers;
    Slice steps;
    int64_t from, until;
    std::vector<Product> products;
    int method;
  };

  // A plateau that rules wait for, and how far it has come.
  struct Plateau {
    Position position;
    std::vector<size_t> begin, end;  // rules
    double best = -1;
    int64_t without_gain = 0;
    bool reached = false;
  };

  Plateau& plateau_of(const Position& position);

  std::vector<LayerInfo> layers_;
  std::vector<std::string> methods_;
  std::vector<Compiled> rules_;
  std::vector<Plateau> plateaus_;
  int64_t period_ = 1;
};

// A schedule by name: a function from parameters to rules, one .cpp in core/config/schedules/.
struct ScheduleEntry : EntryInfo {
  static constexpr const char* kWhat = "schedule";
  std::vector<Rule> (*make)(const Params&) = nullptr;

  ScheduleEntry& about(std::string text) { return summary = std::move(text), *this; }
  ScheduleEntry& from_paper(std::string id, std::string at) {
    return paper = std::move(id), paper_at = std::move(at), *this;
  }
  ScheduleEntry& param(ParamSpec spec) { return params.push_back(std::move(spec)), *this; }
};

// Rules of `name:key=value,...`. Throws Error(kUsage).
std::vector<Rule> make_schedule(std::string_view text);

}  // namespace approx

#define REGISTER_SCHEDULE(NAME, MAKE)                                               \
  [[maybe_unused]] static ::approx::ScheduleEntry& APPROX_UNIQUE(schedule_entry_) = \
      ::approx::register_schedule(NAME, MAKE)

namespace approx {
inline ScheduleEntry& register_schedule(std::string name,
                                        std::vector<Rule> (*make)(const Params&)) {
  auto& entry = Registry<ScheduleEntry>::instance().add(std::move(name));
  entry.make = make;
  return entry;
}
}  // namespace approx
