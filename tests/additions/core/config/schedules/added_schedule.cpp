// added_schedule: every third batch, every convolution but the first.
#include <fmt/format.h>

#include "core/config/named_schedule.h"

namespace approx {
namespace {

std::vector<Rule> added_schedule(const Params& params) {
  return {{.layers = "2::1", .steps = fmt::format("::{}", params.integer("every"))}};
}

REGISTER_SCHEDULE("added_schedule", added_schedule)
    .about("every few batches, every convolution but the first")
    .param({"every", int64_t{3}, "batches from one approximated step to the next", 1});

}  // namespace
}  // namespace approx
