"""One method against the baseline, over its seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from einstellung.diagnoses.rigidity.measurements import PhaseAccuracies, RunMeasures
from einstellung.diagnoses.rigidity.patterns import Condition, Decision, decide, high_rigidity
from einstellung.diagnoses.rigidity.settings import DEFAULT_BASELINE, ScoreSettings, tau_name
from einstellung.diagnoses.rigidity.verdict import Case, Delay, Ends, at_the_floor, next_probe, unlearned, verdict
from einstellung.metrics import continual
from einstellung.metrics.curves import TOLERANCE
from einstellung.metrics.eri import (
    adaptation_delay,
    censored_side,
    performance_deficit,
    relative_reliance,
    relative_sensitivity,
)
from einstellung.metrics.statistics import PairedTest, Summary, mean_and_sd, paired_t_test, summarise_all
from einstellung.metrics.survival import Survival, TimeToThreshold, survival

PAIRED_FACETS = ("AD", "PD", "SFR_rel", "CSR_rel", "delta_S")
SHOWN = ("SC_patch", "SC_mask", "NSC", "T1", "T1_after_T1")
EXTRA = ("NSC_patched", "SC_clean")
TESTED = ("PD", "SFR_rel", "AD")


@dataclass(frozen=True)
class SeedScore:
    """One run beside the baseline of the same seed; a baseline run is paired if some method has its seed."""

    run: RunMeasures
    paired: bool
    AD: float | None = None
    AD_grid: tuple[float | None, ...] = ()
    PD: float | None = None
    SFR_rel: float | None = None
    CSR_rel: float | None = None
    delta_S: float | None = None  # noqa: N815
    censored: str | None = None
    censored_grid: tuple[str | None, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        accuracies = self.run.accuracies
        return {
            "E": _whole(self.run.E),
            "AD": _whole(self.AD),
            **{name: getattr(self, name) for name in ("PD", "SFR_rel", "CSR_rel")},
            "delta": accuracies.delta,
            **{name: getattr(accuracies, name) for name in (*SHOWN, *EXTRA)},
            "checkpoint_epoch": _whole(self.run.checkpoint_epoch),
            "paired": self.paired,
        }


@dataclass(frozen=True)
class MethodScore:
    """One method over its seeds. The baseline has no pattern: it is what the others are compared with.

    ``deciding`` holds what differs from ``facets`` where a verdict needs all deltas on the same seeds.
    """

    facets: Mapping[str, Summary]
    deciding: Mapping[str, Summary]
    task_incremental: Mapping[str, Summary] | None
    delays: Mapping[str, Delay]
    continual: Mapping[str, Summary]
    continual_task: Mapping[str, Summary] | None
    tests: Mapping[str, PairedTest]
    survival: Survival | None
    decision: Decision | None
    high_rigidity: bool | None
    masked_floor: bool
    unlearned: bool
    verdict: str | None
    next_probe: str | None
    per_seed: Mapping[int, SeedScore]

    def to_dict(self) -> dict[str, Any]:
        facets = {name: summary.to_dict() for name, summary in self.facets.items()}
        facets["AD"]["censored"] = _named({seed: score.censored for seed, score in self.per_seed.items()})
        facets |= {f"{name}_paired": summary.to_dict() for name, summary in self.deciding.items()}
        by_tau = zip(*(score.censored_grid for score in self.per_seed.values()), strict=True)
        delays = {
            tau: {**delay._asdict(), "censored": _named(dict(zip(self.per_seed, sides, strict=True)))}
            for (tau, delay), sides in zip(self.delays.items(), by_tau, strict=True)
        }
        decision = self.decision
        conditions: Sequence[Condition] = decision.conditions if decision else ()
        return {
            "n_seeds": len(self.per_seed),
            **facets,
            "task_incremental": _summaries(self.task_incremental),
            "AD_tau": delays,
            "pattern": decision.pattern if decision else None,
            "certainty": decision.certainty if decision else None,
            "high_rigidity": self.high_rigidity,
            "masked_floor": self.masked_floor,
            "unlearned": self.unlearned,
            "verdict": self.verdict,
            "conditions": [condition.to_dict() for condition in conditions],
            "next_probe": self.next_probe,
            "tests": {name: test.to_dict() for name, test in self.tests.items()},
            "survival": self.survival.to_dict() if self.survival else None,
            "continual": _summaries(self.continual),
            "continual_task": _summaries(self.continual_task),
            "per_seed": {str(seed): score.to_dict() for seed, score in self.per_seed.items()},
        }


def score_method(
    method: str, runs: Mapping[str, Mapping[int, RunMeasures]], baseline: str | None, settings: ScoreSettings
) -> MethodScore:
    """Pair a method's runs with the baseline's of the same seeds and summarise them; ``runs`` holds every method's."""
    own = runs[method]
    is_baseline = method == baseline
    reference = {} if baseline is None or is_baseline else runs[baseline]
    if is_baseline:
        partners = {seed for name, others in runs.items() if name != baseline for seed in others}
        per_seed = {seed: _unpaired(run, settings, seed in partners) for seed, run in own.items()}
    else:
        per_seed = {seed: _seed_score(run, reference.get(seed), settings) for seed, run in own.items()}
    scores = list(per_seed.values())
    accuracies = [run.accuracies for run in own.values()]
    facets = summarise_all(
        {
            **{name: [getattr(score, name) for score in scores] for name in PAIRED_FACETS},
            **{name: [getattr(accuracy, name) for accuracy in accuracies] for name in ("delta", *SHOWN, *EXTRA)},
        }
    )
    deciding = _deltas_of_pairs(scores, facets)
    by_tau = zip(*(score.AD_grid for score in scores), strict=True)
    delays = {tau: Delay(*mean_and_sd(values)) for tau, values in zip(settings.tau_grid, by_tau, strict=True)}
    paired = tuple(seed for seed, score in per_seed.items() if score.paired)
    decision = None if is_baseline else decide({**facets, **deciding}, settings.margins, len(paired))
    case = decision and Case(
        method=method,
        baseline=baseline if baseline is not None else DEFAULT_BASELINE,
        baseline_present=baseline is not None,
        seeds=tuple(own),
        paired=paired,
        facets={**facets, **deciding},
        censored={seed: score.censored for seed, score in per_seed.items() if score.censored is not None},
        delays=delays,
        tau=settings.tau,
        budget=min((run.budget for run in own.values() if run.budget is not None), default=None),
        margins=settings.margins,
        decision=decision,
        ends=_ends(own, reference, paired),
    )
    return MethodScore(
        facets=facets,
        deciding=deciding,
        task_incremental=_task_incremental(own),
        delays={tau_name(tau): delay for tau, delay in delays.items()},
        continual=_continual(own, reference, lambda run: run.phases) or {},
        continual_task=_continual(own, reference, lambda run: run.task[1] if run.task else None),
        tests={name: paired_t_test([getattr(score, name) for score in scores]) for name in TESTED},
        survival=survival(_times(own), _times(reference)),
        decision=decision,
        high_rigidity=None if is_baseline else high_rigidity(facets, settings.margins),
        masked_floor=at_the_floor(case) if case else False,
        unlearned=unlearned(case) if case else False,
        verdict=verdict(case) if case else None,
        next_probe=next_probe(case) if case else None,
        per_seed=per_seed,
    )


