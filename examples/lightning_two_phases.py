"""A LightningModule through two phases, and the same module from scratch on the second, scored.

python examples/lightning_two_phases.py --out lightning_logs_eri
einstellung score lightning_logs_eri
"""

from __future__ import annotations

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

from einstellung.bridges.installed import declare_torchvision_operators
from einstellung.cues import PatchCue
from einstellung.streams import Presentation, Stream, shapes

declare_torchvision_operators()  # does something only where torchvision was built for another torch: before its first import

import lightning.pytorch as pl  # noqa: E402

from einstellung.bridges.lightning import ERICallback  # noqa: E402


class Classifier(pl.LightningModule):
    """Your module, as it is: ``forward`` gives the logits."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, inputs):
        return self.net(inputs)

    def training_step(self, batch, number):
        inputs, labels = batch
        return F.cross_entropy(self(inputs), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.02, momentum=0.9)


def small_net(outputs: int) -> nn.Module:
    """Any net will do (this one is for 16x16 pixels), as long as its head covers the classes of both phases."""
    layers: list[nn.Module] = []
    for inputs, channels in ((3, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(inputs, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 2 * 2, outputs))


class TrainingImages(Dataset):
    """A phase's training images: augmentation, then the cue, then normalisation, drawn anew every time."""

    def __init__(self, stream: Stream, phase: str) -> None:
        self.images, self.presentation = stream.phase(phase).train, Presentation(stream)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, row: int):
        one = self.images.take(torch.tensor([row]))
        return self.presentation.training(one, torch.default_generator, torch.default_generator)[0], int(one.labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="lightning_logs_eri")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--epochs", nargs=2, type=int, default=[8, 12], metavar=("T1", "T2"))
    parser.add_argument("--train-per-class", type=int, default=50)
    options = parser.parse_args()
    stream = shapes(PatchCue(), size=16, train_per_class=options.train_per_class, test_per_class=20)

    def fit(module, phase: str, epochs: int, callback) -> None:
        quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
        trainer = pl.Trainer(max_epochs=epochs, accelerator="cpu", callbacks=[callback], **quiet)
        trainer.fit(module, DataLoader(TrainingImages(stream, phase), batch_size=32, shuffle=True))

    def fresh(seed: int) -> Classifier:
        pl.seed_everything(seed)
        return Classifier(small_net(stream.n_outputs))

    for seed in options.seeds:
        module = fresh(seed)
        fit(module, "T1", options.epochs[0], ERICallback("finetune", seed, options.out, stream, phase="T1"))
        second = ERICallback("finetune", seed, options.out, stream, phase="T2", resume=True)
        fit(module, "T2", options.epochs[1], second)
        fit(fresh(seed), "T2", options.epochs[1], ERICallback("scratch_t2", seed, options.out, stream, phase="T2"))
    print(f"einstellung score {options.out}")


if __name__ == "__main__":
    main()
