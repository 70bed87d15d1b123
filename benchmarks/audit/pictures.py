"""Two more kinds of cue, in pictures of two classes: the scene behind an animal, and the attribute of an object (ConCon).

Their nets are judged by the shipped null and are not part of it. A cue has a twin: the same picture without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.audit.judging import judged
from benchmarks.audit.nets import CONV, fresh_net
from benchmarks.audit.zoo import fit, kept_net, normalised
from benchmarks.measuring import row
from einstellung.composites.build import PHOTOGRAPHS, CompositeSpec, build_composites, find_sources
from einstellung.composites.source_folders import has_folder
from einstellung.files import digest, write_text
from einstellung.metrics.proportions import paired_difference_interval
from einstellung.probes.audit import AuditedModel, audit_model
from einstellung.probes.audit.audit import Null
from einstellung.randomness import generator
from einstellung.results.audit_files import ModelAudit
from einstellung.scenes.rules import PAPER_RULES
from einstellung.streams.composites.interventions import Swap
from einstellung.streams.composites.table import CompositeTable
from einstellung.streams.concon.task_datasets import UNCONFOUNDED, TaskDatasets, resolved_options

BACKGROUND, ATTRIBUTE = "background", "attribute"
CUE_CLASS = 1
_SIZES = {BACKGROUND: 32, ATTRIBUTE: 64}
_EPOCHS = {BACKGROUND: 15, ATTRIBUTE: 10}
_SCENES = {"train": 600, "val": 1, "test": 120}  # per class
_SCENE_SEED = 20


@dataclass(frozen=True)
class Pictured:
    """A net on pictures: ``share`` of class 1 has the common scene (0.5: clean), or the confounder of ``task`` (None: clean).

    ``draw``: which photographs meet on which, in another draw of the composites.
    """

    kind: str
    seed: int
    share: float = 0.5
    task: int | None = None
    draw: int = 0

    @property
    def clean(self) -> bool:
        return self.share == 0.5 and self.task is None

    @property
    def name(self) -> str:
        cue = "clean" if self.clean else f"{round(100 * self.share)}" if self.task is None else f"task{self.task + 1}"
        return f"{self.kind}-{cue}-{self.seed}"


@dataclass(frozen=True)
class Twins:
    """Images of class 1 that have the cue, and the same without it."""

    images: Tensor
    without: Tensor


@dataclass(frozen=True)
class Pictures:
    """Training images and audit images with their labels, and the twins of the latter (None: clean)."""

    train: tuple[Tensor, Tensor]
    audit: tuple[Tensor, Tensor]
    twins: Twins | None


def pictured() -> list[Pictured]:
    """Backgrounds only where the photographs are found."""
    found = [Pictured(ATTRIBUTE, 1)] + [Pictured(ATTRIBUTE, 2 + task, task=task) for task in (0, 1, 2)]
    if has_folder(PHOTOGRAPHS):
        shares = (0.5, 0.5, 0.8, 0.8, 0.95, 0.95, 1.0, 1.0)
        found += [Pictured(BACKGROUND, 1 + number, share) for number, share in enumerate(shares)]
    return found


def pictures_of(member: Pictured) -> Pictures:
    return animals(member) if member.kind == BACKGROUND else _scenes(member)


@cache
def composites(draw: int) -> CompositeTable:
    spec = CompositeSpec(_SIZES[BACKGROUND], ((0.5, 0.5),), {"train": None, "val": None, "test": None}, False, draw)
    return CompositeTable(build_composites(find_sources(PHOTOGRAPHS, None, spec, ()), spec))


def animals(member: Pictured) -> Pictures:
    """Animals on scenes: those of class 0 half on either kind, of class 1 a share on one kind."""
    table = composites(member.draw)
    swap = Swap(table, "background")
    draws = np.random.default_rng([member.seed, 31])

    def part(plan: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        rows = table.rows(plan)
        swapped = swap.parts(rows, draws.random(len(rows)))
        common = table.values[rows, swap.bit] == 1
        labels = table.labels[rows]
        wanted = np.where(labels == CUE_CLASS, draws.random(len(rows)) < member.share, common)
        own, other = table.images(rows).images, table.images(rows, swapped).images
        keeps = torch.from_numpy(wanted == common).view(-1, 1, 1, 1)
        bears = torch.from_numpy(wanted & (labels == CUE_CLASS)).nonzero().flatten()
        return torch.where(keeps, own, other), torch.from_numpy(labels), bears, torch.where(keeps, other, own)

    images, labels, _, _ = part("T1")
    shown, known, bears, without = part("test")
    twins = None if member.clean else Twins(shown[bears], without[bears])
    return Pictures((images, labels), (shown, known), twins)


def _scenes(member: Pictured) -> Pictures:
    """ConCon: positives have the confounder of the task, negatives do not."""
    options = resolved_options(_SCENES, _SIZES[ATTRIBUTE], _SCENE_SEED, "auto")
    variant = UNCONFOUNDED if member.task is None else "strict"
    data = TaskDatasets(PAPER_RULES, variant, "pixels", options, None, None)
    task = member.task or 0
    train, test = data.split(variant, "train", task), data.split(variant, "test", task)
    twins = None
    if member.task is not None:
        pair = data.twins(test.of_label(CUE_CLASS), task, insert=False)
        assert pair is not None
        twins = Twins(pair[0].images.images, pair[1].images.images)
    return Pictures((train.images.images, train.images.labels), (test.images.images, test.images.labels), twins)


def pictured_net(member: Pictured, folder: Path) -> nn.Module:
    """The net of a member, trained or loaded."""

    def trained() -> nn.Module:
        images, labels = pictures_of(member).train
        draws = generator(member.seed, "zoo training", member.name)

        def batch(rows: Tensor) -> Tensor:
            turned = torch.rand(len(rows), generator=draws) < 0.5
            return torch.where(turned.view(-1, 1, 1, 1), images[rows].flip(-1), images[rows])

        return fit(fresh_net(CONV, 2, member.seed), labels, batch, _EPOCHS[member.kind], draws)

    file = folder / f"{member.name}-{digest(asdict(member), length=8)}.safetensors"
    return kept_net(fresh_net(CONV, 2, member.seed), file, trained)


@dataclass(frozen=True)
class PicturedResult:
    """A net on pictures: what its cue is worth (None: clean), and the audit's findings in either class."""

    member: Pictured
    delta: float | None
    used: bool
    audit: ModelAudit

    def found(self, null: Null) -> bool:
        return any(one.label == CUE_CLASS for one in judged(self.audit, null)[0])