def _seed_score(run: RunMeasures, base: RunMeasures | None, settings: ScoreSettings) -> SeedScore:
    if base is None:
        return _unpaired(run, settings, paired=False)
    delta, delta_S = run.accuracies.delta, base.accuracies.delta
    # A run without a patched curve was not watched: its delay is unknown, which is not the same as censored.
    watched = run.budget is not None and base.budget is not None
    times = [(run.E, base.E), *zip(run.E_grid, base.E_grid, strict=True)]
    sides = [censored_side(*pair, run.method, base.method) if watched else None for pair in times]
    delays = [adaptation_delay(*pair) for pair in times]
    return SeedScore(
        run,
        paired=True,
        AD=delays[0],
        AD_grid=tuple(delays[1:]),
        PD=performance_deficit(base.accuracies.SC_patch, run.accuracies.SC_patch),
        SFR_rel=relative_reliance(delta, delta_S),
        CSR_rel=relative_sensitivity(delta, delta_S),
        delta_S=delta_S,
        censored=sides[0],
        censored_grid=tuple(sides[1:]),
    )


def _deltas_of_pairs(scores: Sequence[SeedScore], facets: Mapping[str, Summary]) -> dict[str, Summary]:
    """Delta and Delta_S on the very seeds of SFR_rel, so that it is their difference; only where they rest on more."""
    pairs = [score for score in scores if score.SFR_rel is not None]
    deltas = {"delta": [score.run.accuracies.delta for score in pairs], "delta_S": [score.delta_S for score in pairs]}
    return summarise_all({name: values for name, values in deltas.items() if 0 < len(values) < facets[name].n})


