#include "core/config/named_schedule.h"

namespace approx {

std::vector<Rule> make_schedule(std::string_view text) {
  const Spec spec = parse_spec(text);
  const auto& entry = Registry<ScheduleEntry>::instance().find(spec.name);
  return entry.make(Params(entry.params, spec));
}

}  // namespace approx
