"""From the methods that a study names to learners: registered ones, compositions of them, and short names for compositions.

``parts: [REPLAY, METHOD]`` (short ``REPLAY+METHOD``): METHOD learns every phase, with replay of earlier ones.
``then: [FIRST, SECOND]`` (short ``FIRST-then-SECOND``): FIRST learns the first phase, SECOND all others.
``of: METHOD`` (short ``METHOD~WORD``): METHOD again, with its own options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from torch import nn

from einstellung.errors import InputError
from einstellung.learners.combined import InTurn, InTurnWorkload, Joined, JoinedWorkload
from einstellung.learners.learner import Context, Learner, learners
from einstellung.learners.replay import ReplayLearner
from einstellung.modalities import MODALITIES
from einstellung.options import checked_options
from einstellung.registry import suggestion

Kind = Literal["parts", "then", "of"]

_WORD = re.compile(r"[\w.-]+")
_PARTS, _THEN, _OF = "+", "-then-", "~"


@dataclass(frozen=True)
class Composition:
    """How a method is composed of others, by name."""

    kind: Kind
    names: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        """In the form of a configuration.

        >>> Composition("parts", ("er", "lle")).as_data(), Composition("of", ("gdro",)).as_data()
        ({'parts': ['er', 'lle']}, {'of': 'gdro'})
        """
        return {self.kind: self.names[0] if self.kind == "of" else list(self.names)}


def short_name_composition(name: str) -> Composition | None:
    """The composition that a short name stands for; None if it is not a short name.

    >>> short_name_composition("derpp+sd").names, short_name_composition("jtt~2").names, short_name_composition("sgd")
    (('derpp', 'sd'), ('jtt',), None)
    """
    first, then, second = name.partition(_THEN)
    if then:
        if _THEN in second:
            raise InputError(f"'{name}': give one method for the first phase and one for all others")
        return Composition("then", (first, second))
    first, plus, second = name.partition(_PARTS)
    if plus:
        return Composition("parts", (first, second))
    first, copy, word = name.partition(_OF)
    if not copy:
        return None
    if not _WORD.fullmatch(word):
        raise InputError(f"'{name}': after '{_OF}' give a word of letters, digits, '-', '.' or '_'")
    return Composition("of", (first,))


@dataclass(frozen=True)
class Methods:
    """The learners that one study can name: all registered ones, its own ``compositions``, and short names.

    ``batch_size`` is that of the study's training, which options may refer to.

    >>> Methods({"mine": Composition("of", ("sgd",))})["mine"].__mro__[1] is learners["sgd"]
    True
    """

    compositions: Mapping[str, Composition] = field(default_factory=dict)
    batch_size: int = 32

    def composition(self, name: str) -> Composition | None:
        """How the method is composed of others; None for a registered learner."""
        if name in self.compositions:
            return self.compositions[name]
        return None if name in learners else short_name_composition(name)

    def check(self) -> None:
        """Refuse a composition whose name is already taken, or that contains itself."""
        for name, made in self.compositions.items():
            if name in learners:
                raise InputError(f"combinations.{name}: a learner already has that name; choose another one")
            if (short := short_name_composition(name)) not in (None, made):
                assert short is not None
                raise InputError(f"combinations.{name}: that name is short for {short.as_data()}; choose another one")
            self._require_ends(name, ())

    def _require_ends(self, name: str, within: tuple[str, ...]) -> None:
        if name in within:
            raise InputError(f"combinations.{name} contains itself: {' -> '.join((*within, name))}")
        made = self.composition(name)
        for part in made.names if made else ():
            self._require_ends(part, (*within, name))

    def __getitem__(self, name: str) -> type[Learner]:
        """The learner's class; raises an error for an unknown name or an incompatible pair."""
        made = self.composition(name)
        if made is None:
            if name not in learners and self.compositions:
                raise InputError(f"unknown learner '{name}': {suggestion(name, [*learners, *self.compositions])}")
            return learners[name]
        if made.kind == "then":
            return self._in_turn(name, *made.names)
        if made.kind == "parts":
            return self._joined(name, *made.names)
        original = self[made.names[0]]
        return type(name, (original,), {"__module__": original.__module__})

    def _in_turn(self, name: str, first: str, second: str) -> type[Learner]:
        kinds = self[first], self[second]
        for part, kind in zip((first, second), kinds, strict=True):
            if kind.skips_history:
                raise InputError(
                    f"'{name}': {part} starts at the last phase, so it cannot be combined with a method before or after it"
                )
            if issubclass(kind, InTurn):
                raise InputError(f"'{name}': give one method for the first phase and one for all others")
        own = {
            "names": (first, second),
            "first": kinds[0],
            "second": kinds[1],
            "needs_groups": any(kind.needs_groups for kind in kinds),
            "workload": InTurnWorkload(names=(first, second), kinds=kinds),
        }
        return type(name, (InTurn,), own)

    def _joined(self, name: str, first: str, second: str) -> type[Learner]:
        replay, kind = self[first], self[second]
        if not issubclass(replay, ReplayLearner) or not replay.completes_methods:
            raise InputError(f"'{name}': the first part must be a replay method (er, der, derpp); {first} is not")
        if not kind.combines:
            able = [other for other in learners if learners[other].combines]
            raise InputError(
                f"'{name}': {second} cannot be combined with replay; these can: {', '.join(able) or 'none'}"
            )
        if not replay.joins_batch and kind.observe is not Learner.observe:
            raise InputError(
                f"'{name}': {second} is more than one loss, so {first} cannot add its own; use er+{second}"
            )
        own = {
            "names": (first, second),
            "replay": replay,
            "learner": kind,
            "needs_groups": replay.needs_groups or kind.needs_groups,
            "workload": JoinedWorkload(names=(first, second), replay=replay, learner=kind),
        }
        return type(name, (Joined,), own)

    def registered(self, name: str) -> list[type[Learner]]:
        """The registered learners that a method consists of."""
        made = self.composition(name)
        return [kind for part in made.names for kind in self.registered(part)] if made else [self[name]]

    def used(self, names: Sequence[str]) -> dict[str, Composition]:
        """The compositions behind these names, those of their parts included, with short names spelled out."""
        return {one: made for name in names for one, made in self._below(name)}

    def _below(self, name: str) -> Iterator[tuple[str, Composition]]:
        if made := self.composition(name):
            yield name, made
            for part in made.names:
                yield from self._below(part)

    def spelled_out(self, name: str) -> Any:
        """The meaning of a name for a run's key: the name alone where it is unambiguous.

        >>> own = Methods({"mine": Composition("of", ("gdro",))})
        >>> own.spelled_out("er+gdro"), own.spelled_out("er+mine")
        ('er+gdro', {'parts': ['er', {'of': ['gdro']}]})
        """
        made = self.composition(name)
        if made is None:
            return name
        parts = [self.spelled_out(part) for part in made.names]
        if made == short_name_composition(name) and tuple(parts) == made.names:
            return name
        return {made.kind: parts}

    def options(self, name: str, given: Mapping[str, Any], place: str | None = None) -> Any:
        """A method's checked options, by part for a pair; a wrong key or value is named with its place in ``learners``."""
        place, kind, made = place or name, self[name], self.composition(name)
        if made is None:
            return _checked(kind, place, given, self.batch_size)
        if made.kind == "of":
            return self.options(made.names[0], given, place)
        _check_parts(place, made.names, given)
        replay = made.names[0] if made.kind == "parts" else made.names[1]
        replays = issubclass(self[replay], ReplayLearner)
        if replays:  # a pair replays earlier phases only, so that is its default
            given = {**given, replay: {"replay": "earlier", **given.get(replay, {})}}
        options = {part: self.options(part, given.get(part, {}), f"{place}.{part}") for part in made.names}
        if replays and options[replay].replay != "earlier":
            raise InputError(
                f"learners.{place}.{replay}.replay is '{options[replay].replay}': a combination replays earlier phases only; "
                "give 'earlier'"
            )
        if made.kind == "parts" and getattr(options[replay], "joined", False):
            raise InputError(
                f"learners.{place}.{replay}.joined is true: in a combination each part has its own pass; give false"
            )
        return options

    def with_options_of_parts(self, name: str, given: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The options given to a method, on top of those given to its parts."""
        own = dict(given.get(name, {}))
        made = self.composition(name)
        if made is None:
            return own
        if made.kind == "of":
            return _over(self.with_options_of_parts(made.names[0], given), own)
        inherited = {part: self.with_options_of_parts(part, given) for part in made.names}
        return _over({part: options for part, options in inherited.items() if options}, own)


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """``above`` laid over ``below``; the options of a part are laid over one by one."""
    result = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], Mapping) and isinstance(above[key], Mapping):
            result[key] = _over(below[key], above[key])
    return result


def _checked(kind: type[Learner], place: str, given: Mapping[str, Any], batch_size: int) -> Any:
    values = checked_options(kind.Options, f"learners.{place}", given)
    for one in fields(kind.Options):
        if one.metadata.get("batch_sized") and values[one.name] is None:
            values[one.name] = batch_size
    try:
        return kind.Options(**values)
    except InputError as error:  # it names the method itself, but the options may be given under another name
        raise InputError(re.sub(r"^learners\.[^.\s]+\.", f"learners.{place}.", str(error))) from None


def _check_parts(place: str, parts: Sequence[str], given: Mapping[str, Any]) -> None:
    for key, value in given.items():
        if key not in parts:
            raise InputError(f"unknown key 'learners.{place}.{key}': its parts are {' and '.join(parts)}")
        if not isinstance(value, Mapping):
            raise InputError(f"learners.{place}.{key} is {value!r}: give the options of {key}, as key: value")


def learner_options(name: str, given: Mapping[str, Any]) -> Any:
    """The checked options of a registered learner or of a short name."""
    return Methods().options(name, given)


def make_learner(
    name: str, given: Mapping[str, Any], net: nn.Module, context: Context, methods: Methods | None = None
) -> Learner:
    """A learner for ``net``, from a method's name and the options given to it."""
    methods = methods or Methods(batch_size=context.batch_size)
    _check_modality(name, methods.registered(name), context)
    return methods[name](net, methods.options(name, given), context)


def _check_modality(name: str, kinds: Sequence[type[Learner]], context: Context) -> None:
    """Refuse a method that cannot learn from the stream's kind of inputs."""
    stream = context.presentation.stream
    for kind in kinds:
        if stream.modality.name not in kind.modalities:
            known = " and ".join(MODALITIES[one].words.many for one in kind.modalities)
            raise InputError(
                f"{name} learns from {known} only, and the stream '{stream.name}' holds {stream.modality.words.many}: leave the "
                "method out"
            )


def options_as_data(options: Any) -> dict[str, Any]:
    """Options as plain values, those of a combination by the names of its parts."""
    if isinstance(options, Mapping):
        return {name: options_as_data(part) for name, part in options.items()}
    return asdict(options)
