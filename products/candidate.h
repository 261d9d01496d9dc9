// A variant as seen by the chooser, which selects one of all variants for a kind of plan.
#pragma once

#include <cstdint>
#include <string>

namespace approx {

// The first property of a problem that keeps a variant from computing it.
enum class Limit : uint8_t { kNone, kProduct, kDevice, kPrecision, kLayout, kShape };

struct VariantCandidate {
  std::string name;
  Limit limit = Limit::kNone;
  bool has_rule = false;       // it has a rule that says where it pays
  bool pays = true;            // result of the rule for this problem; true without a rule
  bool is_definition = false;  // computed only if named
  bool chosen = false;

  bool fits() const { return limit == Limit::kNone; }
};

}  // namespace approx
