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
  // Which of the processes that train the network together (core/parallel/world.h), a slice or a
  // number from 0; empty: all.
  std::string ranks;

  bool operator==(const Rule&) const = default;
};

void to_json(Json& json, const Rule& rule);
void from_json(const Json& json, Rule& rule);  // missing keys take defaults, unknown throw

Product parse_product(std::string_view text);  // throws Error(kUsage)

// What can be checked of a rule without a network: its selectors, its window and, where it names
// one, its method. Throws Error(kUsage).
void check_rule(const Rule& rule, const Catalogue& catalogue);

// The one spelling of everything that means the same, for run keys: method and products are filled
// in, selectors respelled. Throws Error(kUsage).
Rule canonical_rule(const Rule& rule, std::string_view method, const Catalogue& catalogue);

// The same as keys had it until layers in another order, layers that are named twice and zeros with
// a sign became one spelling. Throws Error(kUsage).
Rule canonical_rule_before(const Rule& rule, std::string_view method, const Catalogue& catalogue);

// The rule with its products in their order and its layers, steps, ranks and window in the one
// spelling of what means the same, whatever the network; its method is as it was. Throws
// Error(kUsage).
Rule respelled(const Rule& rule);

// The full text of the method that a rule means, "dense" for the exact one; `method` is the run's.
// Throws Error(kUsage) for an unknown one, and for "mixed" where the rule names none of its own.
std::string resolved_method(const Rule& rule, std::string_view method, const Catalogue& catalogue);

// The products that a rule approximates with `method`, a full text. Throws Error(kUsage) for one
// that the method cannot approximate.
std::vector<Product> resolved_products(const Rule& rule, const std::string& method,
                                       const Catalogue& catalogue);

// Whether a method, a full text, draws one sample in its forward product by which its gradients go:
// then nothing else may compute one of its products.
bool draws_one_sample(const std::string& method, const Catalogue& catalogue);

// In which units rules say when they hold: in steps, in shares of the training (epochs are such).
// Only the data decide how the two compare.
struct WindowUnits {
  bool steps = false, shares = false;
};
WindowUnits window_units(const std::vector<Rule>& rules);  // throws Error(kUsage)

// What of a rule keeps it from holding all along, as it is written: `until = "0.5dur"`; "" where it
// comes round from the first steps to the last. Throws Error(kUsage).
std::string window_text(const Rule& rule);

// The first step at which a rule can hold; kUnknownStep where it waits for a plateau. Throws
// Error(kUsage).
int64_t first_step(const Rule& rule, int64_t steps_per_epoch, int64_t total_steps);

// The rules of a matrix such as the paper's Figure 3: row i is the i-th convolution, column j the
// steps congruent to j modulo the row length, `.` exact, `*` the run's method, any other letter a
// method of `key`. Throws Error(kUsage) on unequal rows or an unknown letter.
std::vector<Rule> matrix_rules(const std::vector<std::string>& rows,
                               const std::vector<std::pair<char, std::string>>& key);

// Throws Error(kUsage) where a matrix of so many rows has more or fewer than the network has
// convolutions: of fewer, the layers without a row would be exact and nothing would say so.
void check_matrix_rows(size_t rows, const std::vector<LayerInfo>& layers);

}  // namespace approx
