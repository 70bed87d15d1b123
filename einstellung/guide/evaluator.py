"""The guide's evaluator for Mammoth, for those who call its hooks themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from einstellung.bridges import mammoth
from einstellung.bridges.mammoth import MammothEvaluator
from einstellung.guide.calculator import EinstellungMetrics
from einstellung.guide.card import THRESHOLD


class EinstellungEvaluator(MammothEvaluator):
    """Measures a run of Mammoth at its hooks ``meta_begin_task``, ``after_training_epoch`` and ``meta_end_task``.

    Of ``args``, Mammoth's own, ``dataset``, ``model`` and ``seed`` count, and ``einstellung_adaptation_threshold`` where it is
    there. ``enable_einstellung_integration(args)`` has the hooks called without further ado.
    """

    def get_final_metrics(self) -> EinstellungMetrics:
        """The guide's metrics of what was measured so far, with band and threshold."""
        threshold = getattr(self.args, "einstellung_adaptation_threshold", None)
        return EinstellungMetrics.of(super().get_final_metrics(), THRESHOLD if threshold is None else float(threshold))


def enable_einstellung_integration(args: Any, **more: Any) -> EinstellungEvaluator:
    """Have the next model that Mammoth builds measured; ``more`` as the bridge takes it (``results``, ``method``)."""
    evaluator = mammoth.enable_einstellung_integration(args, kind=EinstellungEvaluator, **more)
    assert isinstance(evaluator, EinstellungEvaluator)
    return evaluator


def create_einstellung_evaluator(args: Any, results: Path | str | None = None) -> EinstellungEvaluator:
    """An evaluator; its timeline is kept in the folder ``results``, or in memory only."""
    return EinstellungEvaluator(args, results=results)
