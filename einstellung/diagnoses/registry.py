"""The registry of diagnoses, and the only place that decides which one a log was made for."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from einstellung.diagnoses.contract import Diagnosis
from einstellung.registry import Registry

DEFAULT = "rigidity"
_HERE = "einstellung.diagnoses"

Kind = type[Diagnosis[Any, Any]]


class _Diagnoses(Registry[Kind]):
    """Every folder in this room is a diagnosis, which its package names ``diagnosis``; others come as in any registry."""

    def _entry_points(self) -> dict[str, Callable[[], Kind]]:
        folders = [found.name for found in pkgutil.iter_modules(import_module(_HERE).__path__) if found.ispkg]
        return {**super()._entry_points(), **{name: lambda name=name: _in_folder(name) for name in folders}}  # type: ignore[misc]


def _in_folder(name: str) -> Kind:
    kind: Kind = import_module(f"{_HERE}.{name}").diagnosis
    return kind


#: Name -> class. Other packages add theirs by an entry point in this group, a user's file by ``@diagnoses.register(name)``.
diagnoses = _Diagnoses("diagnosis", group="einstellung.diagnoses")


def get_diagnosis(name: str) -> Diagnosis[Any, Any]:
    """The diagnosis of this name; an unknown name is an error that says which there are."""
    return diagnoses[name]()


def applies(diagnosis: Diagnosis[Any, Any], splits: Iterable[str]) -> bool:
    """Whether a diagnosis that was named can say anything about these splits: not where they are those of another one.

    >>> applies(get_diagnosis("rigidity"), ["T1_positive"]), applies(get_diagnosis("rigidity"), ["mine"])
    (False, True)
    """
    names = list(splits)
    return recognise(names).name in (DEFAULT, diagnosis.name) or diagnosis.recognises(names)


def recognise(splits: Iterable[str]) -> Diagnosis[Any, Any]:
    """The diagnosis that a foreign log was made for, judged by its splits; the rigidity index where none is recognised.

    >>> recognise(["T1_positive", "unconfounded_positive"]).name, recognise(["mine"]).name
    ('confounding', 'rigidity')
    """
    names = list(splits)
    for name in diagnoses:
        if name != DEFAULT and (found := get_diagnosis(name)).recognises(names):
            return found
    return get_diagnosis(DEFAULT)
