"""The networks of core/networks/ as a PyTorch user writes them, for scripts/compare-pytorch.

Each function returns a module for `classes` classes; NETWORKS says what each is fed.
"""

from collections import namedtuple

import torch.nn.functional as F
from torch import nn


def conv_norm(in_channels, out_channels, kernel, stride=1, padding=None, relu=True):
    """Convolution, batch norm and, if asked for, ReLU."""
    padding = kernel // 2 if padding is None else padding
    layers = [nn.Conv2d(in_channels, out_channels, kernel, stride, padding, bias=False),
              nn.BatchNorm2d(out_channels)]
    return nn.Sequential(*layers, nn.ReLU(inplace=True)) if relu else nn.Sequential(*layers)


class ZeroPaddedShortcut(nn.Module):
    """Every other pixel, zeros for the new channels (He et al. 2016, option A)."""

    def __init__(self, added):
        super().__init__()
        self.added = added

    def forward(self, x):
        return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.added // 2, self.added - self.added // 2))


class Residual(nn.Module):
    """relu(branch(x) + shortcut(x))"""

    def __init__(self, branch, shortcut=None):
        super().__init__()
        self.branch = branch
        self.shortcut = shortcut or nn.Identity()

    def forward(self, x):
        return F.relu(self.branch(x) + self.shortcut(x), inplace=True)


class Head(nn.Module):
    """The mean over the map, one linear layer."""

    def __init__(self, channels, classes):
        super().__init__()
        self.linear = nn.Linear(channels, classes)

    def forward(self, x):
        return self.linear(x.mean((2, 3)))


def resnet20(classes):
    layers, channels = [conv_norm(3, 16, 3)], 16
    for width in (16, 32, 64):
        for _ in range(3):
            stride = 1 if width == channels else 2
            branch = nn.Sequential(conv_norm(channels, width, 3, stride),
                                   conv_norm(width, width, 3, relu=False))
            layers.append(Residual(branch, None if stride == 1
                                   else ZeroPaddedShortcut(width - channels)))
            channels = width
    return nn.Sequential(*layers, Head(64, classes))


def wang_cnn2(classes):
    def stage(in_channels):
        return [conv_norm(in_channels, 64, 5), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stage(3), *stage(64), nn.Flatten(), nn.Linear(64 * 8 * 8, 384), nn.ReLU(),
                         nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, classes))


def vgg19(classes):
    layers, channels = [], 3
    for count, width in ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512)):
        for _ in range(count):
            layers.append(conv_norm(channels, width, 3))
            channels = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, classes))


def resnet(stem, blocks, branch_of, classes, expansion=1):
    """Four stages of residual blocks after a stem of 64 channels, with projections (option B)."""
    layers, channels = [stem], 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        out = expansion * width
        for block in range(count):
            stride = 2 if stage and not block else 1
            projected = None if channels == out else conv_norm(channels, out, 1, stride, 0,
                                                               relu=False)
            layers.append(Residual(branch_of(channels, width, stride), projected))
            channels = out
    return nn.Sequential(*layers, Head(channels, classes))


def basic_branch(channels, width, stride):
    return nn.Sequential(conv_norm(channels, width, 3, stride),
                         conv_norm(width, width, 3, relu=False))


def bottleneck_branch(channels, width, stride):
    return nn.Sequential(conv_norm(channels, width, 1), conv_norm(width, width, 3, stride),
                         conv_norm(width, 4 * width, 1, relu=False))


def resnet18(stem, classes):
    return resnet(stem, (2, 2, 2, 2), basic_branch, classes)


def resnet50(stem, classes):
    return resnet(stem, (3, 4, 6, 3), bottleneck_branch, classes, expansion=4)


def imagenet_stem():
    return nn.Sequential(conv_norm(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1))


