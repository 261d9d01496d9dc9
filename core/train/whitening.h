// The whitening convolution of a network, computed from its training images.
#pragma once

#include "core/data/dataset.h"
#include "core/networks/network.h"
#include "core/parallel/collectives.h"
#include "core/train/batches.h"

namespace approx {

// Throws Error(kUsage) if the network has such a layer and `train` cannot give its weight: it has
// photographs, or too few patches.
void check_whitening(const Network& network, const DeviceImages& train);

// Sets the weight of the layer that Network::whitened() names, if any. It is computed from the
// first images of `train`, normalised as `dataset` says. With several ranks all must call this, and
// all get rank 0's weight.
void whiten(const Network& network, const DeviceImages& train, const LoadedDataset& dataset,
            Collectives* ranks);

}  // namespace approx
