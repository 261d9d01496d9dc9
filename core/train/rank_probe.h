// The state of the machines of several ranks.
#pragma once

#include <memory>

#include "core/parallel/collectives.h"
#include "core/train/machine_probe.h"

namespace approx {

// A probe that all ranks call at once, so that ranks on one machine load it together. It returns
// the smallest share of a core, the lowest clock, and all reasons that hold a device back. All
// ranks get equal states, so that they decide alike. Empty if `own` is empty.
MachineProbe probe_of_all(MachineProbe own, std::shared_ptr<Collectives> ranks);

}  // namespace approx
