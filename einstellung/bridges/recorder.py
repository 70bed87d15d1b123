"""``Recorder``: record a timeline for ``score`` and ``report`` with a few lines in any training loop.

    recorder = Recorder("my-method", seed=1, folder="my_logs")
    with recorder.phase("T2", samples=len(train_set)):
        recorder.evaluate(model, splits, epoch=0)
        for epoch in range(1, epochs + 1):
            train(model)
            recorder.evaluate(model, splits, epoch=epoch)

For ``einstellung score my_logs``, record a baseline named ``scratch_t2`` into the same folder.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, SupportsFloat

import pandas as pd
import torch

from einstellung.bridges.measuring import Model, Splits, autocast_to, measure, split_data
from einstellung.errors import InputError
from einstellung.timeline import Timeline
from einstellung.timeline.schema import EPOCH_DECIMALS, OPTIONAL_COLUMNS, in_order, phase_name
from einstellung.timeline.split_names import is_known, meant_split
from einstellung.training.evaluation_mode import device_of, evaluation_mode

_Moment = tuple[str, float, str]  # phase, effective epoch, split


class Recorder:
    """Measures one run (a method with a seed) and writes its complete timeline after every measurement.

    Measuring changes nothing: weights, gradients, the mode of every module and all random generators stay as they are.
    Phases must come in order (T1, T2, ..., or names of your own), and epochs must increase within a phase.

    >>> recorder = Recorder("sgd", seed=1)
    >>> with recorder.phase("T2", samples=100):
    ...     recorder.record("T1_all", 0.9, epoch=0)
    ...     recorder.saw(50)
    ...     recorder.evaluate(torch.nn.Identity(), {"T1_all": (torch.eye(2), torch.tensor([0, 0]))})
    {'T1_all': 0.5}
    >>> recorder.timeline().curve("sgd", 1, "T2", "T1_all")[0].tolist()
    [0.0, 0.5]
    """

    def __init__(
        self, method: str, seed: int, folder: Path | str | None = None, *, resume: bool = False, batch_size: int = 250
    ) -> None:
        if not re.fullmatch(r"\w[\w.+ -]*", method):
            raise InputError(
                f"the method is named '{method}': as it names a folder, use letters, digits, '-', '_', '.'"
            )
        if not _is_whole(seed):
            raise InputError(f"the seed is {seed!r}: give a whole number")
        if batch_size < 1:
            raise InputError(f"batch_size is {batch_size}: it must be at least 1")
        self.method = method
        self.seed = int(seed)
        self.batch_size = batch_size
        #: The timeline's file, or None to keep it in memory; absolute, as the working directory may change.
        self.path = None if folder is None else Path(folder).absolute() / f"{method}-seed{self.seed}" / "timeline.csv"
        self._rows: dict[_Moment, dict[str, Any]] = {}
        self._earlier: set[_Moment] = set()
        self._names_seen: set[str] = set()
        self._phase: str | None = None
        self._begun: list[str] = []
        self._last_epoch = 0.0
        self._samples: int | None = None
        self._seen = 0
        if self.path is not None and self.path.exists():
            if not resume:
                raise InputError(f"{self.path} already exists: choose another folder, or continue it with resume=True")
            self._resume(self.path)

    @contextmanager
    def phase(self, name: str, samples: int | None = None) -> Iterator[Recorder]:
        """Everything recorded within the context belongs to this phase; ``samples`` is the size of its training set."""
        self.begin_phase(name, samples)
        try:
            yield self
        finally:
            self.end_phase()

    def begin_phase(self, name: str, samples: int | None = None) -> None:
        """Begin a phase; for frameworks with callbacks, instead of :meth:`phase`."""
        if phase_name(name) != name:
            raise InputError(f"the phase is named '{name}': write T1, T2, ..., or a name without spaces")
        if self._phase is not None:
            raise InputError(f"{name} cannot begin: {self._phase} has not ended")
        if in_order([*self._begun, name])[-1] != name or name in self._begun:
            raise InputError(f"{name} cannot begin after {self._begun[-1]}: phases must come in order, each once")
        if samples is not None and (not _is_whole(samples) or samples < 1):
            raise InputError(f"{name} has {samples} samples: give the size of its training set")
        self._phase = name
        self._begun.append(name)
        self._samples, self._seen, self._last_epoch = None if samples is None else int(samples), 0, 0.0

    def end_phase(self) -> None:
        """End the current phase."""
        self._current()
        self._phase = None

    def saw(self, count: int) -> None:
        """Count samples of the phase's training set that were trained on; replayed samples do not count."""
        self._current()
        if not _is_whole(count) or count < 0:
            raise InputError(f"saw({count!r}): give a whole number of samples, not below 0")
        self._seen += int(count)

    @property
    def effective_epoch(self) -> float:
        """Real samples seen in this phase / size of its training set."""
        phase = self._current()
        if self._samples is None:
            raise InputError(f"the size of {phase} is not known: give phase('{phase}', samples=...), or epoch=...")
        return self._seen / self._samples

    def evaluate(
        self,
        model: Model,
        splits: Splits,
        *,
        epoch: float | None = None,
        device: torch.device | str | None = None,
        amp: torch.dtype | None = None,
        classes: Mapping[str, Sequence[int]] | None = None,
    ) -> dict[str, float]:
        """Measure and record all splits, and return their accuracies (means over the classes of each split).

        ``model`` is any callable from inputs to logits. ``splits`` maps names to (inputs, labels), to batches of them (a
        DataLoader) or to a data set, or is one of our streams, or the data that ``einstellung.two_phase`` made. ``epoch`` is the
        effective epoch, by default the one counted by :meth:`saw`. ``device`` defaults to the model's. ``amp`` is a type for
        automatic mixed precision. ``classes`` lists the labels of each phase, for the accuracy within the phase; a stream knows
        them.
        """
        moment = self._moment(epoch)
        place = torch.device(device) if device is not None else device_of(model)
        autocast = autocast_to(amp, place)
        sources = splits.values() if isinstance(splits, Mapping) else ()
        with evaluation_mode(model, sources):
            data = split_data(splits, classes, self.batch_size, place)
            self._refuse_repetition(moment, [one.name for one in data])
            measured = {one.name: measure(model, one, place, autocast) for one in data}
        self._add(moment, {name: vars(one) for name, one in measured.items()})
        return {name: one.acc for name, one in measured.items()}

    def record(
        self,
        split: str,
        acc: float,
        *,
        epoch: float | None = None,
        loss: float | None = None,
        n: int | None = None,
        acc_task: float | None = None,
        acc_within: float | None = None,
        top5: float | None = None,
    ) -> None:
        """Record a measurement made elsewhere, as numbers or one-element tensors; accuracies lie in 0..1."""
        moment = self._moment(epoch)
        given = {"acc": acc, "loss": loss, "n": n, "acc_task": acc_task, "acc_within": acc_within, "top5": top5}
        values = {name: one.item() if isinstance(one, torch.Tensor) else one for name, one in given.items()}
        for name in ("acc", *OPTIONAL_COLUMNS):
            value = values[name]
            if value is not None and not 0 <= value <= 1 + 1e-9:
                percent = "; per cent? divide by 100" if 1.5 < value <= 100 else ""
                raise InputError(f"split '{split}': {name} is {value}, which is outside 0..1{percent}")
        self._refuse_repetition(moment, [split])
        self._add(moment, {split: values})

    def timeline(self) -> Timeline:
        """Everything recorded so far."""
        return Timeline(_frame(self._rows))

    def _current(self) -> str:
        if self._phase is None:
            raise InputError("no phase has begun: record inside 'with recorder.phase(\"T1\", samples=...):'")
        return self._phase

    def _moment(self, epoch: float | None) -> float:
        phase = self._current()
        epoch = self.effective_epoch if epoch is None else float(epoch)
        if not (math.isfinite(epoch) and epoch >= 0):
            raise InputError(f"{phase}: the epoch is {epoch}; give 0 before training, then the epochs trained so far")
        if round(epoch, EPOCH_DECIMALS) < round(self._last_epoch, EPOCH_DECIMALS):
            raise InputError(f"{phase}: epoch {epoch:g} comes after epoch {self._last_epoch:g}; epochs must increase")
        return epoch

    def _key(self, epoch: float, split: str) -> _Moment:
        return self._current(), round(epoch, EPOCH_DECIMALS), split

    def _warn_about_misspelt_splits(self, splits: Iterable[str]) -> None:
        """Warn once per name: other split names are allowed, but a misspelt one would be missing from the index."""
        for split in {*splits} - self._names_seen:
            if not is_known(split, self._begun) and (meant := meant_split(split, self._begun)) is not None:
                warnings.warn(f"split '{split}' is not used by the index: did you mean '{meant}'?", stacklevel=4)
        self._names_seen.update(splits)

    def _refuse_repetition(self, epoch: float, splits: Sequence[str]) -> None:
        for split in splits:
            key = self._key(epoch, split)
            if key in self._rows and key not in self._earlier:
                raise InputError(
                    f"split '{split}' was already recorded at epoch {epoch:g} of {self._phase}: "
                    "give epoch=, or count the samples trained on since then with saw(number)"
                )

    def _add(self, epoch: float, values: Mapping[str, Mapping[str, Any]]) -> None:
        self._warn_about_misspelt_splits(values)
        rows = dict(self._rows)
        who = {"method": self.method, "seed": self.seed, "phase": self._current(), "epoch": epoch}
        for split, given in values.items():
            rows[self._key(epoch, split)] = {**who, "split": split, **given}
        timeline = Timeline(_frame(rows))  # validated as a whole before anything is kept
        if self.path is not None:
            timeline.write(self.path)
        self._rows, self._last_epoch = rows, epoch
        self._earlier -= {self._key(epoch, split) for split in values}

    def _resume(self, path: Path) -> None:
        timeline = Timeline.read(path)
        if timeline.runs != ((self.method, self.seed),):
            raise InputError(f"{path} holds other runs than {self.method}, seed {self.seed}: it cannot be continued")
        for row in timeline.frame.to_dict("records"):
            self._rows[str(row["phase"]), round(float(row["epoch"]), EPOCH_DECIMALS), str(row["split"])] = {
                str(name): value for name, value in row.items()
            }
        self._earlier = set(self._rows)


def _is_whole(value: object) -> bool:
    """Whether a value is a whole number of Python, numpy or torch.

    >>> _is_whole(3), _is_whole(torch.tensor(3)), _is_whole(2.5), _is_whole("3"), _is_whole(None)
    (True, True, False, False, False)
    """
    return isinstance(value, SupportsFloat) and not isinstance(value, bool) and float(value).is_integer()


def _frame(rows: Mapping[_Moment, Mapping[str, Any]]) -> pd.DataFrame:
    needed = ["method", "seed", "phase", "epoch", "split", "acc", "loss", "n"]
    frame = pd.DataFrame(list(rows.values()), columns=None if rows else needed)
    measured = [name for name in OPTIONAL_COLUMNS if name in frame and frame[name].notna().any()]
    return frame[needed + measured]
