"""A few images, a tiny net that both sides can train, and Mammoth's models on the same batches and draws.

Imported only where Mammoth can be: its folder is on the path.
"""

from __future__ import annotations

import copy
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn

from einstellung.learners import Batch, Context, Learner, make_learner
from einstellung.streams import ImageSet, Phase, Presentation, Stream

LR = 0.1
BATCH = 8
PER_PHASE = 24


def tasks(phases: int, classes: int = 2) -> Stream:
    """Phases with ``classes`` of their own each, without cue or augmentation; every class is in every batch."""
    draws = torch.Generator().manual_seed(1)

    def phase(number: int) -> Phase:
        own = tuple(range(number * classes, (number + 1) * classes))
        labels = torch.tensor(own).repeat(PER_PHASE // classes)
        images = torch.randint(256, (PER_PHASE, 3, 12, 12), generator=draws).to(torch.uint8)
        index = number * PER_PHASE + torch.arange(PER_PHASE)
        return Phase(f"T{number + 1}", own, (), ImageSet.without_cue(images, labels, index))

    parts = tuple(phase(number) for number in range(phases))
    grey, count = (0.5, 0.5, 0.5), phases * classes
    names = tuple(f"class {number}" for number in range(count))
    return Stream("tasks", parts, (), (), None, None, count, names, grey, grey, crop_padding=0, flip=False)


def tiny_net(n_outputs: int, width: int = 6) -> nn.Module:
    """One of Mammoth's backbones, so that its models find what they need."""
    from backbone import MammothBackbone

    class Tiny(MammothBackbone):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, width, 3, stride=2)
            self.bn = nn.BatchNorm2d(width)
            self.classifier = nn.Linear(width, n_outputs)

        def forward(self, x: Tensor, returnt: str = "out") -> Tensor:
            features = self.bn(self.conv(x)).relu().mean(dim=(2, 3))
            return features if returnt == "features" else self.classifier(features)

    torch.manual_seed(0)
    return Tiny()


def learner_on(net: nn.Module, stream: Stream, name: str, **options: Any) -> Learner:
    start = copy.deepcopy(net.state_dict())
    context = Context(
        seed=3,
        presentation=Presentation(stream),
        autocast=nullcontext,
        make_optimiser=lambda parameters: torch.optim.SGD(parameters, lr=LR),
        device=torch.device("cpu"),
        phases=stream.phases,
        initial=lambda: start,
        batch_size=BATCH,
    )
    return make_learner(name, options, net, context)


class Loader:
    """The batches of an epoch as Mammoth's data loaders give them: inputs, labels, inputs before augmentation."""

    def __init__(self, stream: Stream, phase: Phase, order: Tensor) -> None:
        self.dataset = self
        self.targets = phase.train.labels.numpy()
        self.data = phase.train.images
        self.extra_return_fields: tuple[str, ...] = ()
        self.logits: Tensor | None = None
        self._inputs = Presentation(stream).unaugmented(phase.train)
        self._labels = phase.train.labels
        self._order = order

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor, Tensor]:
        return self._inputs[row], self._labels[row], self._inputs[row]

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        for rows in self._order.split(BATCH):
            yield self._inputs[rows], self._labels[rows], self._inputs[rows]


class Numbered(Loader):
    """As where a data set numbers its images: every batch ends with their numbers."""

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        for rows in self._order.split(BATCH):
            yield self._inputs[rows], self._labels[rows], rows


def dataset_of(stream: Stream) -> Namespace:
    """What a model asks its dataset."""
    each = len(stream.phases[0].classes)
    return Namespace(
        NAME="tasks",
        N_CLASSES=stream.n_outputs,
        N_TASKS=len(stream.phases),
        N_CLASSES_PER_TASK=each,
        SETTING="class-il",
        SIZE=(12, 12),
        get_offsets=lambda task: (task * each, (task + 1) * each),
        get_denormalization_transform=lambda: Namespace(mean=stream.mean, std=stream.std),
        train_loader=None,
    )


def model_of(kind: type[Any], net: nn.Module, stream: Stream, **args: Any) -> Any:
    """A model of Mammoth around a copy of ``net``."""
    common = {
        "optimizer": "sgd",
        "lr": LR,
        "optim_wd": 0.0,
        "optim_mom": 0.0,
        "optim_nesterov": 0,
        "label_perc": 1,
        "nowand": 1,
        "batch_size": BATCH,
        "n_epochs": 1,
    }
    return kind(
        copy.deepcopy(net), nn.CrossEntropyLoss(), Namespace(**{**common, **args}), None, dataset=dataset_of(stream)
    )


@contextmanager
def draws_given(rows: Callable[[], Any] | None = None, slots: list[float] | None = None) -> Iterator[None]:
    """Mammoth's random choices, answered: the rows of its draws, and where its reservoir puts an image (shares of 1)."""

    def choice(available: int, size: int, replace: bool) -> np.ndarray:
        assert rows is not None
        drawn = np.asarray(rows())
        assert len(drawn) == size, "both sides draw as many"
        return drawn

    def randint(low: int, high: int) -> int:
        assert slots is not None
        return int(slots.pop(0) * high)

    with patch.object(np.random, "choice", choice), patch.object(np.random, "randint", randint):
        yield


def twin_of(draws: torch.Generator) -> torch.Generator:
    """A generator that will draw the same, without touching this one."""
    twin = torch.Generator()
    twin.set_state(draws.get_state())
    return twin


def batches(stream: Stream, phase: Phase, seed: int) -> Iterator[tuple[Tensor, Batch]]:
    """The rows and batches of an epoch; every batch has all classes of its phase."""
    presentation = Presentation(stream)
    classes = len(phase.classes)
    shuffled = torch.randperm(PER_PHASE // classes, generator=torch.Generator().manual_seed(seed))
    rows = (shuffled.view(-1, 1) * classes + torch.arange(classes)).flatten()
    for part in rows.split(BATCH):
        raw = phase.train.take(part)
        yield part, Batch(presentation.unaugmented(raw), raw.labels, raw)


def distance(ours: nn.Module, theirs: nn.Module) -> float:
    """The largest difference of two nets' states, running statistics included."""
    pairs = zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs if a.is_floating_point())
