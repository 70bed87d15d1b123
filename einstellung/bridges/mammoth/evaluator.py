"""``MammothEvaluator``: measures all splits at the callbacks of Mammoth's training and records a timeline."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from einstellung.bridges.recorder import Recorder
from einstellung.diagnoses.settings import parse_settings
from einstellung.errors import InputError
from einstellung.guide.card import GUIDE_METRICS, THRESHOLD, GuideRun, GuideSettings
from einstellung.guide.score import guide_score
from einstellung.streams import Phase, Stream
from einstellung.timeline import Timeline

_log = logging.getLogger(__name__)

FINAL_METRICS, ADAPTATION_THRESHOLD = GUIDE_METRICS, THRESHOLD


class MammothEvaluator:
    """Records one run of Mammoth: before its first step (e = 0) and after every epoch.

    ``args`` are Mammoth's; ``dataset``, ``model``, ``seed`` and ``start_from`` are used. Task 1 is T1, task 2 is T2; with
    ``--joint 1`` everything is trained at once and recorded as T2. Effective epochs count the phase's own images that the
    model observes, without replayed ones. If observed images are not reported (hooks called by hand), an epoch counts as one.
    Errors end the run.
    """

    def __init__(
        self, args: Any, *, results: Path | str | None = None, method: str | None = None, resume: bool = False
    ) -> None:
        dataset = str(getattr(args, "dataset", ""))
        if "einstellung" not in dataset:
            raise InputError(
                f"Integration not enabled: check that the dataset name contains einstellung (it is '{dataset}')"
            )
        if getattr(args, "seed", None) is None:
            raise InputError("Integration not enabled: the run has no seed; give --seed to Mammoth")
        self.args = args
        self.recorder = Recorder(method or method_name(args), args.seed, results, resume=resume)
        self._phase: Phase | None = None
        self._counted = False
        self._weights_measured = b""

    def meta_begin_task(self, model: Any, dataset: Any) -> None:
        """Begin the task's phase and measure it at e = 0. Tasks before ``--start_from`` are skipped."""
        if model.current_task < (getattr(self.args, "start_from", None) or 0):
            return
        if not {"class-il", "general-continual"} & set(model.COMPATIBILITY):
            raise InputError(f"'{model.NAME}' needs the task of every image: choose a class-incremental method")
        stream = _stream_of(dataset)
        joint = bool(getattr(self.args, "joint", 0))
        self._phase = stream.phases[-1 if joint else model.current_task]
        self._counted = False
        self.recorder.begin_phase(self._phase.name, samples=_size_of(dataset, self._phase))
        self._measure(model, stream, 0.0)

    def observed(self, labels: Tensor) -> None:
        """Count a batch of real images; only those of the current phase count."""
        if self._phase is None:
            raise InputError("a batch was observed before a task began: call meta_begin_task first")
        own = torch.isin(labels.cpu(), torch.tensor(self._phase.classes))
        self.recorder.saw(int(own.sum()))
        self._counted = True

    def after_training_epoch(self, model: Any, dataset: Any, epoch: int) -> None:
        """Measure all splits after an epoch (counted from 0)."""
        if self._phase is None:
            raise InputError("an epoch ended before a task began: call meta_begin_task first")
        self._measure(model, _stream_of(dataset), None if self._counted else epoch + 1.0)

    def meta_end_task(self, model: Any, dataset: Any) -> None:
        """End the task's phase. Changes that a method makes after its last epoch are not in the timeline."""
        if self._phase is None:
            return
        if _weights(model) != self._weights_measured:
            _log.warning(
                "%s changed its weights after the last epoch of %s: the timeline holds the net as it was before",
                model.NAME,
                self._phase.name,
            )
        self.recorder.end_phase()
        self._phase = None

    @property
    def open_phase(self) -> str | None:
        """The unfinished phase, if any: Mammoth returns normally from an interrupted training."""
        return None if self._phase is None else self._phase.name

    def get_final_metrics(self) -> GuideRun:
        """The guide's metrics of this run: adaptation_delay, performance_deficit, shortcut_feature_reliance, eri_score."""
        threshold = getattr(self.args, "einstellung_adaptation_threshold", None)
        settings = (
            GuideSettings()
            if threshold is None
            else parse_settings(
                GuideSettings, {"guide_threshold": threshold}, "guide", lambda key: "einstellung_adaptation_threshold"
            )
        )
        card = guide_score(self.timeline(), settings)
        return card.methods[self.recorder.method].per_seed[str(self.recorder.seed)]

    def timeline(self) -> Timeline:
        """Everything measured so far."""
        return self.recorder.timeline()

    def _measure(self, model: Any, stream: Stream, epoch: float | None) -> None:
        self.recorder.evaluate(model, stream, epoch=epoch)
        self._weights_measured = _weights(model)


def method_name(args: Any) -> str:
    """The name a run is recorded under: its model's; SGD that starts at T2 is the baseline.

    >>> from argparse import Namespace
    >>> method_name(Namespace(model="ewc-on")), method_name(Namespace(model="sgd", start_from=1))
    ('ewc_on', 'scratch_t2')
    """
    model = str(args.model).replace("-", "_")
    if getattr(args, "joint", 0):
        return "joint" if model == "sgd" else f"{model}_joint"
    if getattr(args, "start_from", None) and not getattr(args, "loadcheck", None):
        return "scratch_t2" if model == "sgd" else f"{model}_scratch_t2"
    return model


def _stream_of(dataset: Any) -> Stream:
    stream = getattr(dataset, "stream", None)
    if not isinstance(stream, Stream):
        name = getattr(dataset, "NAME", type(dataset).__name__)
        raise InputError(
            f"Integration not enabled: the dataset '{name}' was not registered by einstellung.bridges.mammoth"
        )
    return stream


def _size_of(dataset: Any, phase: Phase) -> int:
    """The number of training images of the phase, without those that Mammoth holds out (``--validation``)."""
    targets = torch.as_tensor(dataset.train_loader.dataset.targets)
    return int(torch.isin(targets, torch.tensor(phase.classes)).sum())


def _weights(model: Any) -> bytes:
    """A fingerprint of the net's parameters."""
    hasher = hashlib.blake2b(digest_size=16)
    for parameter in model.net.parameters():
        hasher.update(parameter.detach().cpu().contiguous().numpy().tobytes())
    return hasher.digest()
