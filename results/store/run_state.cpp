#include "results/store/run_state.h"

#include "base/error.h"

namespace approx {

RunState stored_run_state(std::string_view text) {
  const auto state = find_named<RunState>(text);
  if (!state) throw database_error("the store has a run in the unknown state \"{}\"", text);
  return *state;
}

}  // namespace approx
