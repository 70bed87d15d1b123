"""Small nets with known ground truth: trained with a cue in some of a class's images, or without any.

Each is trained once and kept (in ``results/zoo`` by default): weights, audit images and their ground truth.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.audit.cues import KINDS, LOCALISED, SECOND
from benchmarks.audit.nets import CONV, RESNET, fresh_net
from einstellung.files import digest
from einstellung.randomness import generator, uniform_by_index
from einstellung.streams.shapes import FILLINGS, OUTLINES, draw_classes
from einstellung.training.acceleration import load_kernels

CLASSES = 8
CUE_CLASS = CLASSES - 2
_SECOND_CLASS_SALT, _SHARE_SALT = 12, 11
_SIZE = 32
_PER_CLASS = {"shapes": (160, 60), "cifar": (240, 60)}  # training, audit
_EPOCHS = {"shapes": 10, "cifar": 8}
_BATCH = 32
_NOISE = 0.22  # of drawn shapes
_TWINS = (("ring", "disc"), ("saltire", "cross"), ("square", "frame"), ("lens", "disc"))
_MEAN, _STD = 127.5, 64.0


@dataclass(frozen=True)
class Member:
    """A net of the zoo: what it is trained on, and how.

    ``kind`` None: clean. ``second``: a second patch, drawn independently on the same class.
    """

    source: str
    kind: str | None
    share: float
    seed: int
    second: bool = False
    net: str = CONV

    @property
    def name(self) -> str:
        cue = f"{self.kind}{'-two' if self.second else ''}-{round(100 * self.share)}" if self.kind else "clean"
        return f"{self.source}{'' if self.net == CONV else f'-{self.net}'}-{cue}-{self.seed}"

    @property
    def localised(self) -> bool:
        return self.kind is not None and KINDS[self.kind].extent == LOCALISED


@dataclass(frozen=True)
class Truth:
    """Audit images (uint8), labels, and what is in them: ``bears`` and ``regions`` [cues, N, ...], ``covered`` by cue."""

    images: Tensor
    labels: Tensor
    cue_class: int | None
    bears: Tensor
    regions: Tensor
    covered: Tensor


def classes_of(member: Member) -> list[int]:
    """The source's classes that a net is trained on, in the order of its labels.

    The last two are hard to tell apart, and the first of them is the one that may have a cue: so the cue is worth using.
    """
    draws = generator(member.seed, "zoo classes", member.source)
    if member.source == "shapes":
        places = list(OUTLINES)
        twins = [places.index(name) for name in _TWINS[int(torch.randint(len(_TWINS), (1,), generator=draws))]]
        count = len(OUTLINES)
    else:
        group = _superclass(int(torch.randint(20, (1,), generator=draws)))
        twins = [group[place] for place in torch.randperm(len(group), generator=draws)[:2].tolist()]
        count = 100
    twins = [twins[place] for place in torch.randperm(2, generator=draws).tolist()]
    others = [one for one in torch.randperm(count, generator=draws).tolist() if one not in twins]
    return [*others[: CLASSES - 2], *twins]


def raw(member: Member, part: str) -> tuple[Tensor, Tensor, Tensor]:
    """Images, labels and indices before any cue; ``part``: train or test."""
    wanted = classes_of(member)
    per_class = _PER_CLASS[member.source][part == "test"]
    if member.source == "shapes":
        fine = len(FILLINGS)
        drawn = draw_classes(len(OUTLINES) * fine, -(-per_class // fine), _NOISE, _SIZE, member.seed, f"zoo {part}")
        images, of_source = drawn.images, drawn.fine // fine
    else:
        images, of_source = _cifar(part)
    rows = torch.cat([(of_source == one).nonzero().flatten()[:per_class] for one in wanted])
    labels = torch.arange(CLASSES).repeat_interleave(per_class)
    return images[rows], labels, rows + (1_000_000 if part == "test" else 0)


@cache
def _superclass(number: int) -> list[int]:
    """The five classes of one of CIFAR-100's superclasses."""
    from einstellung.sources.cifar100 import load_cifar100

    train = load_cifar100().train
    return sorted(set(train.fine[train.coarse == number].tolist()))


@cache
def _cifar(part: str) -> tuple[Tensor, Tensor]:
    from einstellung.sources.cifar100 import load_cifar100

    arrays = getattr(load_cifar100(), part)
    return torch.from_numpy(arrays.images), torch.from_numpy(arrays.fine).long()


