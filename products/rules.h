// A table of where approximated variants pay, by the shape of a layer and the density of a plan.
//
// The built-in table is products/rules.txt, which explains its format. `approxtrain tune-kernels`
// measures another one on the current machine. A run may name that one (`kernel_rules`); it is then
// part of the run's key. Rules depend only on the problem, so that equal runs take equal paths.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "products/problem.h"

namespace approx {

// From `least` to `most`, both included. The default has no limits.
template <typename Number>
struct Bounds {
  Number least = std::numeric_limits<Number>::lowest();
  Number most = std::numeric_limits<Number>::max();

  bool hold(Number value) const { return least <= value && value <= most; }
  bool operator==(const Bounds&) const = default;
};

// A row: for problems of this shape, the variant pays where the density is inside the bounds.
struct KernelRule {
  std::string variant;                                       // "sparse_rows"
  std::optional<Product> product;                            // nothing: any
  Bounds<int64_t> taps;                                      // of the kernel, height times width
  Bounds<int64_t> inputs;                                    // channels of x
  Bounds<int64_t> outputs;                                   // channels of y
  Bounds<int64_t> pixels;                                    // of a map of y
  Bounds<int64_t> stride;                                    // along a row
  std::optional<Bounds<double>> density = Bounds<double>();  // nothing: it never pays

  bool is_of(std::string_view name, const Problem& problem) const;
  bool operator==(const KernelRule&) const = default;
};

class KernelRules {
 public:
  // Reads the rows of a table's text. Throws Error(kUsage), which begins with `what` and the line,
  // for a row that cannot be read and for a variant that is not among `known`. Without `known` a
  // row may name any variant.
  KernelRules(std::string_view text, std::string_view what,
              const std::vector<std::string>& known = {});

  // Whether a variant pays for a problem. The first row of the variant that fits the problem's
  // shape decides; without one it does not pay. Costs a few comparisons per row.
  bool pay(std::string_view variant, const Problem& problem) const;

  bool have_rows_of(std::string_view variant) const;

  int64_t version() const { return version_; }  // 0 where the text names none
  const std::vector<KernelRule>& rows() const { return rows_; }

 private:
  int64_t version_ = 0;
  std::vector<KernelRule> rows_;
};

// The table that comes with the program, and its text.
const KernelRules& builtin_kernel_rules();
std::string_view builtin_kernel_rules_text();

// The rows as a table's text, without a version. Reading it gives equal rows.
std::string text_of(const std::vector<KernelRule>& rows);

// The densities at which a variant with a rule pays.
enum class Pays : uint8_t {
  kBelow,  // up to some density
  kAbove,  // from some density on
};

// A variant with a rule, at one of the products that it computes, from its registration
// (Variant::ruled_against in kernels/variant.h). The catalogue carries them to the program.
struct RuledVariant {
  std::string name, plan;  // "sparse_rows", "PrunedDY"
  // The variant of that plan that is used where this one does not pay.
  std::string rival;
  Product product = Product::kForward;
  Pays pays = Pays::kBelow;
  bool on_cpu = true;  // computes on a CPU, where tune-kernels measures it

  bool operator==(const RuledVariant&) const = default;
};

// Their names, each once, in the order of `variants`.
std::vector<std::string> names_of(const std::vector<RuledVariant>& variants);

// Sets the table for all rules of this process, which is the built-in table before. Call it while
// nothing computes. "" sets the built-in table again. Throws Error(kUsage) as reading does.
void use_kernel_rules(std::string_view text);
bool rule_pays(std::string_view variant, const Problem& problem);
// Whether the current table has rows of the variant.
bool has_rule_rows(std::string_view variant);

}  // namespace approx
