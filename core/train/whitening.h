// The whitening convolution of a network, from the images that it is trained on.
#pragma once

#include "core/data/dataset.h"
#include "core/networks/network.h"
#include "core/parallel/collectives.h"
#include "core/train/batches.h"

namespace approx {

// Throws Error(kUsage) where the network has such a layer and `train` cannot give its weight: of
// photographs, or with too few patches.
void check_whitening(const Network& network, const DeviceImages& train);

// Sets the weight of the layer that the network names (Network::whitened), if it names one, from
// the first images of `train`, normalised as `dataset` says. Of several ranks, all of which call
// this, rank 0's weight.
void whiten(const Network& network, const DeviceImages& train, const LoadedDataset& dataset,
            Collectives* ranks);

}  // namespace approx
