"""A small vision transformer of Hugging Face on MNIST, from random weights: a plain program,
without approxtrain."""

import argparse

import torch
from transformers import ViTConfig, ViTForImageClassification

import mnist_data


def make_model():
    return ViTForImageClassification(ViTConfig(
        hidden_size=128, num_hidden_layers=4, num_attention_heads=4, intermediate_size=512,
        image_size=28, patch_size=4, num_channels=1, num_labels=10, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0))


def make_optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=5e-4)


def loss_of(model, images, labels):
    return model(pixel_values=images, labels=labels).loss


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
        right = sum((model(pixel_values=x).logits.argmax(1) == y).sum().item()
                    for x, y in mnist_data.batches(*mnist_data.load(args.folder, False), 1000,
                                                   shuffled=False))
    print(f"accuracy {right / 100:.2f} %")


if __name__ == "__main__":
    main()
