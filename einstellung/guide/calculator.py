"""The guide's calculator: measured accuracies in, the guide's metrics out. No torch here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from einstellung.diagnoses.settings import parse_settings
from einstellung.errors import InputError
from einstellung.guide.card import GUIDE_METRICS, THRESHOLD, GuideRun, GuideSettings
from einstellung.guide.score import band, estimate, guide_score
from einstellung.registry import suggestion
from einstellung.timeline import KNOWN_SPLITS, Timeline
from einstellung.timeline.schema import ACCURACY_SLACK

TASKS = ("T1", "T2")


@dataclass(frozen=True)
class EinstellungMetrics(GuideRun):
    """The guide's numbers of one run; None where undefined, and ``why_undefined`` says why.

    ``accuracies``: T1_all at the end of T2 (``T1_all_after_T1``: at that of T1), the other subsets at the final checkpoint,
    which is the last epoch, or the one with the best T2_val accuracy where that was measured. ``adaptation_threshold`` is
    the accuracy at which the delay ends.
    """

    band: str | None
    adaptation_threshold: float

    @classmethod
    def of(cls, run: GuideRun, threshold: float) -> EinstellungMetrics:
        """From a run of a guide card, scored with this threshold."""
        return cls(**vars(run), band=band(run.eri_score), adaptation_threshold=threshold)

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "band": self.band, "adaptation_threshold": self.adaptation_threshold}


class EinstellungMetricsCalculator:
    """Collects one run's accuracies and computes the guide's metrics from them.

    >>> calculator = EinstellungMetricsCalculator(adaptation_threshold=0.8)
    >>> calculator.add_timeline_data(epoch=10, task_id=0, subset_accuracies={"T1_all": 0.85})
    >>> final = {"T2_shortcut_normal": 0.8, "T2_shortcut_masked": 0.6, "T2_nonshortcut_normal": 0.4}
    >>> calculator.add_timeline_data(epoch=50, task_id=1, subset_accuracies=final)
    >>> metrics = calculator.calculate_comprehensive_metrics()
    >>> round(metrics.eri_score, 4), metrics.band
    (0.3133, 'moderate')
    """

    def __init__(self, adaptation_threshold: float = THRESHOLD, *, method: str = "model", seed: int = 0) -> None:
        self.settings = parse_settings(
            GuideSettings, {"guide_threshold": adaptation_threshold}, "guide", lambda key: "adaptation_threshold"
        )
        self.method = method
        self.seed = seed
        self._rows: list[dict[str, Any]] = []
        self._at = (0, 0.0)

    def add_timeline_data(
        self,
        epoch: float,
        task_id: int,
        subset_accuracies: Mapping[str, float],
        subset_losses: Mapping[str, float] | None = None,
    ) -> None:
        """Add the measurements of one moment; if any value is invalid, none is added.

        ``epoch`` counts finished epochs of the task: 0 is before its training, 1 after its first epoch. ``task_id`` is 0
        for T1 and 1 for T2, as in Mammoth. Accuracies lie between 0 and 1.
        """
        moment = self._moment(epoch, task_id)
        losses = dict(subset_losses or {})
        if not subset_accuracies:
            raise InputError(f"epoch {epoch:g} of task {task_id}: no accuracies were given")
        rows = []
        for subset, acc in subset_accuracies.items():
            _check_subset(subset)
            rows.append(self._row(moment, subset, _accuracy(subset, acc), _loss(subset, losses.pop(subset, None))))
        for subset in losses:
            _check_subset(subset)
            raise InputError(f"'{subset}' has a loss but no accuracy: give both, or omit the loss")
        taken = {row["split"] for row in self._rows if (row["phase"], row["epoch"]) == (TASKS[moment[0]], moment[1])}
        if repeated := taken & set(subset_accuracies):
            raise InputError(f"'{min(repeated)}' has already been added for epoch {epoch:g} of task {task_id}")
        self._rows += rows
        self._at = moment

    def timeline(self) -> Timeline:
        """All added measurements as a timeline, the input of ``einstellung score`` and every other metric."""
        if not self._rows:
            raise InputError("no timeline data was added: call add_timeline_data after every epoch")
        return Timeline(pd.DataFrame(self._rows))

    def calculate_comprehensive_metrics(self) -> EinstellungMetrics:
        """The guide's metrics of the measurements added so far."""
        card = guide_score(self.timeline(), self.settings)
        return EinstellungMetrics.of(card.methods[self.method].per_seed[str(self.seed)], card.threshold)

    def _moment(self, epoch: float, task_id: int) -> tuple[int, float]:
        if isinstance(task_id, bool) or task_id not in range(len(TASKS)):
            raise InputError(f"task_id is {task_id!r}: it is 0 for T1 and 1 for T2")
        if isinstance(epoch, bool) or not (math.isfinite(epoch) and epoch >= 0):
            raise InputError(f"epoch is {epoch!r}: it counts finished epochs of the task, from 0")
        moment = (int(task_id), float(epoch))
        if moment < self._at:
            raise InputError(
                f"epoch {epoch:g} of task {task_id} comes after epoch {self._at[1]:g} of task {self._at[0]}: "
                "tasks and epochs must be added in order"
            )
        return moment

    def _row(self, moment: tuple[int, float], subset: str, acc: float, loss: float | None) -> dict[str, Any]:
        where = {"method": self.method, "seed": self.seed, "phase": TASKS[moment[0]], "epoch": moment[1]}
        return {**where, "split": subset, "acc": acc, "loss": loss, "n": None}


