"""Methods made of methods, by their names: ``derpp+sd``, ``erm-then-lle`` and ``jtt~2``.

``REPLAY+METHOD``: a phase is learned by METHOD, with replay of earlier phases. ER's draw joins the batch before METHOD sees it,
so that METHOD's own loss is that of both: L_M(B with B'). DER and DER++ add their terms to it: L_M(B) + alpha MSE(f(x'), z')
[+ beta CE(f(x''), y'')], each part in a pass of its own. Replay is of earlier phases only: the memory holds what the net said
of an image at the end of its phase, whatever METHOD's steps are.

``FIRST-then-SECOND``: FIRST learns the first phase, SECOND all others, from FIRST's weights; what SECOND keeps from a phase, it
keeps from the first one too, so that a SECOND with replay replays earlier phases only.

``METHOD~WORD``: METHOD once more, with options of its own under that name, beside METHOD with others in the same study.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, Context, Learner, Stage, learner_options, learners
from einstellung.learners.replay import ReplayLearner
from einstellung.streams.stream import Phase

_WORD = re.compile(r"[\w.-]+")
AND, THEN, AGAIN = "+", "-then-", "~"


class Joined(Learner):
    """``REPLAY+METHOD``; a subclass made for each pair names both. Options are those of both, by name."""

    names: ClassVar[tuple[str, str]]

    @classmethod
    def _parts(cls) -> tuple[type[ReplayLearner], type[Learner]]:
        replay, method = (learners[name] for name in cls.names)
        assert issubclass(replay, ReplayLearner)
        return replay, method

    @classmethod
    def read_options(cls, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        replay = cls.names[0]
        _check_parts(name, cls.names, given)
        options = _part_options(name, cls.names, _replaying_earlier(replay, given))
        _require_earlier(name, replay, options[replay])
        if getattr(options[replay], "joined", False):
            raise InputError(
                f"learners.{name}.{replay}.joined is true: in a combination each part has a pass of its own; give false"
            )
        return options

    @classmethod
    def plain_history(cls, options: Mapping[str, Any]) -> bool:
        return cls._parts()[1].plain_history(options[cls.names[1]])

    @classmethod
    def cost(cls, options: Mapping[str, Any], sizes: Sequence[int], number: int) -> float:
        return cls._parts()[1].cost(options[cls.names[1]], sizes, number)

    @classmethod
    def beside(cls, options: Mapping[str, Any], sizes: Sequence[int], number: int) -> float:
        replay, method = cls._parts()
        own = method.beside(options[cls.names[1]], sizes, number)
        again = replay.beside(options[cls.names[0]], sizes, number)
        # a draw joins the method's own batch and has its price, or is a pass or two beside it
        return own + again * (cls.cost(options, sizes, number) if replay.joins_batch else 1.0)

    @classmethod
    def closing_cost(cls, options: Mapping[str, Any], size: int) -> float:
        return sum(part.closing_cost(options[name], size) for name, part in zip(cls.names, cls._parts(), strict=True))

    @classmethod
    def stages(
        cls, options: Mapping[str, Any], sizes: Sequence[int], epochs: Sequence[int], number: int
    ) -> tuple[Stage, ...]:
        return cls._parts()[1].stages(options[cls.names[1]], sizes, epochs, number)

    def __init__(self, net: nn.Module, options: Mapping[str, Any], context: Context) -> None:
        replay, method = self._parts()
        self.method = method(net, options[self.names[1]], context)
        self.memory = replay(net, options[self.names[0]], context)
        super().__init__(net, options, context)

    @property
    def context(self) -> Context:
        return self.method.context

    @context.setter
    def context(self, value: Context) -> None:
        self.method.context = self.memory.context = value

    @property
    def optimiser(self) -> torch.optim.Optimizer | None:  # type: ignore[override]
        return self.method.optimiser

    @optimiser.setter
    def optimiser(self, value: torch.optim.Optimizer | None) -> None:
        self.method.optimiser = value

    def begin_phase(self, phase: Phase) -> None:
        self.method.begin_phase(phase)

    def begin_stage(self, phase: Phase, stage: Stage) -> None:
        self.method.begin_stage(phase, stage)

    def take_last_shape(self) -> None:
        self.method.take_last_shape()

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        self.memory.begin_epoch(phase, epoch)
        self.method.begin_epoch(phase, epoch)

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return self.method.sources(phase)

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterable[Tensor]:
        return self.method.batches(phase, epoch, size)

    def training_mode(self) -> None:
        self.method.training_mode()

    def observe(self, batch: Batch) -> Tensor:
        if self.memory.joins_batch:
            return self.method.observe(self.memory.enlarged(batch))
        return self.method.step(self.method.objective(batch) + self.memory.memory_loss())

    def end_phase(self, phase: Phase) -> None:
        self.method.end_phase(phase)
        self.memory.end_phase(phase)

    def pictures(self) -> dict[str, Tensor]:
        return self.method.pictures()

    def state_dict(self) -> dict[str, Any]:
        return {"method": self.method.state_dict(), "memory": self.memory.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.method.load_state_dict(state["method"])
        self.memory.load_state_dict(state["memory"])


class InTurn(Learner):
    """``FIRST-then-SECOND``; a subclass made for each pair names both. Options are those of both, by name."""

    names: ClassVar[tuple[str, str]]

    @classmethod
    def _part(cls, number: int) -> tuple[str, type[Learner]]:
        name = cls.names[0 if number == 0 else 1]
        return name, learners[name]

    @classmethod
    def read_options(cls, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        _check_parts(name, cls.names, given)
        second = cls.names[1]
        if not issubclass(learners[second], ReplayLearner):
            return _part_options(name, cls.names, given)
        options = _part_options(name, cls.names, _replaying_earlier(second, given))
        _require_earlier(name, second, options[second])
        return options

    @classmethod
    def plain_history(cls, options: Mapping[str, Any]) -> bool:
        name, part = cls._part(0)
        return part.plain_history(options[name])

    @classmethod
    def cost(cls, options: Mapping[str, Any], sizes: Sequence[int], number: int) -> float:
        name, part = cls._part(number)
        return part.cost(options[name], sizes, number)

    @classmethod
    def beside(cls, options: Mapping[str, Any], sizes: Sequence[int], number: int) -> float:
        name, part = cls._part(number)
        return part.beside(options[name], sizes, number)

    @classmethod
    def closing_cost(cls, options: Mapping[str, Any], size: int) -> float:
        name, part = cls._part(1)
        return part.closing_cost(options[name], size)

    @classmethod
    def stages(
        cls, options: Mapping[str, Any], sizes: Sequence[int], epochs: Sequence[int], number: int
    ) -> tuple[Stage, ...]:
        name, part = cls._part(number)
        return part.stages(options[name], sizes, epochs, number)

    def __init__(self, net: nn.Module, options: Mapping[str, Any], context: Context) -> None:
        name, part = self._part(0)
        self.active = part(net, options[name], context)
        self._changed = False
        super().__init__(net, options, context)

    @property
    def context(self) -> Context:
        return self.active.context

    @context.setter
    def context(self, value: Context) -> None:
        self.active.context = value

    @property
    def optimiser(self) -> torch.optim.Optimizer | None:  # type: ignore[override]
        return self.active.optimiser

    @optimiser.setter
    def optimiser(self, value: torch.optim.Optimizer | None) -> None:
        self.active.optimiser = value

    def begin_phase(self, phase: Phase) -> None:
        self.active.begin_phase(phase)

    def begin_stage(self, phase: Phase, stage: Stage) -> None:
        self.active.begin_stage(phase, stage)

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        self.active.begin_epoch(phase, epoch)

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return self.active.sources(phase)

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterable[Tensor]:
        return self.active.batches(phase, epoch, size)

    def training_mode(self) -> None:
        self.active.training_mode()

    def observe(self, batch: Batch) -> Tensor:
        return self.active.observe(batch)

    def end_phase(self, phase: Phase) -> None:
        if not self._changed:
            self._change()  # whatever the first method keeps, nobody would ask it again
        self.active.end_phase(phase)

    def take_last_shape(self) -> None:
        if not self._changed:
            self._change()
        self.active.take_last_shape()

    def _change(self) -> None:
        name, part = self._part(1)
        self.active = part(self.net, self.options[name], self.context)
        self._changed = True

    def pictures(self) -> dict[str, Tensor]:
        return self.active.pictures()

    def state_dict(self) -> dict[str, Any]:
        return {"changed": self._changed, "active": self.active.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state["changed"] and not self._changed:
            self._change()
        self.active.load_state_dict(state["active"])


def combination(name: str) -> type[Learner] | None:
    """The learner that a combined name stands for; None for a plain name, one clear line for a pair that is none."""
    first, then, second = name.partition(THEN)
    if then:
        for part in (first, second):
            if learners[part].skips_history:
                raise InputError(f"'{name}': {part} starts at the last phase, so nothing comes before or after it")
        if THEN in second:
            raise InputError(f"'{name}': one method for the first phase, one for all others")
        return type(name, (InTurn,), {"names": (first, second), "needs_groups": _need_groups(first, second)})
    first, plus, second = name.partition(AND)
    if not plus:
        first, again, word = name.partition(AGAIN)
        if not again:
            return None
        if not _WORD.fullmatch(word):
            raise InputError(f"'{name}': after '{AGAIN}' stands a word of letters, digits, '-', '.' or '_'")
        return type(name, (learners[first],), {"__module__": learners[first].__module__})
    replay, method = learners[first], learners[second]
    if not issubclass(replay, ReplayLearner):
        raise InputError(
            f"'{name}': what stands before '{AND}' is a method of replay (er, der, derpp), and {first} is not"
        )
    if not method.combines:
        able = [other for other in learners if learners[other].combines]
        raise InputError(f"'{name}': {second} does not go together with replay; these do: {', '.join(able) or 'none'}")
    if not replay.joins_batch and method.observe is not Learner.observe:
        raise InputError(
            f"'{name}': {second} is more than one loss, to which {first} could add its own; take er+{second}"
        )
    return type(name, (Joined,), {"names": (first, second), "needs_groups": _need_groups(first, second)})


def _need_groups(*names: str) -> bool:
    return any(learners[name].needs_groups for name in names)


def _replaying_earlier(replay: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The given options of the parts, with replay of earlier phases where nothing else is said."""
    return {**given, replay: {"replay": "earlier", **given.get(replay, {})}}


