"""The audit of ``scenes.jsonl``: its scenes, and scenes laid out afresh to compare their layout with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from einstellung.errors import InputError
from einstellung.scenes.audit import Audit, AuditedScenes, audit, best_variant, draw_scenes
from einstellung.scenes.layout import place_scenes, quadrants
from einstellung.scenes.made import RECORDS, made_rules
from einstellung.scenes.predicates import n_tasks
from einstellung.scenes.published import CASES
from einstellung.scenes.records import finite, read_records, recorded
from einstellung.scenes.rule_book import PAPER_RULES, RuleBook
from einstellung.scenes.scene import Floats
from einstellung.scenes.small_predicates import layout_numbers

_LAID_OUT = 400  # scenes of each class for comparison: laying them out is what takes the time
_SEED = 20_240_207

Records = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class AuditedFile:
    """A file of records and what the audit says of it."""

    path: Path
    audit: Audit

    def to_dict(self) -> dict[str, Any]:
        return {"path": str(self.path), **self.audit.to_dict()}


def audit_files(rules: RuleBook | None, path: Path, variant: str | None = None) -> list[AuditedFile]:
    """Audit a file of records, or every ``scenes.jsonl`` in a folder and below.

    ``rules`` None takes those that the folder was made with, or else the paper's; ``variant`` None takes it from the name of the
    case's folder, or else the one that the scenes obey.
    """
    found = []
    for file in _files(path):
        book = rules or _made_rules(file) or PAPER_RULES
        scenes = read_audited(file)
        chosen = variant or _variant_named(file) or best_variant(book, scenes)
        found.append(AuditedFile(file, audit(book, scenes, chosen, _laid_out_like(book, scenes, chosen))))
    return found


def _made_rules(file: Path) -> RuleBook | None:
    """Those of the folder that a case's ``SPLIT/scenes.jsonl`` lies in, if it has been made here."""
    above = file.absolute().parents
    return made_rules(above[2]) if len(above) > 2 else None


def read_audited(path: Path) -> AuditedScenes:
    """The scenes of one file, with numbers of their layout where every record tells it."""
    records = read_records(path)
    if not records:
        raise InputError(f"{path} holds no record: an audit needs scenes of both classes")
    told = recorded(list(records), records, path)
    labels, tasks = (_whole_numbers(path, records, key) for key in ("label", "task"))
    if not set(labels) <= {0, 1}:
        raise InputError(f"{path}: label {max(labels)} is neither 1 (positive) nor 0 (negative)")
    position = told.scenes.position if told.scenes is not None else _positions(path, records)
    places, numbers = told.places, {}
    if position is not None:
        places = quadrants(position) if places is None else places
        camera, lamps = (None, None) if told.scenes is None else (told.scenes.camera, told.scenes.lamps)
        numbers = layout_numbers(position, camera, lamps)
    return AuditedScenes(told.attributes, np.array(labels), np.array(tasks), places, numbers)


def _positions(path: Path, records: Records) -> Floats | None:
    """Where the objects stand on the ground, if all records say so."""
    if not all("position" in item for one in records.values() for item in one["objects"]):
        return None
    found, name = [], ""
    try:
        for name in records:
            objects = records[name]["objects"]
            found.append(finite([item["position"][:2] for item in objects], len(objects), 2))
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: {name}: a position is not a list of numbers ({error})") from None
    return np.stack(found)


def _whole_numbers(path: Path, records: Records, key: str) -> list[int]:
    values = []
    for name, one in records.items():
        value = one.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InputError(f"{path}: the record of {name} has {key} {value!r}: it must be a whole number from 0 on")
        values.append(value)
    return values


def _laid_out_like(book: RuleBook, scenes: AuditedScenes, variant: str) -> AuditedScenes | None:
    """Fresh scenes of the same classes with a layout, or None where there is nothing to compare it with."""
    tasks = tuple(task for task in np.unique(scenes.tasks).tolist() if task < n_tasks(book, variant))
    if not scenes.numbers or not tasks or scenes.attributes.shape[1] != book.objects:
        return None
    return _laid_out(book, variant, tasks, _LAID_OUT)


@lru_cache(maxsize=8)  # train, val and test of a case are held against the same
def _laid_out(book: RuleBook, variant: str, tasks: tuple[int, ...], count: int) -> AuditedScenes:
    drawn = draw_scenes(book, variant, tasks, count, _SEED)
    generators = [np.random.default_rng([_SEED, number]) for number in range(len(drawn))]
    placed = place_scenes(drawn.attributes, drawn.places, generators)
    return replace(drawn, numbers=layout_numbers(placed.position, placed.camera, placed.lamps))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"{path}: there is no such file or folder")
    found = sorted(path.rglob(RECORDS))
    if not found:
        raise InputError(f"{path} holds no {RECORDS}, neither itself nor below: there is nothing to audit")
    return found


def _variant_named(file: Path) -> str | None:
    """The variant whose case folder the file lies in, if any."""
    names = {name: variant for variant, case in CASES.items() for name in (case, variant)}
    return next((names[part] for part in reversed(file.absolute().parent.parts) if part in names), None)