def calculate_cross_experiment_eri_statistics(metrics_list: Iterable[GuideRun]) -> dict[str, dict[str, Any]]:
    """Mean, standard deviation (ddof 1), smallest and largest of every metric over experiments, e.g. seeds.

    Undefined values are left out: ``n`` counts those that are in, ``n_undefined`` those that are not, and ``why_undefined``
    names their reasons. ``std`` is None for fewer than two values.

    >>> def experiment(score):
    ...     return GuideRun(5.0, 0.5, 0.5, score, 1.0, {}, None if score else "no T1")
    >>> stats = calculate_cross_experiment_eri_statistics([experiment(0.3), experiment(0.5), experiment(None)])
    >>> {name: stats["eri_score"][name] for name in ("mean", "min", "max", "n", "n_undefined")}
    {'mean': 0.4, 'min': 0.3, 'max': 0.5, 'n': 2, 'n_undefined': 1}
    """
    experiments = list(metrics_list)
    if not experiments:
        raise InputError("no metrics were given: pass a list of EinstellungMetrics, one per experiment")
    statistics = {}
    for name in GUIDE_METRICS:
        values = [getattr(metrics, name) for metrics in experiments]
        undefined = [metrics for metrics, value in zip(experiments, values, strict=True) if value is None]
        reasons = list(dict.fromkeys(metrics.why_undefined or "not measured" for metrics in undefined))
        statistics[name] = {
            **as_guide_writes(asdict(estimate(values))),
            "n_undefined": len(undefined),
            "why_undefined": "; ".join(reasons) or None,
        }
    return statistics


def as_guide_writes(estimate: Mapping[str, Any]) -> dict[str, Any]:
    """An estimate under the guide's keys: the standard deviation is ``std``.

    >>> as_guide_writes({"mean": 1.0, "sd": None, "n": 1})
    {'mean': 1.0, 'std': None, 'n': 1}
    """
    return {"std" if name == "sd" else name: value for name, value in estimate.items()}


def _check_subset(subset: str) -> None:
    if subset not in KNOWN_SPLITS:
        raise InputError(f"unknown subset '{subset}': {suggestion(str(subset), KNOWN_SPLITS)}")


def _accuracy(subset: str, acc: float) -> float:
    if not -ACCURACY_SLACK <= acc <= 1 + ACCURACY_SLACK:
        percent = "; per cent? divide by 100" if 1.5 < acc <= 100 else ""
        raise InputError(f"the accuracy of '{subset}' is {acc}, which is outside 0..1{percent}")
    return min(max(float(acc), 0.0), 1.0)


def _loss(subset: str, loss: float | None) -> float | None:
    if loss is not None and not math.isfinite(loss):
        raise InputError(f"the loss of '{subset}' is {loss}: a finite number is needed")
    return loss