def painted(member: Member, images: Tensor, labels: Tensor, index: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images with their cues; per cue, which images have it [cues, N], where [cues, N, 1, H, W], and the images without it."""
    shape = (len(images), 1, *images.shape[-2:])
    if member.kind is None:
        empty = torch.zeros(0, *shape, dtype=torch.bool)
        return images, empty[:, :, 0, 0, 0], empty, torch.zeros(0, *images.shape, dtype=torch.uint8)
    paints = [KINDS[member.kind].paint, *([SECOND] if member.second else [])]
    bears = torch.stack(
        [
            (labels == CUE_CLASS) & (uniform_by_index(index + member.seed * 7919, salt) < member.share)
            for salt in (_SHARE_SALT, _SECOND_CLASS_SALT)[: len(paints)]
        ]
    )
    result = images
    for paint, has in zip(paints, bears, strict=True):
        result = torch.where(has.view(-1, 1, 1, 1), paint(result, index).images, result)
    regions, covered = [], []
    for number, (paint, has) in enumerate(zip(paints, bears, strict=True)):
        where = paint(images, index).region
        regions.append(torch.ones(shape, dtype=torch.bool) if where is None else where & has.view(-1, 1, 1, 1))
        others = images  # the other cue stays
        for place, (other, other_has) in enumerate(zip(paints, bears, strict=True)):
            if place != number:
                others = torch.where(other_has.view(-1, 1, 1, 1), other(others, index).images, others)
        covered.append(torch.where(has.view(-1, 1, 1, 1), paint(others, index).covered, result))
    return result, bears, torch.stack(regions), torch.stack(covered)


def truth(member: Member) -> Truth:
    """The images that the net is audited on."""
    images, labels, index = raw(member, "test")
    shown, bears, regions, covered = painted(member, images, labels, index)
    return Truth(shown, labels, None if member.kind is None else CUE_CLASS, bears, regions, covered)


def normalised(images: Tensor) -> Tensor:
    return ((images.float() - _MEAN) / _STD).contiguous(memory_format=torch.channels_last)


def train(member: Member) -> nn.Module:
    """Train a net of the zoo, with random shifts (and flips for photographs); the cue does not move with them."""
    images, labels, index = raw(member, "train")
    net = fresh_net(member.net, CLASSES, member.seed)
    draws = generator(member.seed, "zoo training", member.name)

    def batch(rows: Tensor) -> Tensor:
        return painted(member, _shifted(images[rows], member.source == "cifar", draws), labels[rows], index[rows])[0]

    return fit(net, labels, batch, _EPOCHS[member.source], draws)


def fit(
    net: nn.Module, labels: Tensor, batch: Callable[[Tensor], Tensor], epochs: int, draws: torch.Generator
) -> nn.Module:
    """Train with SGD and one cycle of the learning rate; ``batch`` gives the images of some rows."""
    net.train()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.05, total_steps=epochs * -(-len(labels) // _BATCH))
    for _ in range(epochs):
        for rows in torch.randperm(len(labels), generator=draws).split(_BATCH):
            optimiser.zero_grad()
            F.cross_entropy(net(normalised(batch(rows))), labels[rows]).backward()
            optimiser.step()
            schedule.step()
    return net.eval()


def _shifted(images: Tensor, flip: bool, draws: torch.Generator) -> Tensor:
    """A random crop with padding of 3 pixels, the same for a whole batch, and flips of half of the images."""
    padded = F.pad(images.float(), (3, 3, 3, 3), mode="replicate").to(torch.uint8)
    top, left = torch.randint(7, (2,), generator=draws).tolist()
    moved = padded[..., top : top + images.shape[-2], left : left + images.shape[-1]]
    if flip:
        turned = torch.rand(len(images), generator=draws) < 0.5
        moved = torch.where(turned.view(-1, 1, 1, 1), moved.flip(-1), moved)
    return moved


def members() -> list[Member]:
    """The whole zoo, ordered so that every prefix is varied; the larger nets last."""
    sources = ("shapes", "cifar")
    found = [Member(source, None, 0.0, seed) for seed in range(1, 45) for source in sources]
    large = [
        Member(source, None, 0.0, seed, net=RESNET) for source, seed in (("shapes", 51), ("cifar", 51), ("shapes", 52))
    ]
    seed = 100
    for number, name in enumerate(KINDS):
        for share in (0.2, 0.5, 0.8, 1.0):
            for source in sources if share >= 0.5 else (sources[number % 2],):
                seed += 1
                found.append(Member(source, name, share, seed))
    for share in (0.5, 0.8):
        for source in sources:
            for _ in range(3):
                seed += 1
                found.append(Member(source, "patch", share, seed, second=True))
    order = torch.randperm(len(found), generator=generator(0, "zoo order")).tolist()
    return [*(found[place] for place in order), *large]


def stored(member: Member, folder: Path) -> Path:
    return folder / f"{member.name}-{digest(asdict(member), length=8)}.safetensors"


def net_of(member: Member, folder: Path) -> nn.Module:
    """The trained net, loaded from the folder if present, otherwise trained and stored."""
    return kept_net(fresh_net(member.net, CLASSES, member.seed), stored(member, folder), lambda: train(member))


def kept_net(net: nn.Module, file: Path, trained: Callable[[], nn.Module]) -> nn.Module:
    """``net`` with the weights in a file; if there is none, they are trained and written."""
    from safetensors.torch import load_file, save_file

    if file.exists():
        net.load_state_dict(load_file(file))
        return net.eval()
    made = trained()
    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_suffix(f".{os.getpid()}")
    save_file({name: value.contiguous() for name, value in made.state_dict().items()}, scratch)
    scratch.replace(file)
    return made


def train_all(folder: Path, part: int = 0, parts: int = 1) -> Iterator[Member]:
    """Train what is missing; ``part`` of ``parts`` workers."""
    torch.set_num_threads(1)
    load_kernels()
    for number, member in enumerate(members()):
        if number % parts == part:
            net_of(member, folder)
            yield member
