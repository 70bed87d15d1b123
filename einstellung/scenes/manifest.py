"""``made.json``, the manifest of a folder of scenes: the settings it is made with, and which splits are complete."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.files import read_json, write_json
from einstellung.scenes.class_scenes import SAMPLING_VERSION
from einstellung.scenes.predicates import n_tasks
from einstellung.scenes.published import CASES
from einstellung.scenes.rendering import RENDERER_VERSION
from einstellung.scenes.rules import RuleBook, rules_in
from einstellung.scenes.sampling import SPLITS, class_distribution
from einstellung.scenes.work_chunks import LABELS, RenderSettings, WorkChunk, chunks_of
from einstellung.version import __version__

MANIFEST = "made.json"
RECORDS = "scenes.jsonl"
HASH_LIST = "sha256.txt"


@dataclass(frozen=True)
class DatasetSpec:
    """What to generate: variants, images per class and task of each split, and how scenes are rendered."""

    rendering: RenderSettings
    variants: tuple[str, ...]
    counts: Mapping[str, int]

    def chunks(self, variant: str, split: str) -> list[WorkChunk]:
        """The chunks of a split, in the order of its records."""
        tasks = range(n_tasks(self.rendering.book, variant))
        return [chunk for task in tasks for chunk in chunks_of(variant, split, task, self.counts[split])]

    def check(self) -> None:
        """Refuse rules under which a class of one of the variants has no scene."""
        for variant in self.variants:
            for task, label in product(range(n_tasks(self.rendering.book, variant)), LABELS):
                class_distribution(self.rendering.book, variant, task, label)

    @property
    def settings(self) -> dict[str, Any]:
        """What all cases of a folder have in common."""
        return {
            "size": self.rendering.size,
            "images_per_class_and_task": dict(self.counts),
            "seed": self.rendering.seed,
            "backend": self.rendering.backend,
            "renderer": RENDERER_VERSION,
            "sampling": SAMPLING_VERSION,
            "rules": self.rendering.book.to_dict(),
        }


def split_folder(root: Path, variant: str, split: str) -> Path:
    return root / CASES[variant] / split


def read_manifest(root: Path) -> dict[str, Any] | None:
    """The manifest of a folder, or None if it has none."""
    path = root / MANIFEST
    try:
        if not path.is_file():
            return None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    manifest: dict[str, Any] = read_json(path)
    try:
        valid = all(case.keys() >= {"variant", "complete", "splits"} for case in manifest["cases"].values())
        valid = valid and isinstance(manifest["settings"], dict)
    except (AttributeError, KeyError, TypeError):
        valid = False
    if not valid:
        raise InputError(f"{path} is not the manifest of a folder of scenes: restore it, or make the folder again")
    return manifest


def manifest_rules(root: Path) -> RuleBook | None:
    """The rules a folder was made with, or None if it has no manifest."""
    manifest = read_manifest(root)
    return None if manifest is None else rules_in(root / MANIFEST, manifest["settings"].get("rules"))


def check_folder(root: Path, spec: DatasetSpec) -> None:
    """Refuse a folder made with other settings, and a case that was not made by this command."""
    manifest = read_manifest(root)
    if manifest is not None:
        known: Mapping[str, Any] = manifest["settings"]
        for name, value in spec.settings.items():
            if known.get(name) != value:
                raise InputError(
                    f"{root} was made with {name} {known.get(name)}, not {value}: choose another --out, or delete the folder"
                )
        return
    for case in (root / CASES[variant] for variant in spec.variants):
        if case.exists():
            raise InputError(f"{case} exists but was not made by this command: choose another --out")


def open_manifest(root: Path, spec: DatasetSpec) -> dict[str, Any]:
    """The manifest of a folder: a new one, or the existing one if its settings are the same."""
    check_folder(root, spec)
    manifest = read_manifest(root)
    if manifest is None:
        manifest = {
            "made": datetime.date.today().isoformat(),
            "settings": spec.settings,
            "versions": {"einstellung": __version__} | _packages(spec.rendering.backend),
            "cases": {},
        }
    for variant in spec.variants:
        manifest["cases"].setdefault(CASES[variant], {"variant": variant, "complete": False, "splits": {}})
    write_json(root / MANIFEST, manifest)
    return manifest


def mark_complete(root: Path, manifest: dict[str, Any], variant: str, split: str, images: int, list_hash: str) -> None:
    """Record that a split is complete; a case is complete when all its splits are."""
    case = manifest["cases"][CASES[variant]]
    case["splits"][split] = {"images": images, HASH_LIST: list_hash}
    case["splits"] = {name: case["splits"][name] for name in SPLITS if name in case["splits"]}
    case["complete"] = len(case["splits"]) == len(SPLITS)
    write_json(root / MANIFEST, manifest)


def mark_incomplete(root: Path, manifest: dict[str, Any], variant: str, split: str) -> None:
    """Record that a split has to be made again."""
    case = manifest["cases"][CASES[variant]]
    del case["splits"][split]
    case["complete"] = False
    write_json(root / MANIFEST, manifest)


def _packages(backend: str) -> dict[str, str]:
    """The packages that determine the bytes; Blender may belong to another interpreter."""
    return {name: version(name) for name in ("numpy", "pillow", *((backend,) if backend != "bpy" else ()))}
