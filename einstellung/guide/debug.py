"""``--debug``: what it shrinks, and the name that marks its results. No torch here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.errors import InputError
from einstellung.guide.settings import backbone_name
from einstellung.results.config import StudyConfig, merged

#: The study's name is recorded, so that its results can be recognised later.
NAME = "guide-debug"
_SMALLER: dict[str, Any] = {
    "name": NAME,
    "stream": {"train_per_class": 10, "test_per_class": 4},
    "training": {"epochs": [2, 2], "milestones": []},
    # Enough for a barely trained net, and done in seconds.
    "learners": {"ewc_on": {"e_lambda": 0.01}, "dgr": {"generator_epochs": 1}},
}
_FEW_CLASSES = {"train_per_class": 5, "test_per_class": 1, "t1": [0, 1], "t2": [8, 10], "shortcut": [8]}
_SMALLER_OF: dict[str, tuple[str, dict[str, Any]]] = {
    "resnet18": ("width 8", {"backbone": {"width": 8}}),
    "vit": ("2 blocks of 24 channels", {"backbone": {"dim": 24, "depth": 2}}),
    "vit_base_patch16_224": ("10 + 10 classes because the net cannot be made smaller", {"stream": _FEW_CLASSES}),
}


def made_small(values: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of the guide as ``--debug`` runs it.

    >>> made_small({"backbone": "vit_base_patch16_224"})["stream"]["train_per_class"]
    5
    """
    _, smaller = _SMALLER_OF.get(backbone_name(values), ("", {}))
    return merged(values, merged(_SMALLER, smaller))


def check_mark(config: StudyConfig) -> None:
    """Refuse another name for a ``--debug`` study: its results would be indistinguishable from others."""
    if config.name != NAME:
        raise InputError(f"--debug names its study '{NAME}': remove name={config.name}")


def is_debug(config: StudyConfig) -> bool:
    return config.name == NAME


def debug_warnings(config: StudyConfig) -> list[str]:
    """The warning in every file of a ``--debug`` study; empty for any other study.

    >>> debug_warnings(StudyConfig())
    []
    """
    return [f"--debug: {_size(config)}: the results are meaningless"] if is_debug(config) else []


def describe_debug(config: StudyConfig) -> str:
    """The warning printed at the start, which also names the net."""
    words, smaller = _SMALLER_OF.get(config.backbone.name, ("", {}))
    settings = {"stream": config.stream.options, "backbone": config.backbone.options}
    asked = [(settings[section].get(key), value) for section, own in smaller.items() for key, value in own.items()]
    net = words if asked and all(there == value for there, value in asked) else "the net as configured"
    return f"--debug: {_size(config)}, {net}; the results are meaningless"


def _size(config: StudyConfig) -> str:
    images = config.stream.options.get("train_per_class") or "all"
    return f"{images} training images per class, {' + '.join(map(str, config.training.epochs))} epochs"
