// The clock of the core that a thread is on.
#pragma once

namespace approx {

// Additions a second that wait for each other: a core does one a cycle, so this is its clock in Hz,
// whatever the system says of it or hides (in virtual machines it is often not told). Where
// another thread is let on the core meanwhile, it is less; the best of some tries, in a quarter of
// a millisecond.
double core_clock_hz();

}  // namespace approx
