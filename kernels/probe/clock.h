// The clock of the core that a thread is on.
#pragma once

namespace approx {

// The number of dependent additions per second. A core does one per cycle, so this is its clock in
// Hz, whatever the system reports (virtual machines often do not report it). It is lower if another
// thread uses the core meanwhile. The result is the best of some tries, within a quarter of a
// millisecond.
double core_clock_hz();

}  // namespace approx