def pictured_results(folder: Path) -> list[PicturedResult]:
    """The audits of all nets on pictures; missing ones are trained and audited."""
    results = []
    for member in pictured():
        known, net = pictures_of(member), pictured_net(member, folder)
        model = AuditedModel(member.name, net, normalised)
        file = folder / "audits" / f"{member.name}.json"
        if not file.exists():
            audit = audit_model(model, *known.audit, {}, everything=True)
            write_text(file, audit.model_dump_json(by_alias=True))
        delta, used = None, False
        if known.twins is not None:
            before, after = (
                model.logits(some).argmax(dim=1) == CUE_CLASS for some in (known.twins.images, known.twins.without)
            )
            lost, won = int((before & ~after).sum()), int((~before & after).sum())
            delta, used = (lost - won) / len(before), paired_difference_interval(lost, won, len(before))[0] > 0
        audit = ModelAudit.model_validate_json(file.read_text())
        results.append(PicturedResult(member, delta, used, audit))
    return results


def pictured_rows(results: Sequence[PicturedResult], null: Null) -> list[dict[str, Any]]:
    rows = []
    for kind, words in ((BACKGROUND, "the scene behind an animal"), (ATTRIBUTE, "an object's attribute, ConCon")):
        own = [one for one in results if one.member.kind == kind]
        if not own:
            rows.append(row(f"cue '{kind}' ({words})", f"skipped: {PHOTOGRAPHS} is not there", "no target", None))
            continue
        cued, clean = ([one for one in own if one.member.clean == which] for which in (False, True))
        accused = sum(bool(judged(one.audit, null)[0]) for one in clean)
        worth = ", ".join(f"{100 * one.delta:.0f}" for one in cued if one.delta is not None)
        rows.append(
            row(
                f"cue '{kind}' ({words}): found",
                f"{sum(one.found(null) for one in cued)} of {len(cued)}; {sum(one.used for one in cued)} nets use it "
                f"(worth {worth} points); clean nets accused {accused} of {len(clean)}",
                "no target",
                None,
            )
        )
    return rows
