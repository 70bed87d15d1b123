"""A small world of targets before backgrounds: both tell the class, the background more loudly; both can be told apart."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from einstellung.learners import Batch, Learner, make_learner
from einstellung.streams import EvaluationSplit, ImageSet, Phase, Presentation, Stream

SIDE, TARGET = 12, 4


def boxes(images: ImageSet) -> Tensor:
    """A target stands where its image's identity says, away from the edges."""
    top, left = 1 + images.index % 7, 1 + images.index // 7 % 7
    return torch.stack((top, left, top + TARGET, left + TARGET), dim=1)


def inside(images: ImageSet) -> Tensor:
    where = torch.zeros(len(images), 1, SIDE, SIDE, dtype=torch.bool)
    for row, (top, left, bottom, right) in enumerate(boxes(images).tolist()):
        where[row, :, top:bottom, left:right] = True
    return where


class Repainted:
    """Another background: red and green change places outside the target."""

    def swapped(self, images: ImageSet, draws: torch.Generator) -> ImageSet:
        assert images.features is not None
        other = images.images[:, [1, 0, 2]]
        return replace(images, images=torch.where(inside(images), images.images, other), features=images.features ^ 1)


def framed_images(first: int, count: int, share: float = 1.0) -> ImageSet:
    """Red (0) or green (1) backgrounds, which are those of the class in a ``share`` of images, and dark or light blue targets."""
    draws = torch.Generator().manual_seed(first)
    labels = torch.arange(count) % 2
    value = torch.where(torch.arange(count) < share * count, labels, 1 - labels)
    images = torch.randint(40, (count, 3, SIDE, SIDE), generator=draws)
    images[torch.arange(count), value] += 120
    target = torch.zeros(count, 3, 1, 1, dtype=torch.long)
    target[:, :2] = 128
    target[:, 2] = torch.where(labels == 1, 250, 5).view(-1, 1, 1)
    index = first + torch.arange(count)
    found = ImageSet(images.to(torch.uint8), labels, index, torch.zeros(count, dtype=torch.bool), value)
    return replace(found, images=torch.where(inside(found), target, images).to(torch.uint8))


def framed(count: int = 32, crop_padding: int = 1, share: float = 1.0) -> Stream:
    phases = tuple(
        Phase(f"T{n + 1}", (0, 1), (), framed_images(100 * n, count, share), ("background",)) for n in range(2)
    )
    splits = tuple(EvaluationSplit(f"{p.name}_val", p.name, p.train.take(torch.arange(6)), always=True) for p in phases)
    grey = (0.5, 0.4, 0.3)
    return Stream(
        "framed",
        phases,
        splits,
        (),
        None,
        None,
        2,
        ("dark", "light"),
        grey,
        (0.25, 0.25, 0.25),
        crop_padding=crop_padding,
        cue_names=("background",),
        interventions={"background": Repainted()},
        target_boxes=boxes,
    )


def dependence(net: Callable[[Tensor], Tensor], shown: Callable[[ImageSet], Tensor], images: ImageSet) -> float:
    """How much the probability of an image's class falls, on average, when the background alone is changed."""
    with torch.no_grad():
        before, after = (
            net(shown(some)).softmax(dim=1).gather(1, some.labels.unsqueeze(1))
            for some in (images, Repainted().swapped(images, torch.Generator()))
        )
    return float((before - after).mean())


def begun(
    make: Callable[..., Learner], name: str, world: Stream, epoch: int, lr: float = 0.1, **options: Any
) -> Learner:
    """A learner of a framed world, at the beginning of an epoch of its first phase; ``make`` is the fixture of that name."""
    torch.manual_seed(0)
    net = copy.deepcopy(make("erm").net)
    net.head = torch.nn.Linear(4, world.n_outputs)
    context = replace(make("erm", lr=lr).context, presentation=Presentation(world), phases=world.phases)
    learner = make_learner(name, options, net, context)
    learner.begin_phase(world.phases[0])
    learner.begin_epoch(world.phases[0], epoch)
    learner.net.train()
    return learner


def batch_of(world: Stream) -> Batch:
    """All images of the first phase, without augmentation."""
    raw = world.phases[0].train
    return Batch(Presentation(world).unaugmented(raw), raw.labels, raw)
