"""A network of timm on MNIST, as its users train one: a plain program, without approxtrain."""

import argparse

import timm
import torch
import mnist_data


def make_model():
    return timm.create_model("resnet10t", num_classes=10, in_chans=1)


def make_optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)


def loss_of(model, images, labels):
    return torch.nn.functional.cross_entropy(model(images), labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--images", type=int, default=None)
    args = parser.parse_args()
    torch.manual_seed(1)
    images, labels = mnist_data.load(args.folder, True, args.images)
    model = make_model()
    optimizer = make_optimizer(model)
    for _ in range(args.epochs):
        model.train()
        for x, y in mnist_data.batches(images, labels, 64, shuffled=True):
            optimizer.zero_grad()
            loss_of(model, x, y).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in mnist_data.batches(
            *mnist_data.load(args.folder, False), 1000, shuffled=False))
    print(f"accuracy {right / 100:.2f} %")


if __name__ == "__main__":
    main()
