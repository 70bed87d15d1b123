"""One training step of every learner in every phase, on a few images, before anything is trained.

A learner that would fail after hours, in a later phase, fails here, in one line that names it. Nothing is written.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_learner, without_compilation
from einstellung.experiments.plan import methods_of
from einstellung.experiments.plugins import place_in_plugin, plugins_behind
from einstellung.learners import InTurn, Learner, make_learner
from einstellung.learners.combined import use_final_architecture
from einstellung.randomness import seeded_globally
from einstellung.results.config import StudyConfig
from einstellung.streams import ImageSet, Phase, Stream
from einstellung.training import LoopSettings, PhaseLoop
from einstellung.training.checkpoint import loaded_state, state_bytes

_IMAGES = 4  # of each phase
_BATCH = 2  # the smallest batch that batch norm can learn from
_SEED = 0
_LR = 0.01  # large enough for a step to show, small enough for two images not to diverge
_DIFFERS = 1e-3  # of a step: far above what a device's rounding makes of the same step


def rehearse(config: StudyConfig, stream: Stream) -> None:
    """Create every learner for the whole stream, then let it take one step in every stage of every phase of a tiny one."""
    config = without_compilation(config)
    with torch.random.fork_rng(devices=[]):
        whole, tiny = (build_learner(config, "sgd", _SEED, one) for one in (stream, with_few_images(stream)))
        rehearsal = Rehearsal(config, tiny)
        for method in config.methods:
            with _named(config, method):
                if issubclass(methods_of(config)[method], InTurn) and len(stream.phases) == 1:
                    raise InputError(f"'{method}' needs a second phase, and the stream '{stream.name}' has only one")
                use_final_architecture(_copy(whole, config, method))
            rehearsal.run(method)


@dataclass(frozen=True)
class FirstPhase:
    """What a first phase leaves behind: the net's state and the learner's."""

    net: dict[str, Tensor]
    memory: dict[str, Any]


class Rehearsal:
    """The phases of a tiny stream, learned as a study's jobs do; ``plain`` is a learner for it that has not begun."""

    def __init__(self, config: StudyConfig, plain: Learner) -> None:
        self.config = config
        self.plain = plain
        self.phases = plain.context.phases
        self._plain_first: FirstPhase | None = None

    def run(self, method: str) -> None:
        """All phases that the method learns; the second one begins, as in a study, with a stored first phase."""
        learner = _copy(self.plain, self.config, method)
        later = self.phases[1:]
        if learner.skips_history or not later:
            later = self.phases[-1:]
        else:
            first = self._first_phase(learner, method)
            with _named(self.config, method, self.phases[0].name):
                self._inherit(learner, first)
        for phase in later:
            with _named(self.config, method, phase.name):
                self._learn(learner, phase)
                if phase is not self.phases[-1]:
                    self._close(learner, phase)

    def _first_phase(self, learner: Learner, method: str) -> FirstPhase:
        if not learner.shares_first_phase(learner.options):
            return self._learned_first(method)
        if self._plain_first is None:
            self._plain_first = self._learned_first("sgd")
        if not all(one.__module__.startswith("einstellung.") for one in methods_of(self.config).registered(method)):
            self._require_plain(method, self._plain_first)
        return self._plain_first

    def _learned_first(self, method: str) -> FirstPhase:
        learner = _copy(self.plain, self.config, method)
        with _named(self.config, method, self.phases[0].name):
            memory = self._learn(learner, self.phases[0], steps=2)  # the second one shows what the first left
        return FirstPhase({name: value.clone() for name, value in learner.net.state_dict().items()}, memory)

    def _require_plain(self, method: str, shared: FirstPhase) -> None:
        """A first phase that a learner declares to be plain must go through the same images and give the same weights."""
        phase, plain = self.phases[0], _copy(self.plain, self.config, "sgd")
        learner = _copy(self.plain, self.config, method)
        own = self._learned_first(method)
        learner.begin_phase(phase)
        course, plain_course = ((self._stages(one, phase), _order(one, phase)) for one in (learner, plain))
        if course != plain_course or not self._same_weights(own, shared):
            files = ", ".join(plugins_behind(methods_of(self.config).registered(method)))
            raise InputError(
                f"learner '{method}' in {phase.name}: shares_first_phase declares plain fine-tuning, but its first steps differ "
                f"from those of sgd; return False from it{f' ({files})' if files else ''}"
            )

    def _same_weights(self, own: FirstPhase, shared: FirstPhase) -> bool:
        """Bit for bit on a CPU; elsewhere sums may have another order every time, so that parameters are compared."""
        if own.net.keys() != shared.net.keys():
            return False
        if self.plain.context.device.type == "cpu":
            return all(torch.equal(value, shared.net[name]) for name, value in own.net.items())
        names = [name for name, _ in self.plain.net.named_parameters()]
        begun, ours, plain = (
            torch.cat([state[name].flatten() for name in names])
            for state in (self.plain.net.state_dict(), own.net, shared.net)
        )
        return bool((ours - plain).norm() <= _DIFFERS * (plain - begun).norm())

    def _inherit(self, learner: Learner, first: FirstPhase) -> None:
        learner.net.load_state_dict(first.net)
        if not learner.shares_first_phase(learner.options):
            learner.load_state_dict(first.memory)
        self._close(learner, self.phases[0])

    def _learn(self, learner: Learner, phase: Phase, steps: int = 1) -> dict[str, Any]:
        """So many steps in every stage; the learner's memory, stored and read again.

        A loss that diverges on two images says nothing about a study, whose own loop watches for it: the net is put back.
        """
        weights = copy.deepcopy(learner.net.state_dict())
        learner.begin_phase(phase)
        before = 0
        for stage in self._stages(learner, phase):
            learner.begin_stage(phase, stage)
            images = sum(len(source.train) for source in learner.sources(phase))
            settings = LoopSettings(min(1.0, steps * _BATCH / images), _BATCH, _LR, before=before)
            try:
                PhaseLoop(learner, phase, settings, lambda *_: None, lambda *_: None, lambda *_: None).run()
            except FloatingPointError:
                learner.net.load_state_dict(weights)
            before += stage.epochs
        return loaded_state(state_bytes(learner.state_dict()))

    def _close(self, learner: Learner, phase: Phase) -> None:
        with seeded_globally(_SEED, "net", phase.name, "end"):
            learner.end_phase(phase)

    def _stages(self, learner: Learner, phase: Phase) -> Any:
        sizes, number = [len(one.train) for one in self.phases], self.phases.index(phase)
        return learner.stages(learner.options, sizes, self.config.training.epochs, number)


