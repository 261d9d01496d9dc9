// Starts GPU work from code with tensors.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "kernels/gpu/launches.h"

namespace approx {

// Launches in the current stream of `place`, after earlier work there.
template <typename Args>
void start(LaunchOf<Args> launch, const Args& args, c10::Device place) {
  const c10::DeviceGuard current(place);
  const c10::impl::VirtualGuardImpl device(place.type());
  launch(args, device.getStreamNativeHandle(device.getStream(place)));
}

// Whether `place` is a GPU and a launch for `Args` is registered (REGISTER_LAUNCH).
template <typename Args>
bool can_start(c10::Device place) {
  return place.is_cuda() && launch_of<Args>() != nullptr;
}

// Starts the registered launch; can_start<Args>(place) must hold.
template <typename Args>
void start(const Args& args, c10::Device place) {
  start(launch_of<Args>(), args, place);
}

}  // namespace approx