class PreActivationBlock(nn.Module):
    """Zagoruyko & Komodakis 2016: norm and ReLU before each convolution."""

    def __init__(self, in_channels, out_channels, stride):
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(in_channels), nn.BatchNorm2d(out_channels)
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, 1, 1, bias=False)
        self.shortcut = None
        if in_channels != out_channels:
            self.shortcut = nn.Conv2d(in_channels, out_channels, 1, stride, 0, bias=False)

    def forward(self, x):
        active = F.relu(self.norm1(x))
        branch = self.conv2(F.relu(self.norm2(self.conv1(active))))
        return branch + (self.shortcut(active) if self.shortcut else x)


def wide_resnet(classes):
    layers, channels = [nn.Conv2d(3, 16, 3, 1, 1, bias=False)], 16
    for stage, width in enumerate((160, 320, 640)):
        for block in range(4):
            layers.append(PreActivationBlock(channels, width, 2 if stage and not block else 1))
            channels = width
    return nn.Sequential(*layers, nn.BatchNorm2d(640), nn.ReLU(inplace=True), Head(640, classes))


class Plus(nn.Module):
    """x + branch(x)"""

    def __init__(self, *layers):
        super().__init__()
        self.branch = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.branch(x)


class Scaled(nn.Module):
    def forward(self, x):
        return 0.2 * x


def resnet9(classes):
    return nn.Sequential(
        conv_norm(3, 64, 3), conv_norm(64, 128, 5, 2), Plus(conv_norm(128, 128, 3),
                                                           conv_norm(128, 128, 3)),
        conv_norm(128, 256, 3), nn.MaxPool2d(2), Plus(conv_norm(256, 256, 3),
                                                      conv_norm(256, 256, 3)),
        conv_norm(256, 128, 3, padding=0), nn.AdaptiveMaxPool2d(1), nn.Flatten(),
        nn.Linear(128, classes, bias=False), Scaled())


def alexnet(classes):
    """The cifar form: Ye et al. 2020, section 6.1."""
    def conv(in_channels, out_channels, padding):
        return [nn.Conv2d(in_channels, out_channels, 3, 1, padding), nn.ReLU(inplace=True)]

    def pool():
        return nn.MaxPool2d(3, 2, ceil_mode=True)
    return nn.Sequential(
        *conv(3, 64, 2), pool(), *conv(64, 192, 2), pool(), *conv(192, 384, 1), *conv(384, 256, 1),
        *conv(256, 256, 1), pool(), nn.Flatten(), nn.Dropout(), nn.Linear(4096, 2048),
        nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(2048, 2048), nn.ReLU(inplace=True),
        nn.Linear(2048, classes))


# What a network is fed: its maker, our text for it, a synthetic data set of ours and its channels,
# side and classes; images in a batch that a small machine can train.
Fed = namedtuple("Fed", "make text dataset channels size classes batch")

NETWORKS = {
    "resnet20": Fed(resnet20, "resnet20", "synthetic", 3, 32, 10, 128),
    "wang_cnn2": Fed(wang_cnn2, "wang_cnn2", "synthetic", 3, 32, 10, 128),
    "vgg19": Fed(vgg19, "vgg19", "synthetic", 3, 32, 10, 32),
    "resnet9": Fed(resnet9, "resnet9", "synthetic", 3, 32, 10, 32),
    "alexnet": Fed(alexnet, "alexnet:form=cifar", "synthetic", 3, 32, 10, 32),
    "resnet18": Fed(lambda classes: resnet18(conv_norm(3, 64, 3), classes),
                    "resnet18:form=cifar", "synthetic", 3, 32, 10, 32),
    "wide_resnet": Fed(wide_resnet, "wide_resnet", "synthetic", 3, 32, 10, 4),
    "resnet18-224": Fed(lambda classes: resnet18(imagenet_stem(), classes),
                        "resnet18", "synthetic224", 3, 224, 1000, 8),
    "resnet50-224": Fed(lambda classes: resnet50(imagenet_stem(), classes),
                        "resnet50", "synthetic224", 3, 224, 1000, 8),
}