def with_few_images(stream: Stream, count: int = _IMAGES) -> Stream:
    """The same stream with at most ``count`` training images in each phase, of as many classes and cue values as possible."""
    return replace(stream, phases=tuple(replace(phase, train=_few(phase.train, count)) for phase in stream.phases))


def _few(images: ImageSet, count: int) -> ImageSet:
    _, group = torch.stack((images.labels, images.spurious())).unique(dim=1, return_inverse=True)
    order = group.argsort(stable=True)
    begins = torch.cat((torch.ones(1, dtype=torch.bool), group[order].diff() != 0)).nonzero().flatten()
    rank = torch.arange(len(order)) - begins[group[order]]  # of an image among those of its group
    return images.take(order[rank.argsort(stable=True)[:count]].sort().values)


def _copy(learner: Learner, config: StudyConfig, method: str) -> Learner:
    """Another method's learner with a net of the same weights."""
    net, given = copy.deepcopy(learner.net), config.learners.get(method, {})
    return make_learner(method, given, net, learner.context, methods_of(config))


def _order(learner: Learner, phase: Phase) -> list[Any]:
    sources = [source.name for source in learner.sources(phase)]
    return [sources, *([rows.tolist() for rows in learner.batches(phase, epoch, _BATCH)] for epoch in (1, 2))]


@contextmanager
def _named(config: StudyConfig, method: str, phase: str | None = None) -> Iterator[None]:
    """Turn an error into one line with the learner, the phase and, for a plug-in, file and line."""
    try:
        yield
    except Exception as error:
        place = place_in_plugin(error, config.plugins)
        if isinstance(error, InputError) and phase is None and not place:
            raise  # it names the method itself
        reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        where = f" in {phase}" if phase else ""
        raise InputError(f"learner '{method}'{where}: {reason.splitlines()[0]}{place}") from error
