"""From a timeline to a card: every facet of every method, with its uncertainty, its verdict and its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from einstellung.diagnoses.baseline import resolve_baseline
from einstellung.diagnoses.rigidity.assessment import assess
from einstellung.diagnoses.rigidity.attention import attention_summary
from einstellung.diagnoses.rigidity.card import RigidityCard, RigidityMethod
from einstellung.diagnoses.rigidity.checks import copied_methods, log_checks
from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.images import per_image, per_image_checks
from einstellung.diagnoses.rigidity.measurements import RunMeasures, final_rule, measure
from einstellung.diagnoses.rigidity.methods import TESTED, score_method
from einstellung.diagnoses.rigidity.settings import DEFAULT_BASELINE, RigiditySettings
from einstellung.diagnoses.rigidity.words import say
from einstellung.diagnoses.wording import counted, listed_seeds
from einstellung.metrics.statistics import holm
from einstellung.results.attention_files import attention_of
from einstellung.results.run_files import RunFiles
from einstellung.timeline import SC_MASK, SC_PATCH, Timeline


def score(
    timeline: Timeline,
    settings: RigiditySettings | None = None,
    outputs: int | None = None,
    t1_classes: int | None = None,
) -> RigidityCard:
    """Score every method of a timeline against the baseline.

    ``outputs`` and ``t1_classes``: the number of classes in the head and in T1, where they are known.

    >>> import pandas as pd
    >>> def rows(method, patched, masked):
    ...     columns = {"method": method, "seed": 1, "phase": "T2", "epoch": [1, 2], "loss": None, "n": 500}
    ...     parts = {"T2_shortcut_normal": patched, "T2_shortcut_masked": masked}
    ...     return [pd.DataFrame({**columns, "split": split, "acc": acc}) for split, acc in parts.items()]
    >>> table = pd.concat(rows("scratch_t2", [0.5, 0.8], [0.4, 0.5]) + rows("sgd", [0.7, 0.9], [0.3, 0.4]))
    >>> sgd = score(Timeline(table)).methods["sgd"]
    >>> sgd.AD.mean, round(sgd.PD.mean, 3), round(sgd.SFR_rel.mean, 3), sgd.pattern
    (-1.0, -0.1, 0.2, 'red-flag')
    """
    settings = settings or RigiditySettings()
    baseline = resolve_baseline(timeline, settings.baseline, DEFAULT_BASELINE)
    rule, warnings = final_rule(timeline, settings.final)
    runs = {
        method: {seed: measure(timeline, method, seed, settings, rule, baseline) for seed in timeline.seeds(method)}
        for method in timeline.methods
    }
    warnings += _warnings(timeline, runs, baseline)
    floor = Floor.of(settings.classes if settings.classes is not None else outputs)
    copied = copied_methods(timeline)
    found = {method: assess(method, runs, baseline, settings, floor, copied) for method in runs}
    p_holm = dict(zip(found, holm([one.p for one in found.values()]), strict=True))
    flag_p_holm = dict(zip(found, holm([one.flag_p for one in found.values()]), strict=True))
    methods = {
        method: score_method(one, baseline, settings, floor, p_holm[method], flag_p_holm[method])
        for method, one in found.items()
    }
    return RigidityCard(
        baseline=baseline if baseline is not None else DEFAULT_BASELINE,
        tau=settings.tau,
        window=settings.window,
        smoothing=settings.smoothing,
        final=rule,
        margins=settings.margins,
        tau_grid=settings.tau_grid,
        floor=floor,
        methods=_with_holm(methods),
        checks=tuple(log_checks(timeline, baseline, t1_classes)),
        warnings=tuple(warnings),
    )


def with_run_files(card: RigidityCard, files: RunFiles) -> RigidityCard:
    """The card with what the run files add: predictions of single images, attention."""
    predictions, unread = files.predictions(last=card.final == "last")
    attention, unread_attention = attention_of(files)
    read = per_image(predictions) if predictions else None
    checks = [] if read is None else per_image_checks(predictions, read, card)
    if not predictions:
        unread = [f"{one} (in {counted(len(unread), 'run')})" for one in unread[:1]]
    return card.model_copy(
        update={
            "per_image": read,
            "attention": attention_summary(attention) if attention else None,
            "checks": (*card.checks, *checks),
            "warnings": (*card.warnings, *unread, *unread_attention),
        }
    )


def _warnings(timeline: Timeline, runs: Mapping[str, Mapping[int, RunMeasures]], baseline: str | None) -> list[str]:
    found = []
    if baseline is None:
        found.append(say("warn baseline", baseline=DEFAULT_BASELINE, methods=", ".join(runs)))
    elif len(runs) == 1:
        found.append(say("warn alone", baseline=baseline))
    for method, own in runs.items():
        lacking: dict[str, list[int]] = {}
        for seed in own:
            curves = timeline.curves(method, seed, "T2")
            absent = [split for split in (SC_PATCH, SC_MASK) if split not in curves] if curves else [say("no T2")]
            for what in absent:
                lacking.setdefault(what, []).append(seed)
            if curves and not absent and own[seed].checkpoint_epoch is None:
                lacking.setdefault(say("no checkpoint"), []).append(seed)
        for what, seeds in lacking.items():
            found.append(say("warn missing", method=method, what=what, seeds=listed_seeds(seeds)))
        if baseline is not None and method != baseline:
            for name, alone, other in (
                (method, own.keys() - runs[baseline].keys(), baseline),
                (baseline, runs[baseline].keys() - own.keys(), method),
            ):
                if alone:
                    key = "warn seed" if len(alone) == 1 else "warn seeds"
                    found.append(say(key, seeds=listed_seeds(sorted(alone)), method=name, other=other))
    return found


def _with_holm(methods: Mapping[str, RigidityMethod]) -> dict[str, RigidityMethod]:
    """Correct each facet's tests for the number of methods compared."""
    corrected = {
        facet: dict(zip(methods, holm([method.tests[facet].p for method in methods.values()]), strict=True))
        for facet in TESTED
    }
    return {
        name: method.model_copy(
            update={
                "tests": {facet: replace(test, p_holm=corrected[facet][name]) for facet, test in method.tests.items()}
            }
        )
        for name, method in methods.items()
    }
