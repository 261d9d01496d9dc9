// How the machines of several ranks are.
#pragma once

#include <memory>

#include "core/parallel/collectives.h"
#include "core/train/machine_probe.h"

namespace approx {

// Asked by all ranks at once, so that those on one machine have it together: the smallest share of
// a core and the lowest clock of all, and what holds any of their devices back. All get the same,
// so that they decide alike. Empty where `own` is.
MachineProbe probe_of_all(MachineProbe own, std::shared_ptr<Collectives> ranks);

}  // namespace approx
