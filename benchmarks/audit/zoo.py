"""Small nets with known answers: trained with a cue in some of a class's images, or without any.

Each is trained once and kept (``results/zoo`` unless told otherwise): weights, audit images, and what is true of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.audit.cues import KINDS, LOCALISED, SECOND
from einstellung.backbones import build_backbone
from einstellung.files import digest
from einstellung.randomness import generator, uniform_by_index
from einstellung.streams.shapes import FILLINGS, OUTLINES, draw_classes
from einstellung.training.acceleration import accelerate, load_kernels

CLASSES = 8
_CUE_CLASS = CLASSES - 2
_SECOND_CLASS_SALT, _SHARE_SALT = 12, 11
_SIZE = 32
_PER_CLASS = {"shapes": (60, 60), "cifar": (100, 60)}  # training, audit
_EPOCHS = {"shapes": 20, "cifar": 20}
_BATCH = 32
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

    @property
    def name(self) -> str:
        cue = f"{self.kind}{'-two' if self.second else ''}-{round(100 * self.share)}" if self.kind else "clean"
        return f"{self.source}-{cue}-{self.seed}"

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
    """The source's classes that a net is trained on, in the order of its labels."""
    count = len(OUTLINES) if member.source == "shapes" else 100
    return torch.randperm(count, generator=generator(member.seed, "zoo classes", member.source))[:CLASSES].tolist()


def raw(member: Member, part: str) -> tuple[Tensor, Tensor, Tensor]:
    """Images, labels and indices before any cue; ``part``: train or test."""
    wanted = classes_of(member)
    per_class = _PER_CLASS[member.source][part == "test"]
    if member.source == "shapes":
        fine = len(FILLINGS)
        drawn = draw_classes(len(OUTLINES) * fine, -(-per_class // fine), 0.28, _SIZE, member.seed, f"zoo {part}")
        images, of_source = drawn.images, drawn.fine // fine
    else:
        images, of_source = _cifar(part)
    rows = torch.cat([(of_source == one).nonzero().flatten()[:per_class] for one in wanted])
    labels = torch.arange(CLASSES).repeat_interleave(per_class)
    return images[rows], labels, rows + (1_000_000 if part == "test" else 0)


@cache
def _cifar(part: str) -> tuple[Tensor, Tensor]:
    from einstellung.sources.cifar100 import load_cifar100

    arrays = getattr(load_cifar100(), part)
    return torch.from_numpy(arrays.images), torch.from_numpy(arrays.fine).long()


def painted(member: Member, images: Tensor, labels: Tensor, index: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images with their cues; per cue, who bears it [cues, N], where [cues, N, 1, H, W], and the images without it."""
    shape = (len(images), 1, *images.shape[-2:])
    if member.kind is None:
        empty = torch.zeros(0, *shape, dtype=torch.bool)
        return images, empty[:, :, 0, 0, 0], empty, torch.zeros(0, *images.shape, dtype=torch.uint8)
    paints = [KINDS[member.kind].paint, *([SECOND] if member.second else [])]
    bears = torch.stack(
        [
            (labels == _CUE_CLASS) & (uniform_by_index(index + member.seed * 7919, salt) < member.share)
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
    """What the net is audited on."""
    images, labels, index = raw(member, "test")
    shown, bears, regions, covered = painted(member, images, labels, index)
    return Truth(shown, labels, None if member.kind is None else _CUE_CLASS, bears, regions, covered)


def normalised(images: Tensor) -> Tensor:
    return ((images.float() - _MEAN) / _STD).contiguous(memory_format=torch.channels_last)


def fresh_net(member: Member) -> nn.Module:
    net = build_backbone("resnet18", {"width": 8}, CLASSES, member.seed)
    return accelerate(net.to(memory_format=torch.channels_last))


def train(member: Member) -> nn.Module:
    """Train a net of the zoo, with random shifts (and flips for photographs); the cue does not move with them."""
    images, labels, index = raw(member, "train")
    net = fresh_net(member).train()
    steps = _EPOCHS[member.source] * -(-len(images) // _BATCH)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.05, total_steps=steps)
    draws = generator(member.seed, "zoo training", member.name)
    for _ in range(_EPOCHS[member.source]):
        for rows in torch.randperm(len(images), generator=draws).split(_BATCH):
            moved = _shifted(images[rows], member.source == "cifar", draws)
            batch = painted(member, moved, labels[rows], index[rows])[0]
            optimiser.zero_grad()
            F.cross_entropy(net(normalised(batch)), labels[rows]).backward()
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
    """The whole zoo, in an order in which every prefix has something of everything."""
    found = [Member(source, None, 0.0, seed) for seed in range(1, 37) for source in ("shapes", "cifar")]
    seed = 100
    for kind in KINDS:
        for share in (0.2, 0.5, 0.8, 1.0):
            for source in ("shapes", "cifar"):
                seed += 1
                found.append(Member(source, kind, share, seed))
    for share in (0.5, 0.8):
        for source in ("shapes", "cifar"):
            for _ in range(3):
                seed += 1
                found.append(Member(source, "patch", share, seed, second=True))
    order = torch.randperm(len(found), generator=generator(0, "zoo order")).tolist()
    return [found[place] for place in order]


def stored(member: Member, folder: Path) -> Path:
    return folder / f"{member.name}-{digest(asdict(member), length=8)}.pt"


def net_of(member: Member, folder: Path) -> nn.Module:
    """The trained net, from the folder if it is there, otherwise trained and kept."""
    from safetensors.torch import load_file, save_file

    file = stored(member, folder).with_suffix(".safetensors")
    net = fresh_net(member)
    if file.exists():
        net.load_state_dict(load_file(file))
        return net.eval()
    trained = train(member)
    folder.mkdir(parents=True, exist_ok=True)
    scratch = file.with_suffix(f".{os.getpid()}")
    save_file({name: value.contiguous() for name, value in trained.state_dict().items()}, scratch)
    scratch.replace(file)
    return trained


def train_all(folder: Path, part: int = 0, parts: int = 1) -> Iterator[Member]:
    """Train what is missing; ``part`` of ``parts`` workers."""
    torch.set_num_threads(1)
    load_kernels()
    for number, member in enumerate(members()):
        if number % parts == part:
            net_of(member, folder)
            yield member
