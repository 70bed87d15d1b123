"""Settings that came after the first studies: at these values they shape nothing, and older results stay what they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# section and key of the configuration
SETTINGS: dict[tuple[str, str], Any] = {
    ("stream", "input_size"): None,
    ("backbone", "weights"): None,
    ("backbone", "stem_stride"): 1,
    ("training", "matmul"): "highest",
    ("training", "compile"): False,
    ("training", "kernels"): "torch",
    ("training", "layout"): "auto",
    ("training", "optimiser"): "sgd",
    ("training", "schedule"): "steps",
    ("training", "lr_end"): 0.0,
    ("evaluation", "subsets"): "every-epoch",
}
# learner and option; those of a method once more under another name (``gdumb~2``) are its own
OPTIONS: dict[tuple[str, str], Any] = {
    ("der", "joined"): False,
    ("derpp", "joined"): False,
    ("fromp", "joined"): False,
    ("gdumb", "passes"): 1,
    ("joint", "epochs"): None,
}
# these came before methods could be put together: in combinations they always shaped the key
_BEFORE_COMBINATIONS = {("der", "joined"), ("derpp", "joined")}


def known_before(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """A learner's options without those that came later and are not used; of a combination, those of its parts.

    >>> known_before("der", {"buffer": 500, "joined": False})
    {'buffer': 500}
    >>> known_before("gdumb-then-naive", {"gdumb": {"buffer": 100, "passes": 1}, "naive": {}})
    {'gdumb': {'buffer': 100}, 'naive': {}}
    >>> known_before("fromp-then-der", {"fromp": {"joined": False}, "der": {"joined": False}})
    {'fromp': {}, 'der': {'joined': False}}
    >>> known_before("joint", {"epochs": None}), known_before("joint", {"epochs": 6})
    ({}, {'epochs': 6})
    """
    return _without(method, options, inside=False)


def _without(method: str, options: Mapping[str, Any], inside: bool) -> dict[str, Any]:
    own = method.partition("~")[0]
    kept: dict[str, Any] = {}
    for key, value in options.items():
        if isinstance(value, Mapping):
            kept[key] = _without(key, value, inside=True)
        elif (own, key) not in OPTIONS or value != OPTIONS[own, key] or (inside and (own, key) in _BEFORE_COMBINATIONS):
            kept[key] = value
    return kept
