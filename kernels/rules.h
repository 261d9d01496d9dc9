// Where approximated variants pay, as a table: by the shape of a layer and the density of a plan.
//
// The table that is built in is kernels/rules.txt, which says how it reads. `approxtrain
// tune-kernels` measures another on the machine at hand, and a run may name it (`kernel_rules`); it
// is then part of the run's key. Rules look at the problem alone, so that equal runs take equal
// paths.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/problem.h"

namespace approx {

// From `least` to `most`, both included; without either there is no limit on that side.
template <typename Number>
struct Bounds {
  Number least = std::numeric_limits<Number>::lowest();
  Number most = std::numeric_limits<Number>::max();

  bool hold(Number value) const { return least <= value && value <= most; }
  bool operator==(const Bounds&) const = default;
};

// A row: for problems of such a shape the variant pays where the density is inside its bounds.
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
  // The rows of a table's text. Throws Error(kUsage) that begins with `what` and the line for a row
  // that cannot be read, and for a variant that has no rule.
  KernelRules(std::string_view text, std::string_view what);

  // The first row that is of the variant and of the problem's shape decides; without one it does
  // not pay. Costs a few comparisons a row.
  bool pay(std::string_view variant, const Problem& problem) const;

  // Whether it has rows of kUnruledVariants that wait.
  bool wait_for_density() const { return wait_for_density_; }

  int64_t version() const { return version_; }  // 0 where the text names none
  const std::vector<KernelRule>& rows() const { return rows_; }

 private:
  int64_t version_ = 0;
  bool wait_for_density_ = false;
  std::vector<KernelRule> rows_;
};

// The table that comes with the program, and its text.
const KernelRules& builtin_kernel_rules();
std::string_view builtin_kernel_rules_text();

// The rows as a table's text, without a version: what reading gives the same rows again.
std::string text_of(const std::vector<KernelRule>& rows);

// A variant whose rule is in the table, the product that it is measured at, and what it is measured
// against: the variant of the same kind of plan that is taken where it does not pay.
struct RuledVariant {
  std::string_view name, plan, rival;
  Product product = Product::kForward;
  bool pays_below = true;  // up to some density; else from some density on
};
inline constexpr auto kRuledVariants = std::to_array<RuledVariant>(
    {{"sparse_rows", "PrunedDY", "exact", Product::kDataGradient},
     {"sparse_lists", "PrunedDY", "exact", Product::kWeightGradient},
     {"lists", "SparseDY", "simd", Product::kWeightGradient, /*pays_below=*/false},
     {"whole", "Sampled", "gather", Product::kForward, /*pays_below=*/false},
     {"whole", "Sampled", "gather", Product::kDataGradient, /*pays_below=*/false},
     {"whole", "Sampled", "gather", Product::kWeightGradient, /*pays_below=*/false}});

// Variants that the built-in table has no rows of: they pay where another table says so. On the one
// GPU that has timed them (docs/gpu.md) those in 16 bits were slower than the exact product nearly
// everywhere; those in float gain where a tenth is left or less, and TensorFloat-32, which is as
// wide, was not timed.
struct UnruledVariant {
  std::string_view name;
  bool waits = true;  // for a density that the GPU alone knows; else the plan has it
};
inline constexpr auto kUnruledVariants =
    std::to_array<UnruledVariant>({{"sparse_rows_cuda"},
                                   {"sparse_rows_cuda_bf16"},
                                   {"sparse_rows_cuda_fp16"},
                                   {"block_rows_cuda"},
                                   {"block_rows_cuda_bf16"},
                                   {"block_rows_cuda_fp16"},
                                   {"sparse_lists_cuda"},
                                   {"sparse_lists_cuda_bf16"},
                                   {"sparse_lists_cuda_fp16"},
                                   {"block_lists_cuda"},
                                   {"block_lists_cuda_bf16"},
                                   {"block_lists_cuda_fp16"},
                                   {"fused_gather_bf16", /*waits=*/false},
                                   {"fused_gather_fp16", /*waits=*/false}});

// What every rule of this process goes by: the built-in table, until another is set. To be set
// while nothing computes. "" is the built-in table again. Throws Error(kUsage) as reading does.
void use_kernel_rules(std::string_view text);
bool rule_pays(std::string_view variant, const Problem& problem);

// Whether that table has rows of kUnruledVariants that wait: on a GPU a rule then goes by the
// density of the step before, for which the host waits. Asked in every step.
bool rules_wait_for_density();

}  // namespace approx
