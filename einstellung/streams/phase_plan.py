"""The option ``phases`` of the planted streams: a list of phases, each with its classes, its cue classes and its own cue."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from einstellung.cues import Cue, cues, cues_for
from einstellung.errors import InputError
from einstellung.options import checked_options
from einstellung.registry import suggestion

PhaseSettings = Mapping[str, Any]  # one entry of the option, as a configuration has it
_KEYS = ("name", "classes", "shortcut", "cue")
_NAME = re.compile(r"[A-Za-z_][\w.+-]{0,39}")
_NUMBERED = re.compile(r"[Tt]\d+")


@dataclass(frozen=True)
class PhasePlan:
    """A phase before its images are chosen; ``place`` is where the option describes it, for messages.

    ``shortcut`` are the classes that get the ``cue``; where that is None they are trained like the others, but keep their place
    in the head, so that the same phases with and without a cue have the same labels.
    """

    name: str
    classes: tuple[int | str, ...]
    shortcut: tuple[int | str, ...]
    cue: Cue | None
    place: str

    @property
    def has_cue(self) -> bool:
        return self.cue is not None


def read_phases(
    given: Sequence[PhaseSettings],
    cue: Cue,
    given_otherwise: Collection[str] = (),
    section: str = "stream.",
    classes_needed: bool = True,
) -> tuple[PhasePlan, ...]:
    """The phases that an option describes; ``cue`` is the study's cue, which a phase may change.

    ``given_otherwise``: options of the two-phase protocol that were set too. ``classes_needed``: False where a table lists them.
    """
    if given_otherwise:
        raise InputError(
            f"{section}{sorted(given_otherwise)[0]} belongs to the two phases T1 and T2: leave it out with phases"
        )
    if getattr(cue, "habit", "none") != "none":
        raise InputError(f"cue.habit is '{cue.habit}': with phases, give the first phase a cue (shortcut) instead")  # type: ignore[attr-defined]
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) < 2:
        raise InputError(f"{section}phases must list at least two phases, such as {{classes: [...], shortcut: [...]}}")
    plans = tuple(
        _phase(one, number, cue, f"{section}phases[{number}]", classes_needed) for number, one in enumerate(given)
    )
    names = [plan.name for plan in plans]
    for plan in plans:
        if names.count(plan.name) > 1:
            raise InputError(f"{section}phases: two phases are named '{plan.name}'")
    if len({bool(_NUMBERED.fullmatch(name)) for name in names}) > 1 or (
        _NUMBERED.fullmatch(names[0]) and names != [f"T{number + 1}" for number in range(len(names))]
    ):
        raise InputError(f"{section}phases are named {', '.join(names)}: name all of them, or none (then T1, T2, ...)")
    if not any(plan.has_cue for plan in plans):
        raise InputError(f"{section}phases: no phase has a cue: give at least one of them shortcut classes")
    return plans


def _phase(given: Any, number: int, cue: Cue, place: str, classes_needed: bool) -> PhasePlan:
    if not isinstance(given, Mapping):
        raise InputError(f"{place} is {given!r}: give a phase as {{classes: [...], shortcut: [...], cue: {{...}}}}")
    for key in given:
        if key not in _KEYS:
            raise InputError(f"unknown key '{place}.{key}': {suggestion(str(key), _KEYS)}")
    name = given.get("name") or f"T{number + 1}"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(f"{place}.name is {name!r}: use letters, digits, '-', '_', '.', not beginning with a digit")
    classes, shortcut = (_listed(given.get(key), f"{place}.{key}") for key in ("classes", "shortcut"))
    if classes_needed and not classes:
        raise InputError(f"{place} ({name}) has no classes: give it some")
    if given.get("cue") is not None and not shortcut:
        raise InputError(
            f"{place} ({name}) has a cue, but no shortcut classes to put it on: give shortcut, or leave cue out"
        )
    own = _cue(given.get("cue", {}), cue, f"{place}.cue") if shortcut else None
    return PhasePlan(name, classes, shortcut, own, place)


def _listed(given: Any, place: str) -> tuple[int | str, ...]:
    if given is None:
        return ()
    values = [given] if isinstance(given, int | str) else list(given) if isinstance(given, Sequence) else [given]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise InputError(f"{place} names {value!r}: give classes by number or name")
    if len(set(values)) < len(values):
        raise InputError(f"{place} names a class twice")
    return tuple(values)


def _cue(given: Any, cue: Cue, place: str) -> Cue | None:
    """The study's cue with a phase's changes; another kind of cue (``name``) starts from its own defaults."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InputError(f"{place} is {given!r}: give its changes, such as {{share: 0.8}}, or null for no cue")
    if not given:
        return cue
    if not is_dataclass(cue) and "name" not in given:
        raise InputError(f"{place}: the cue {type(cue).__name__} is no dataclass, so its options cannot be changed")
    if "name" in given and str(given["name"]) not in (suitable := cues_for(getattr(cue, "modality", "image"))):
        raise InputError(f"{place}.name is '{given['name']}': {suggestion(str(given['name']), suitable)}")
    changes = {key: value for key, value in given.items() if key != "name"}
    make = cues[str(given["name"])] if "name" in given else type(cue)
    kept: dict[str, Any] = asdict(cue) if isinstance(cue, make) and is_dataclass(cue) else {}
    if changes.get("habit", "none") != "none":
        raise InputError(f"{place}.habit: with phases, give the first phase a cue (shortcut) instead")
    try:
        return make(**checked_options(make, place, {**kept, **changes}))
    except InputError as error:
        message = str(error)
        raise InputError(message if place in message else f"{place}: {message}") from None
