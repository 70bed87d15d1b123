"""Groups of classes: a model of many classes is audited over a few groups, whose probabilities are summed."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.experiments.audited_images import AuditedImages
from einstellung.foreign_files import MOST_TABLE_BYTES, read_text
from einstellung.probes.audit import AuditedModel
from einstellung.registry import suggestion
from einstellung.training.outputs import logits_of

_RANGE = re.compile(r"(\d+)\s*-\s*(\d+)")
_FEWEST = 2


@dataclass(frozen=True)
class ClassGroups:
    """Each group's classes, as given: a number, a range of numbers (``151-268``), or a name or WordNet id of a class with images.

    Images of classes in no group are left out; their probability remains, as one more output that no image belongs to.
    """

    members: Mapping[str, tuple[str, ...]]
    source: str

    def numbers(self, known: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """The outputs of each group; ``known``: the numbers of classes by name."""
        found: dict[str, tuple[int, ...]] = {}
        group_of: dict[int, str] = {}
        for group, classes in self.members.items():
            numbers = [number for one in classes for number in self._numbers(one, known)]
            for number in numbers:
                if (other := group_of.setdefault(number, group)) != group:
                    raise InputError(
                        f"{self.source}: class {number} is in '{other}' and in '{group}': keep one of them"
                    )
            found[group] = tuple(sorted(set(numbers)))
        if len(found) < _FEWEST:
            raise InputError(f"{self.source} names {len(found)} group: an audit compares groups, give at least two")
        return found

    def _numbers(self, one: str, known: Mapping[str, int]) -> range | tuple[int, ...]:
        if match := _RANGE.fullmatch(one):
            first, last = int(match[1]), int(match[2])
            if first > last:
                raise InputError(f"{self.source}: the range {one} ends before it begins")
            return range(first, last + 1)
        if one.isdigit():
            return (int(one),)
        if one not in known:
            raise InputError(
                f"{self.source}: '{one}' is neither a number nor the name of a class with images: {suggestion(one, known)}"
            )
        return (known[one],)

    def apply(self, images: AuditedImages, known: Mapping[str, int] | None = None) -> GroupedImages:
        """The images with groups for labels; ``known``: further names of classes, such as WordNet ids."""
        names = {name: label for label, name in images.class_names.items()} | dict(known or {})
        outputs = self.numbers(names)
        group_of = {number: place for place, numbers in enumerate(outputs.values()) for number in numbers}
        labels = np.array([group_of.get(label, -1) for label in images.labels.tolist()], dtype=np.int64)
        kept = torch.from_numpy(np.flatnonzero(labels >= 0))
        if not len(kept):
            raise InputError(f"{self.source}: no image belongs to a group; classes are numbered as the model's outputs")
        chosen = images.take(kept)
        present = sorted(set(labels[labels >= 0].tolist()))
        grouped = replace(
            chosen,
            labels=torch.from_numpy(labels[labels >= 0]),
            class_names={place: list(outputs)[place] for place in present},
        )
        return GroupedImages(grouped, tuple(outputs.values()), self.source)


@dataclass(frozen=True)
class GroupedImages:
    """Images labelled by group, and the outputs of each group."""

    images: AuditedImages
    outputs: tuple[tuple[int, ...], ...]
    source: str

    def of_model(self, model: AuditedModel) -> AuditedModel:
        """The model with one logit per group, the logarithm of the summed exponentials: softmax then sums probabilities."""
        forward = model.forward
        listed = {number for group in self.outputs for number in group}

        def grouped(inputs: Tensor) -> Tensor:
            logits = logits_of(forward(inputs))
            if not isinstance(logits, Tensor) or logits.ndim != 2:
                return logits  # type: ignore[no-any-return]  # refused where outputs are checked
            if (largest := max(listed)) >= logits.shape[1]:
                raise InputError(
                    f"{self.source}: there is no class {largest}, {model.name} has {logits.shape[1]} outputs"
                )
            rest = [number for number in range(logits.shape[1]) if number not in listed]
            parts = [*self.outputs, *([tuple(rest)] if rest else [])]
            return torch.stack([logits[:, list(part)].logsumexp(dim=1) for part in parts], dim=1)

        return replace(model, forward=grouped)

    def load(self, loader: Callable[[], AuditedModel]) -> Callable[[], AuditedModel]:
        return lambda: self.of_model(loader())


def read_groups(table: Path) -> ClassGroups:
    """Groups from a CSV table with the columns ``class`` and ``group``."""
    text = read_text(
        table,
        MOST_TABLE_BYTES,
        encoding="utf-8-sig",
        missing=f"{table} does not exist: give a CSV table of class,group",
    )
    lines = text.splitlines()
    reader = csv.DictReader(lines)
    if not {"class", "group"} <= set(reader.fieldnames or ()):
        raise InputError(f"{table}: its first line must name the columns class and group")
    members: dict[str, list[str]] = {}
    for row in reader:
        one, group = (row["class"] or "").strip(), (row["group"] or "").strip()
        if not one or not group:
            raise InputError(f"{table}, line {reader.line_num}: give a class and its group")
        members.setdefault(group, []).append(one)
    return ClassGroups({group: tuple(classes) for group, classes in members.items()}, str(table))


def groups_from(given: Mapping[str, Sequence[int | str]]) -> ClassGroups:
    """Groups as a mapping from names to classes."""
    return ClassGroups({str(group): tuple(map(str, classes)) for group, classes in given.items()}, "groups")
