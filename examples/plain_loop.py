"""A plain PyTorch loop with a Recorder in it: T1, then T2 with a cue on half of its classes, and T2 from scratch.

    python examples/plain_loop.py      # half a minute at most: timelines in my_logs/, and what einstellung score says of them

The five lines that matter are marked. Everything else is the kind of loop that you have already.
"""

from __future__ import annotations

import argparse
import sys

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from einstellung.bridges import Recorder  # (1)
from einstellung.cli import main as einstellung
from einstellung.cues import PatchCue
from einstellung.streams import Presentation, shapes

SHOWN = ("T1_all", "T2_shortcut_normal", "T2_shortcut_masked", "T2_nonshortcut_normal")
Images = dict[str, tuple[Tensor, Tensor]]


def plain_tensors(per_class: int) -> tuple[Images, Images, int]:
    """Drawn shapes as (inputs, labels): training images by phase, test images by split. Yours come from anywhere."""
    stream = shapes(PatchCue(), size=16, train_per_class=per_class, test_per_class=10)
    shown = Presentation(stream)
    train = {phase.name: (shown.unaugmented(phase.train), phase.train.labels) for phase in stream.phases}
    splits = {split.name: (shown.normalised(split.images.images), split.images.labels) for split in stream.splits}
    return train, splits, stream.n_outputs


def small_net(outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 4 * 4, outputs),
    )  # fmt: skip


def learn(
    method: str, phases: list[str], train: Images, splits: Images, outputs: int, options: argparse.Namespace
) -> None:
    torch.manual_seed(options.seed)
    model = small_net(outputs)
    recorder = Recorder(method, options.seed, options.folder)  # (2)
    for phase in phases:
        optimiser = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        loader = DataLoader(TensorDataset(*train[phase]), batch_size=32, shuffle=True)
        with recorder.phase(phase, samples=len(train[phase][1])):  # (3)
            recorder.evaluate(model, splits, epoch=0)  # (4) before the first step
            for epoch in range(1, options.epochs + 1):
                for inputs, labels in loader:
                    optimiser.zero_grad()
                    F.cross_entropy(model(inputs), labels).backward()
                    optimiser.step()
                accuracy = recorder.evaluate(model, splits, epoch=epoch)  # (5) and after every epoch
                print(
                    f"{method}, {phase}, epoch {epoch}: " + ", ".join(f"{name} {accuracy[name]:.2f}" for name in SHOWN)
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", default="my_logs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--per-class", type=int, default=60)
    options = parser.parse_args()
    train, splits, outputs = plain_tensors(options.per_class)
    learn("fine-tuning", ["T1", "T2"], train, splits, outputs, options)
    learn("scratch_t2", ["T2"], train, splits, outputs, options)  # what the index compares with: no history
    sys.argv = ["einstellung", "score", options.folder, "--tau", "0.4"]  # what one would type on the command line
    einstellung()


if __name__ == "__main__":
    main()
