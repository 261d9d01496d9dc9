// Starting what a GPU runs, where there are tensors.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "kernels/gpu/launches.h"

namespace approx {

// Launches in the current stream of `place`, after what was asked of it before.
template <typename Args>
void start(LaunchOf<Args> launch, const Args& args, c10::Device place) {
  const c10::DeviceGuard current(place);
  const c10::impl::VirtualGuardImpl device(place.type());
  launch(args, device.getStreamNativeHandle(device.getStream(place)));
}

}  // namespace approx
