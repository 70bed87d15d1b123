"""The guide's evaluator for Mammoth, for code that calls its hooks directly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from einstellung.bridges import mammoth
from einstellung.bridges.mammoth import MammothEvaluator
from einstellung.guide.calculator import EinstellungMetrics
from einstellung.guide.card import THRESHOLD


class EinstellungEvaluator(MammothEvaluator):
    """Measures a run of Mammoth at its hooks ``meta_begin_task``, ``after_training_epoch`` and ``meta_end_task``.

    Of Mammoth's ``args``, it uses ``dataset``, ``model``, ``seed`` and, if present, ``einstellung_adaptation_threshold``.
    ``enable_einstellung_integration(args)`` attaches the hooks automatically.
    """

    def get_final_metrics(self) -> EinstellungMetrics:
        """The guide's metrics of the measurements so far, with band and threshold."""
        threshold = getattr(self.args, "einstellung_adaptation_threshold", None)
        return EinstellungMetrics.of(super().get_final_metrics(), THRESHOLD if threshold is None else float(threshold))


def enable_einstellung_integration(args: Any, **more: Any) -> EinstellungEvaluator:
    """Measure the next model that Mammoth builds; ``more`` is passed to the bridge (``results``, ``method``)."""
    evaluator = mammoth.enable_einstellung_integration(args, kind=EinstellungEvaluator, **more)
    assert isinstance(evaluator, EinstellungEvaluator)
    return evaluator


def create_einstellung_evaluator(args: Any, results: Path | str | None = None) -> EinstellungEvaluator:
    """An evaluator; its timeline is kept in the folder ``results``, or in memory only."""
    return EinstellungEvaluator(args, results=results)
