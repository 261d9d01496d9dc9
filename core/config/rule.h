// A rule of a schedule: which products of which layers at which steps are approximated, and how.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/params.h"
#include "core/config/catalogue.h"
#include "products/product.h"

namespace approx {

// One rule. If rules overlap on a product, the later one in the list decides.
struct Rule {
  // Terms joined by `,` or `+`: a slice or number over the convolutions; `kind=GLOB`; `name=GLOB`;
  // `block=GLOB`. A slice without a start begins at the second convolution, and a kind never
  // selects the first one. Only its number or its name selects the first convolution.
  std::string layers = "::1";
  std::string steps = "::1";
  std::vector<Product> products;  // empty: all products that the method can approximate
  std::string method;             // empty: the method of the run; "dense": exact
  std::string from, until;        // positions; empty: the start, the end
  // The ranks for which the rule holds (core/parallel/world.h), a slice or a number from 0; empty:
  // all.
  std::string ranks;
  // The share of the steps, drawn for each layer by itself, at which the rule holds: "0.5". A
  // method that stops blocks draws for each block. Empty: it holds at all of its steps. See
  // StepDraws.
  std::string chance;
  // The epochs for which the rule holds, a slice or a number from 0; empty: all.
  std::string epochs;
  // A factor on the learning rate at the rule's steps, whatever is drawn: "2"; empty: 1. The last
  // such rule decides.
  std::string rate;
  // How `chance` is shared out among the blocks of a method that stops blocks. "sensitivity": by
  // how much a gradient changes without each of them, measured once in the training
  // (core/config/block_rates.h). "equal" or empty: all blocks have that chance.
  std::string rates;

  bool operator==(const Rule&) const = default;
};

void to_json(Json& json, const Rule& rule);
void from_json(const Json& json, Rule& rule);  // missing keys take defaults, unknown ones throw

Product parse_product(std::string_view text);  // throws Error(kUsage)

// The `rate` of a rule, above 0; empty: 1. Throws Error(kUsage) that begins with `rate = "..."`.
double parse_rate(std::string_view text);

// Whether the `rates` of a rule are by sensitivity. Throws Error(kUsage) that begins with
// `rates = "..."`.
bool is_by_sensitivity(std::string_view rates);

// Checks the parts of a rule that need no network: its selectors, its window and its method, if it
// names one. Throws Error(kUsage).
void check_rule(const Rule& rule, const Catalogue& catalogue);

// One spelling for all rules of one meaning, for run keys: method and products are filled in,
// selectors respelled. Throws Error(kUsage).
Rule canonical_rule(const Rule& rule, std::string_view method, const Catalogue& catalogue);

// The older form of canonical_rule(). It keeps the order of layers, repeated layers and the sign of
// zeros. Throws Error(kUsage).
Rule canonical_rule_before(const Rule& rule, std::string_view method, const Catalogue& catalogue);

// The rule in one spelling for all rules of one meaning in every network: products are sorted;
// layers, steps, ranks and window are respelled. The method stays as it is. Throws Error(kUsage).
Rule respelled(const Rule& rule);

// The full text of the rule's method, "dense" for the exact one. `method` is the run's method.
// Throws Error(kUsage) for an unknown method, and for "mixed" if the rule names no method of its
// own.
std::string resolved_method(const Rule& rule, std::string_view method, const Catalogue& catalogue);

// The products that a rule approximates with `method`, a full text. Throws Error(kUsage) for a
// product that the method cannot approximate.
std::vector<Product> resolved_products(const Rule& rule, const std::string& method,
                                       const Catalogue& catalogue);

// Whether the gradients of a method, a full text, use the sample that its forward product draws. If
// so, no other method may compute one of its products.
bool draws_one_sample(const std::string& method, const Catalogue& catalogue);

// Whether a method, a full text, stops the backward pass of whole residual branches.
bool stops_blocks(const std::string& method, const Catalogue& catalogue);

// The units in which rules say when they hold: steps, or shares of the training (epochs are
// shares). Only the data decide how the two units compare.
struct WindowUnits {
  bool steps = false, shares = false;
};
WindowUnits window_units(const std::vector<Rule>& rules);  // throws Error(kUsage)

// The part of a rule that keeps it from holding alike all the time, as it is written: `until =
// "0.5dur"`. "" if the rule recurs from the first steps to the last. Throws Error(kUsage).
std::string window_text(const Rule& rule);

// The first step at which a rule can hold; kUnknownStep if it waits for a plateau. Throws
// Error(kUsage).
int64_t first_step(const Rule& rule, int64_t steps_per_epoch, int64_t total_steps);

// The rules of a matrix such as the paper's Figure 3. Row i is the i-th convolution. Column j is
// the steps congruent to j modulo the row length. `.` is exact, `*` the run's method, any other
// letter a method of `key`. Throws Error(kUsage) for unequal rows or an unknown letter.
std::vector<Rule> matrix_rules(const std::vector<std::string>& rows,
                               const std::vector<std::pair<char, std::string>>& key);

// Throws Error(kUsage) if a matrix has not exactly one row for each convolution of the network.
// With fewer rows some layers would be exact without notice.
void check_matrix_rows(size_t rows, const std::vector<LayerInfo>& layers);

}  // namespace approx
