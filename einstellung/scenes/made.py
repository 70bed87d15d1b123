"""``made.json``: with which settings a folder of scenes is made, and how far it has come."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import einstellung
from einstellung.errors import InputError
from einstellung.files import read_json, write_json
from einstellung.scenes.lots import LABELS, Lot, Recipe, lots_of
from einstellung.scenes.predicates import n_tasks
from einstellung.scenes.published import CASES
from einstellung.scenes.rendering import RENDERER_VERSION
from einstellung.scenes.rules import RuleBook, rules_in
from einstellung.scenes.sampling import SPLITS, class_law

MADE = "made.json"
RECORDS = "scenes.jsonl"
LIST = "sha256.txt"


@dataclass(frozen=True)
class Order:
    """What is to be made: variants, images of each class and task by split, and how scenes become pictures."""

    recipe: Recipe
    variants: tuple[str, ...]
    counts: Mapping[str, int]

    def lots(self, variant: str, split: str) -> list[Lot]:
        """The lots of a split, in the order of its records."""
        tasks = range(n_tasks(self.recipe.book, variant))
        return [lot for task in tasks for lot in lots_of(variant, split, task, self.counts[split])]

    def check(self) -> None:
        """Refuse rules that leave a class of one of the variants without any scene."""
        for variant in self.variants:
            for task, label in product(range(n_tasks(self.recipe.book, variant)), LABELS):
                class_law(self.recipe.book, variant, task, label)

    @property
    def settings(self) -> dict[str, Any]:
        """What every case of a folder has in common."""
        return {
            "size": self.recipe.size,
            "images_per_class_and_task": dict(self.counts),
            "seed": self.recipe.seed,
            "backend": self.recipe.backend,
            "renderer": RENDERER_VERSION,
            "rules": self.recipe.book.to_dict(),
        }


def split_folder(root: Path, variant: str, split: str) -> Path:
    return root / CASES[variant] / split


def read_made(root: Path) -> dict[str, Any] | None:
    """The record of a folder, if there is one."""
    path = root / MADE
    try:
        if not path.is_file():
            return None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    made: dict[str, Any] = read_json(path)
    try:
        known = all(case.keys() >= {"variant", "complete", "splits"} for case in made["cases"].values())
        known = known and isinstance(made["settings"], dict)
    except (AttributeError, KeyError, TypeError):
        known = False
    if not known:
        raise InputError(f"{path} is no record of a folder of scenes: restore it, or make the folder anew")
    return made


def made_rules(root: Path) -> RuleBook | None:
    """The rules that the scenes of a folder were made with, where it tells."""
    made = read_made(root)
    return None if made is None else rules_in(root / MADE, made["settings"].get("rules"))


def check_folder(root: Path, order: Order) -> None:
    """Refuse a folder that was made with other settings, or a case in it that somebody else made."""
    made = read_made(root)
    if made is not None:
        known: Mapping[str, Any] = made["settings"]
        for name, value in order.settings.items():
            if known.get(name) != value:
                raise InputError(
                    f"{root} was made with another setting, {name} {known.get(name)} and not {value}: choose another --out, "
                    "or take the folder away"
                )
        return
    for case in (root / CASES[variant] for variant in order.variants):
        if case.exists():
            raise InputError(f"{case} is there, but was not made by this command: choose another --out")


def begin(root: Path, order: Order) -> dict[str, Any]:
    """The record of a folder: a new one, or the one that is there if it was made with the same settings."""
    check_folder(root, order)
    made = read_made(root)
    if made is None:
        made = {
            "made": datetime.date.today().isoformat(),
            "settings": order.settings,
            "versions": {"einstellung": einstellung.__version__} | _packages(order.recipe.backend),
            "cases": {},
        }
    for variant in order.variants:
        made["cases"].setdefault(CASES[variant], {"variant": variant, "complete": False, "splits": {}})
    write_json(root / MADE, made)
    return made


def split_finished(root: Path, made: dict[str, Any], variant: str, split: str, images: int, list_hash: str) -> None:
    """Note that a split is whole; a case is, when all its splits are."""
    case = made["cases"][CASES[variant]]
    case["splits"][split] = {"images": images, LIST: list_hash}
    case["splits"] = {name: case["splits"][name] for name in SPLITS if name in case["splits"]}
    case["complete"] = len(case["splits"]) == len(SPLITS)
    write_json(root / MADE, made)


def split_lost(root: Path, made: dict[str, Any], variant: str, split: str) -> None:
    """Note that a split is no longer whole."""
    case = made["cases"][CASES[variant]]
    del case["splits"][split]
    case["complete"] = False
    write_json(root / MADE, made)


def _packages(backend: str) -> dict[str, str]:
    """What has a say in the bytes; Blender may be that of another interpreter."""
    return {name: version(name) for name in ("numpy", "pillow", *((backend,) if backend != "bpy" else ()))}
