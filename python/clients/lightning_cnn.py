"""A LightningModule on MNIST, trained by Lightning's Trainer: a plain program, without
approxtrain."""

import argparse
import logging

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import mnist_data


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.Flatten(),
            nn.Linear(64 * 49, 10))

    def training_step(self, batch, _):
        return nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def test_step(self, batch, _):
        self.log("right", (self.layers(batch[0]).argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.02, momentum=0.9)


def make_model():
    return Classifier()


def make_optimizer(model):
    return model.configure_optimizers()


def loss_of(model, images, labels):
    return model.training_step((images, labels), 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--images", type=int, default=None)
    args = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    lightning.seed_everything(1, verbose=False)
    trainer = lightning.Trainer(max_epochs=args.epochs, accelerator="cpu", logger=False,
                                enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False)
    model = make_model()
    trainer.fit(model, DataLoader(TensorDataset(*mnist_data.load(args.folder, True, args.images)),
                                  batch_size=64, shuffle=True))
    found = trainer.test(model, DataLoader(TensorDataset(*mnist_data.load(args.folder, False)),
                                           batch_size=1000), verbose=False)
    print(f"accuracy {100 * found[0]['right']:.2f} %")


if __name__ == "__main__":
    main()
