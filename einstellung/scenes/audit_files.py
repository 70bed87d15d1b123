"""Audit ``scenes.jsonl`` files, with freshly drawn layouts as the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from einstellung.errors import InputError
from einstellung.scenes.audit import LABELS, Audit, AuditedScenes, audit, best_variant
from einstellung.scenes.class_scenes import draw_class
from einstellung.scenes.cue_probe import POSITIONS, Features, position_features, visibility_features
from einstellung.scenes.layout import quadrants
from einstellung.scenes.manifest import RECORDS, manifest_rules
from einstellung.scenes.predicates import n_tasks
from einstellung.scenes.published import CASES
from einstellung.scenes.records import finite, read_records, scenes_from_records
from einstellung.scenes.rule_book import PAPER_RULES, RuleBook
from einstellung.scenes.scene import Floats, Scenes
from einstellung.scenes.small_predicates import layout_statistics

_REFERENCE_SCENES = 400  # reference scenes per class: laying them out takes most of the time
_SEED = 20_240_207

Records = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class AuditedFile:
    """A file of records and the result of its audit."""

    path: Path
    audit: Audit

    def to_dict(self) -> dict[str, Any]:
        return {"path": str(self.path), **self.audit.to_dict()}


def audit_files(rules: RuleBook | None, path: Path, variant: str | None = None) -> list[AuditedFile]:
    """Audit a file of records, or every ``scenes.jsonl`` in a folder and below.

    ``rules`` None: those the folder was made with, else the paper's. ``variant`` None: by the name of the case's folder, else
    the one the scenes satisfy.
    """
    found = []
    for file in _files(path):
        book = rules or _rules_of_folder(file) or PAPER_RULES
        scenes = read_audited(file)
        chosen = variant or _variant_from_path(file) or best_variant(book, scenes)
        found.append(AuditedFile(file, audit(book, scenes, chosen, _reference_like(book, scenes, chosen))))
    return found


def _rules_of_folder(file: Path) -> RuleBook | None:
    """The rules in the manifest above ``CASE/SPLIT/scenes.jsonl``, if there is one."""
    above = file.absolute().parents
    return manifest_rules(above[2]) if len(above) > 2 else None


def read_audited(path: Path) -> AuditedScenes:
    """The scenes of one file, with layout statistics if every record holds its layout."""
    records = read_records(path)
    if not records:
        raise InputError(f"{path} is empty: an audit needs scenes of both classes")
    recorded = scenes_from_records(list(records), records, path)
    labels, tasks = (_integers(path, records, key) for key in ("label", "task"))
    if not set(labels) <= {0, 1}:
        raise InputError(f"{path}: label {max(labels)} is neither 1 (positive) nor 0 (negative)")
    position = recorded.scenes.position if recorded.scenes is not None else _positions(path, records)
    places, statistics = recorded.places, {}
    features: Features = {}
    if position is not None:
        places = quadrants(position) if places is None else places
        camera, lamps = (None, None) if recorded.scenes is None else (recorded.scenes.camera, recorded.scenes.lamps)
        statistics = layout_statistics(position, camera, lamps)
        features = _features(position, recorded.scenes)
    return AuditedScenes(recorded.attributes, np.array(labels), np.array(tasks), places, statistics, features)


def _features(position: Floats, scenes: Scenes | None) -> Features:
    """The probe's features; counts and areas only where the records include the camera."""
    return {POSITIONS: position_features(position)} | ({} if scenes is None else dict(visibility_features(scenes)))


def _positions(path: Path, records: Records) -> Floats | None:
    """The object positions on the ground, if every record has them."""
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


def _integers(path: Path, records: Records, key: str) -> list[int]:
    values = []
    for name, one in records.items():
        value = one.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InputError(f"{path}: the record of {name} has {key} {value!r}: it must be an integer from 0")
        values.append(value)
    return values


def _reference_like(book: RuleBook, scenes: AuditedScenes, variant: str) -> AuditedScenes | None:
    """Freshly drawn scenes of the same classes with a layout, or None if there is nothing to compare."""
    tasks = tuple(task for task in np.unique(scenes.tasks).tolist() if task < n_tasks(book, variant))
    if not scenes.statistics or not tasks or scenes.attributes.shape[1] != book.objects:
        return None
    return _reference(book, variant, tasks, _REFERENCE_SCENES)


@lru_cache(maxsize=8)  # train, val and test of a case share it
def _reference(book: RuleBook, variant: str, tasks: tuple[int, ...], count: int) -> AuditedScenes:
    cells = [(task, label) for task in tasks for label in LABELS]
    drawn = [
        draw_class(
            book, variant, task, label, [np.random.default_rng([_SEED, task, label, number]) for number in range(count)]
        )
        for task, label in cells
    ]
    scenes = Scenes.joined([one.scenes for one in drawn])
    places = [one.places for one in drawn if one.places is not None]
    return AuditedScenes(
        scenes.attributes,
        labels=np.repeat([label for _, label in cells], count),
        tasks=np.repeat([task for task, _ in cells], count),
        places=np.concatenate(places) if places else None,
        statistics=layout_statistics(scenes.position, scenes.camera, scenes.lamps),
        features=_features(scenes.position, scenes),
    )


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder")
    found = sorted(path.rglob(RECORDS))
    if not found:
        raise InputError(f"no {RECORDS} in {path} or below: nothing to audit")
    return found


def _variant_from_path(file: Path) -> str | None:
    """The variant of the case folder above the file, if any."""
    names = {name: variant for variant, case in CASES.items() for name in (case, variant)}
    return next((names[part] for part in reversed(file.absolute().parent.parts) if part in names), None)
