"""The MNIST images of a folder of IDX files, as tensors in the memory."""

import torch
from torchvision import datasets


def load(folder, train, limit=None):
    """Images [N,1,28,28], of mean 0 and deviation 1 over the training set, and their labels.

    `folder` has MNIST/raw/, as torchvision keeps it. Of the first `limit` images; None: of all."""
    found = datasets.MNIST(folder, train=train)
    images = (found.data[:limit, None].float() / 255 - 0.1307) / 0.3081
    return images, found.targets[:limit]


def batches(images, labels, size, shuffled):
    order = torch.randperm(len(images)) if shuffled else torch.arange(len(images))
    for chosen in order.split(size):
        yield images[chosen], labels[chosen]