def _require_earlier(name: str, replay: str, options: Any) -> None:
    if options.replay != "earlier":
        raise InputError(
            f"learners.{name}.{replay}.replay is '{options.replay}': a combination replays earlier phases only; give 'earlier'"
        )


def _part_options(name: str, parts: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    _check_parts(name, parts, given)
    return {part: learner_options(part, given.get(part, {}), within=name) for part in parts}


def _check_parts(name: str, parts: Sequence[str], given: Mapping[str, Any]) -> None:
    for key, value in given.items():
        if key not in parts:
            raise InputError(f"unknown key 'learners.{name}.{key}': its parts are {' and '.join(parts)}")
        if not isinstance(value, Mapping):
            raise InputError(f"learners.{name}.{key} is {value!r}: give the options of {key}, as key: value")


def parts_of(name: str) -> tuple[str, ...]:
    """The names of the methods that a combination is made of, or of the one that it is once more; of another method, none.

    >>> parts_of("derpp+sd"), parts_of("jtt~2"), parts_of("sgd")
    (('derpp', 'sd'), ('jtt',), ())
    """
    kind = learners[name]
    if issubclass(kind, Joined | InTurn):
        return kind.names
    first, again, _ = name.partition(AGAIN)
    return (first,) if again else ()


def classes_behind(name: str) -> list[type[Learner]]:
    """The learners that a method consists of, as they were registered."""
    parts = parts_of(name)
    return [kind for part in parts for kind in classes_behind(part)] if parts else [learners[name]]


def with_options_of_parts(name: str, given: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The options of a method out of those of all, where a combination begins with what its parts are given by themselves."""
    own = dict(given.get(name, {}))
    if AGAIN in name and not issubclass(learners[name], Joined | InTurn):
        return {**with_options_of_parts(parts_of(name)[0], given), **own}
    for part in parts_of(name):
        inherited = with_options_of_parts(part, given)
        mine = own.get(part, {})
        if isinstance(mine, Mapping) and (inherited or mine):
            own[part] = {**inherited, **mine}
    return own


learners.compose = combination
