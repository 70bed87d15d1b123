"""The strategy plug-in: measure every split before training and after each epoch of every experience."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import torch

from einstellung.bridges.installed import import_framework
from einstellung.bridges.recorder import Recorder
from einstellung.errors import InputError
from einstellung.streams import Phase, Stream
from einstellung.timeline import Timeline

Run = Recorder | tuple[str, int, Path | str | None]  # or: method, seed, folder


class AvalancheRecording:
    """The callbacks of :class:`ERIPlugin`, for any strategy with Avalanche's training loop.

    Effective epochs count the images of the current experience in each mini-batch of the data loader: images that a strategy
    adds later are not counted, and images that a replaying data loader mixes in have another phase's classes. ``every`` is in
    epochs; the end of an experience is always measured. ``phase`` is for strategies that train on everything at once
    (JointTraining): the run is recorded under that phase, and only its images count.
    """

    def __init__(self, run: Run, stream: Stream, every: int = 1, phase: str | None = None) -> None:
        super().__init__()
        if every < 1:
            raise InputError(f"every is {every}: measure after every epoch (1), or after every 2nd, 3rd, ...")
        if phase is not None and phase not in [one.name for one in stream.phases]:
            raise InputError(f"phase is '{phase}': there are {', '.join(one.name for one in stream.phases)}")
        self.recorder = run if isinstance(run, Recorder) else Recorder(*run)
        self.stream = stream
        self.every = every
        self.phase = phase
        self._classes = torch.empty(0, dtype=torch.long)
        self._epochs = 0
        self._measured = 0.0

    def timeline(self) -> Timeline:
        """Everything recorded so far."""
        return self.recorder.timeline()

    def before_training_exp(self, strategy: Any, *args: Any, **kwargs: Any) -> None:
        phase = self._phase_of(strategy.experience)
        own = len(strategy.experience.dataset) if self.phase is None else len(phase.train)
        self.recorder.begin_phase(phase.name, samples=own)
        self._classes = torch.tensor(phase.classes, device=strategy.device)
        self._epochs = 0
        self._measure(strategy)

    def before_training_iteration(self, strategy: Any, *args: Any, **kwargs: Any) -> None:
        self.recorder.saw(int(torch.isin(strategy.mb_y, self._classes).sum()))

    def after_training_epoch(self, strategy: Any, *args: Any, **kwargs: Any) -> None:
        self._epochs += 1
        if self._epochs % self.every == 0:
            self._measure(strategy)

    def after_training_exp(self, strategy: Any, *args: Any, **kwargs: Any) -> None:
        if self.recorder.effective_epoch > self._measured:
            self._measure(strategy)
        self.recorder.end_phase()

    def _measure(self, strategy: Any) -> None:
        self.recorder.evaluate(strategy.model, self.stream, device=strategy.device)
        self._measured = self.recorder.effective_epoch

    def _phase_of(self, experience: Any) -> Phase:
        if self.phase is not None:
            return self.stream.phase(self.phase)
        classes = {int(label) for label in experience.dataset.targets}
        for phase in self.stream.phases:
            if classes == set(phase.classes):
                return phase
        raise InputError(
            f"an experience with the classes {sorted(classes)} is no phase of the stream '{self.stream.name}': "
            "build the benchmark with avalanche_benchmark(stream), or give phase=... for training on everything at once"
        )


@cache
def plugin_class() -> type[Any]:
    """``ERIPlugin``: :class:`AvalancheRecording` as a subclass of Avalanche's ``SupervisedPlugin``."""
    core = import_framework("avalanche.core", "avalanche-lib")
    attributes = {"__module__": "einstellung.bridges.avalanche", "__doc__": AvalancheRecording.__doc__}
    return type("ERIPlugin", (AvalancheRecording, core.SupervisedPlugin), attributes)


def scratch_t2(
    strategy: Any, benchmark: Any, stream: Stream, seed: int, folder: Path | str | None, every: int = 1, **loader: Any
) -> Timeline:
    """Train the baseline: a fresh ``strategy`` on the last experience alone, recorded as ``scratch_t2``.

    Use the same folder as for the other methods, so that ``einstellung score`` finds it. ``loader`` goes to ``strategy.train``.
    """
    if strategy.clock.train_exp_counter or strategy.clock.train_iterations:
        raise InputError("scratch_t2 needs a fresh strategy: this one has been trained already")
    plugin: AvalancheRecording = plugin_class()(("scratch_t2", seed, folder), stream, every)
    strategy.plugins.insert(0, plugin)  # its clock must remain the last plug-in
    strategy.train(benchmark.train_stream[len(stream.phases) - 1], **loader)
    return plugin.timeline()
