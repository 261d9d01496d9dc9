// A variant as it looks to who chooses among all that compute a kind of plan.
#pragma once

#include <cstdint>
#include <string>

namespace approx {

// What of a problem keeps a variant from computing it: the first that does.
enum class Limit : uint8_t { kNone, kProduct, kDevice, kPrecision, kLayout, kShape };

struct VariantCandidate {
  std::string name;
  Limit limit = Limit::kNone;
  bool has_rule = false;       // that says where the variant pays
  bool pays = true;            // what it says here; true where there is none
  bool is_definition = false;  // computed by its name alone
  bool chosen = false;

  bool fits() const { return limit == Limit::kNone; }
};

}  // namespace approx
