"""Avalanche: its own strategies over images in memory, with the transforms of its own CIFAR-100 benchmark.

``python -m benchmarks.peers.avalanche [WIDTH]``, with an interpreter that has avalanche-lib. A workload is one epoch over a
second experience of one batch, including the strategy's work at the end of the experience: EWC computes Fisher information from
gradients of whole batches, DER the logits of buffer candidates.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.peers.answering import answer, flops_per_image, own_channel

BATCH = 32
OUTPUTS = 36


def main(width: int) -> None:
    channel = own_channel()
    import torch

    from einstellung.backbones import build_backbone
    from einstellung.bridges.installed import declare_torchvision_operators

    declare_torchvision_operators()
    from avalanche.training.supervised import DER, EWC, Naive, Replay

    torch.set_num_threads(1)
    strategies: dict[str, Any] = {
        "Naive": Naive,
        "EWC": partial(EWC, ewc_lambda=10.0, mode="online", decay_factor=1.0),
        "DER": partial(DER, mem_size=2 * BATCH, batch_size_mem=BATCH),
        "Replay": partial(Replay, mem_size=2 * BATCH),
    }
    works: dict[str, Callable[[], int]] = {}
    for name, strategy in strategies.items():
        net = build_backbone("resnet18", {"width": width}, OUTPUTS, seed=1)
        flops = flops_per_image(net)
        optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
        built = strategy(
            model=net, optimizer=optimiser, criterion=torch.nn.CrossEntropyLoss(), train_mb_size=BATCH, evaluator=None
        )
        works[name] = second_experience(built)
    answer(works, channel, flops_per_image=flops, torch=torch.__version__)


def second_experience(strategy: Any) -> Callable[[], int]:
    first, last = experiences()
    strategy.train(first, num_workers=0)

    def epoch() -> int:
        strategy.train(last, num_workers=0)
        return BATCH

    return epoch


def experiences() -> Any:
    """Two experiences of drawn images, the first of two batches and the second of one."""
    from avalanche.benchmarks.classic.ccifar100 import _default_cifar100_eval_transform as plain
    from avalanche.benchmarks.classic.ccifar100 import _default_cifar100_train_transform as augmented
    from avalanche.benchmarks.scenarios import benchmark_from_datasets, with_classes_timeline, with_task_labels
    from avalanche.benchmarks.utils import TaskAwareSupervisedClassificationDataset
    from avalanche.benchmarks.utils.data_attribute import DataAttribute, TaskLabels
    from avalanche.benchmarks.utils.transform_groups import TransformGroups

    from einstellung.cues import PatchCue
    from einstellung.streams import shapes

    stream = shapes(PatchCue(), train_per_class=10, test_per_class=1)
    datasets = []
    for phase, count in zip(stream.phases, (2 * BATCH, BATCH), strict=True):
        pictures = Pictures(phase.train, count)
        attributes = [DataAttribute(pictures.targets, "targets"), TaskLabels([0] * count)]
        transforms = TransformGroups({"train": augmented, "eval": plain})
        datasets.append(
            TaskAwareSupervisedClassificationDataset(
                [pictures], data_attributes=attributes, transform_groups=transforms
            )
        )
    benchmark = with_task_labels(with_classes_timeline(benchmark_from_datasets(train=datasets)))
    return benchmark.train_stream


class Pictures:
    """Single PIL images, as torchvision's data sets return them."""

    def __init__(self, images: Any, count: int) -> None:
        self.pixels = images.images[:count].permute(0, 2, 3, 1).contiguous().numpy()
        self.targets = images.labels[:count].tolist()

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, row: int) -> tuple[Any, int]:
        from PIL import Image

        return Image.fromarray(self.pixels[row]), self.targets[row]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
