"""Mammoth: its models, its buffer and its loop over its own data loader, from an unmodified checkout.

``python -m benchmarks.peers.mammoth FOLDER [WIDTH]``, with an interpreter that has Mammoth's packages (docs/mammoth.md). The
images are those of our drawn stream, by the bridge, but read and replayed with the transforms of Mammoth's own CIFAR-100, which
do not look up a cue. The measured functions are Mammoth's ``train_single_epoch`` in the second task and, for ewc_on, its
``end_task``, which processes images one at a time.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from types import SimpleNamespace
from typing import Any

from benchmarks.peers.answering import answer, flops_per_image, own_channel

BATCH = 32
STEPS = 1  # per workload
FISHER_IMAGES = 16
MODELS = {
    "sgd": (),
    "ewc_on": ("--e_lambda", "10", "--gamma", "1"),
    "derpp": ("--buffer_size", "500", "--alpha", "0.1", "--beta", "0.5"),
}


def main(folder: str, width: int) -> None:
    channel = own_channel()
    import torch

    from einstellung.bridges.mammoth import open_checkout, register_datasets

    torch.set_num_threads(1)
    open_checkout(folder)
    register_datasets()
    works: dict[str, Callable[[], int]] = {}
    with tempfile.TemporaryDirectory() as files:
        for name in MODELS:
            model, dataset, args = build(name, width, files)
            flops = flops_per_image(model.net)
            works |= close_first_task(name, model, dataset)
            works[name] = second_task(model, dataset, args)
        answer(works, channel, flops_per_image=flops, torch=torch.__version__)


def build(name: str, width: int, files: str) -> tuple[Any, Any, Any]:
    mammoth = import_module("main")
    words = [
        "--model",
        name,
        *MODELS[name],
        "--dataset",
        "seq-shapes-einstellung",
        "--lr",
        "0.01",
        "--optim_mom",
        "0.9",
    ]
    words += ["--num_filters", str(width), "--batch_size", str(BATCH), "--num_workers", "0", "--non_verbose", "1"]
    words += ["--einstellung_train_per_class", "40", "--einstellung_test_per_class", "1", "--base_path", files]
    words += ["--n_epochs", "1", "--seed", "1"]
    model, dataset, args = mammoth.initialize(mammoth.parse_args(words))
    # as its models do it with the transform of their dataset: for whole batches of what is replayed
    own = import_module("datasets.seq_cifar100").SequentialCIFAR100.get_transform()
    model.transform = import_module("utils.kornia_utils").to_kornia_transform(own.transforms[-1].transforms)
    return model, dataset, args


def close_first_task(name: str, model: Any, dataset: Any) -> dict[str, Callable[[], int]]:
    """The state after the first task: a full buffer, or Fisher information of a few images, whose pass is a workload too."""
    import torch
    from torch.utils.data import DataLoader, Subset

    loader = own_loader(dataset)
    model.meta_begin_task(dataset)
    model.net.train()
    some = Subset(loader.dataset, range(FISHER_IMAGES))
    works: dict[str, Callable[[], int]] = {}
    if name == "ewc_on":

        def fisher() -> int:
            model.end_task(SimpleNamespace(train_loader=DataLoader(some, batch_size=BATCH)))
            return FISHER_IMAGES

        fisher()
        works["fisher"] = fisher
    if name == "derpp":
        for _, labels, raw, *_ in loader:
            model.buffer.add_data(examples=raw, labels=labels, logits=torch.zeros(len(labels), dataset.N_CLASSES))
            if len(model.buffer) >= model.args.buffer_size:
                break
    model._current_task += 1  # what its meta_end_task does after end_task
    return works


def second_task(model: Any, dataset: Any, args: Any) -> Callable[[], int]:
    train_single_epoch = import_module("utils.training").train_single_epoch
    import_module("utils.globals").GLOBALS["SHOULD_STOP"] = False
    bar = import_module("tqdm").tqdm(disable=True)
    loader = own_loader(dataset)
    model.meta_begin_task(dataset)
    model.net.train()

    def steps() -> int:
        train_single_epoch(model, Some(loader, STEPS), args, epoch=0, pbar=bar, system_tracker=lambda: None)
        return STEPS * BATCH

    return steps


def own_loader(dataset: Any) -> Any:
    """The next task's loader, with the transforms of Mammoth's own CIFAR-100."""
    from torchvision import transforms

    loader, _ = dataset.get_data_loaders()
    images = loader.dataset.dataset
    images.transform = import_module("datasets.seq_cifar100").SequentialCIFAR100.TRANSFORM
    images.not_aug_transform = transforms.Compose([transforms.ToTensor()])
    return loader


class Some:
    """A few batches of a loader, with the interface that Mammoth's loop needs."""

    def __init__(self, loader: Any, batches: int) -> None:
        self.loader, self.batches = loader, batches
        self.dataset = loader.dataset

    def __iter__(self) -> Iterator[Any]:
        return islice(iter(self.loader), self.batches)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 64)