def _unpaired(run: RunMeasures, settings: ScoreSettings, paired: bool) -> SeedScore:
    undefined = (None,) * len(settings.tau_grid)
    return SeedScore(run, paired, AD_grid=undefined, censored_grid=undefined)


def _task_incremental(own: Mapping[int, RunMeasures]) -> dict[str, Summary] | None:
    accuracies = [run.task[0] for run in own.values() if run.task is not None]
    if not accuracies:
        return None
    return summarise_all({name: [getattr(accuracy, name) for accuracy in accuracies] for name in SHOWN})


def _continual(
    own: Mapping[int, RunMeasures],
    reference: Mapping[int, RunMeasures],
    phases_of: Callable[[RunMeasures], PhaseAccuracies | None],
) -> dict[str, Summary] | None:
    values: dict[str, list[float | None]] = {
        name: [] for name in ("average_accuracy", "BWT", "FWT", "forgetting", "intransigence")
    }
    measured = False
    for seed, run in own.items():
        phases = phases_of(run)
        if phases is None:
            continue
        measured = True
        base = phases_of(reference[seed]) if seed in reference else None
        values["average_accuracy"].append(continual.average_accuracy(phases.R))
        values["BWT"].append(continual.backward_transfer(phases.R))
        values["forgetting"].append(continual.forgetting(phases.R))
        values["FWT"].append(continual.forward_transfer(phases.R, (None, base.before_t2)) if base else None)
        values["intransigence"].append(continual.intransigence(phases.R, base.R[1][1]) if base else None)
    return summarise_all(values) if measured else None


def _times(runs: Mapping[int, RunMeasures]) -> dict[int, TimeToThreshold]:
    return {seed: TimeToThreshold(run.E, run.budget) for seed, run in runs.items() if run.budget is not None}


def _named(censored: Mapping[int, str | None]) -> dict[str, str]:
    return {str(seed): side for seed, side in censored.items() if side is not None}


def _summaries(summaries: Mapping[str, Summary] | None) -> dict[str, Any] | None:
    return None if summaries is None else {name: summary.to_dict() for name, summary in summaries.items()}


def _ends(own: Mapping[int, RunMeasures], reference: Mapping[int, RunMeasures], seeds: Sequence[int]) -> Ends | None:
    """Means over the seeds of SFR_rel: those in which method and baseline have both accuracies."""
    pairs = [(own[seed].accuracies, reference[seed].accuracies) for seed in seeds if seed in reference]
    values = [(one.SC_patch, other.SC_patch, one.SC_mask, other.SC_mask) for one, other in pairs]
    known = np.array([row for row in values if None not in row], dtype=np.float64)
    if not len(known):
        return None
    own_patched, other_patched, own_masked, other_masked = known.mean(axis=0).tolist()
    return Ends((own_patched, other_patched), (own_masked, other_masked))


def _whole(value: float | None) -> float | int | None:
    """An int where the number is whole: epochs are counted."""
    return round(value) if value is not None and abs(value - round(value)) <= TOLERANCE else value
