"""From a timeline to a scorecard: every facet of every method, with its uncertainty, its verdict and its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from einstellung.checks import Check
from einstellung.metrics.baseline import resolve_baseline
from einstellung.metrics.log_checks import log_checks
from einstellung.metrics.measurements import RunMeasures, final_rule, measure
from einstellung.metrics.method_score import TESTED, MethodScore, score_method
from einstellung.metrics.settings import DEFAULT_BASELINE, FinalRule, Margins, ScoreSettings
from einstellung.metrics.statistics import holm
from einstellung.metrics.verdict import listed_seeds
from einstellung.timeline import SC_MASK, SC_PATCH, Timeline

__all__ = ["Margins", "MethodScore", "ScoreSettings", "Scorecard", "score"]


@dataclass(frozen=True)
class Scorecard:
    """The Einstellung Rigidity Index of a timeline, with what was assumed and what was checked."""

    baseline: str
    settings: ScoreSettings
    final: FinalRule
    methods: Mapping[str, MethodScore]
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for strict JSON: undefined is null."""
        settings = self.settings
        return {
            "variant": "paper",
            "baseline": self.baseline,
            "tau": settings.tau,
            "window": settings.window,
            "smoothing": settings.smoothing,
            "final": self.final,
            "margins": settings.margins.to_dict(),
            "tau_grid": list(settings.tau_grid),
            "methods": {name: method.to_dict() for name, method in self.methods.items()},
            "checks": [check.to_dict() for check in self.checks],
            "warnings": list(self.warnings),
        }


def score(timeline: Timeline, settings: ScoreSettings | None = None) -> Scorecard:
    """Score every method of a timeline against the baseline.

    >>> import pandas as pd
    >>> def rows(method, patched, masked):
    ...     columns = {"method": method, "seed": 1, "phase": "T2", "epoch": [1, 2], "loss": None, "n": 500}
    ...     parts = {"T2_shortcut_normal": patched, "T2_shortcut_masked": masked}
    ...     return [pd.DataFrame({**columns, "split": split, "acc": acc}) for split, acc in parts.items()]
    >>> table = pd.concat(rows("scratch_t2", [0.5, 0.8], [0.4, 0.5]) + rows("sgd", [0.7, 0.9], [0.3, 0.4]))
    >>> sgd = score(Timeline(table)).to_dict()["methods"]["sgd"]
    >>> sgd["AD"]["mean"], round(sgd["PD"]["mean"], 3), round(sgd["SFR_rel"]["mean"], 3), sgd["pattern"]
    (-1.0, -0.1, 0.2, 'red-flag')
    """
    settings = settings or ScoreSettings()
    baseline = resolve_baseline(timeline, settings.baseline)
    rule, warnings = final_rule(timeline, settings.final)
    runs = {
        method: {seed: measure(timeline, method, seed, settings, rule, baseline) for seed in timeline.seeds(method)}
        for method in timeline.methods
    }
    warnings += _warnings(timeline, runs, baseline)
    methods = {method: score_method(method, runs, baseline, settings) for method in runs}
    return Scorecard(
        baseline=baseline if baseline is not None else DEFAULT_BASELINE,
        settings=settings,
        final=rule,
        methods=_with_holm(methods),
        checks=tuple(log_checks(timeline, baseline)),
        warnings=tuple(warnings),
    )


def _warnings(timeline: Timeline, runs: Mapping[str, Mapping[int, RunMeasures]], baseline: str | None) -> list[str]:
    found = []
    if baseline is None:
        found.append(
            f"no baseline '{DEFAULT_BASELINE}' in the timeline: AD, PD and SFR_rel are undefined; train it on T2 or "
            f"name another one (methods: {', '.join(runs)})"
        )
    elif len(runs) == 1:
        found.append(f"the timeline holds the baseline '{baseline}' only: there is nothing to compare it with")
    for method, own in runs.items():
        lacking: dict[str, list[int]] = {}
        for seed in own:
            curves = timeline.curves(method, seed, "T2")
            absent = [split for split in (SC_PATCH, SC_MASK) if split not in curves] if curves else ["every T2 row"]
            for what in absent:
                lacking.setdefault(what, []).append(seed)
            if curves and not absent and own[seed].checkpoint_epoch is None:
                lacking.setdefault("a checkpoint with all splits measured at one epoch", []).append(seed)
        for what, seeds in lacking.items():
            found.append(f"{method}: {what} is missing for {listed_seeds(seeds)}; what needs it is undefined")
        if baseline is not None and method != baseline:
            for name, alone, other in (
                (method, own.keys() - runs[baseline].keys(), baseline),
                (baseline, runs[baseline].keys() - own.keys(), method),
            ):
                if alone:
                    one = len(alone) == 1
                    found.append(
                        f"{listed_seeds(sorted(alone))} of {name} {'has' if one else 'have'} no {other} run: "
                        f"paired facets leave {'it' if one else 'them'} out"
                    )
    return found


def _with_holm(methods: Mapping[str, MethodScore]) -> dict[str, MethodScore]:
    """Correct each facet's tests for the number of methods compared."""
    corrected = dict(methods)
    for facet in TESTED:
        adjusted = holm([method.tests[facet].p for method in corrected.values()])
        for name, p_holm in zip(tuple(corrected), adjusted, strict=True):
            method = corrected[name]
            tests = {**method.tests, facet: replace(method.tests[facet], p_holm=p_holm)}
            corrected[name] = replace(method, tests=tests)
    return corrected
