"""One method against the baseline, over its seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from einstellung.diagnoses.rigidity.card import (
    ContinualMetrics,
    Delay,
    DelaySummary,
    Epochs,
    RigidityMethod,
    SeedRecord,
    TaskIncremental,
)
from einstellung.diagnoses.rigidity.measurements import PhaseAccuracies, RunMeasures
from einstellung.diagnoses.rigidity.patterns import decide, high_rigidity
from einstellung.diagnoses.rigidity.settings import DEFAULT_BASELINE, RigiditySettings, tau_name
from einstellung.diagnoses.rigidity.verdict import Case, Ends, at_the_floor, next_probe, unlearned, verdict
from einstellung.metrics import continual
from einstellung.metrics.curves import TOLERANCE
from einstellung.metrics.eri import (
    adaptation_delay,
    censored_side,
    performance_deficit,
    relative_reliance,
    relative_sensitivity,
)
from einstellung.metrics.statistics import Summary, mean_and_sd, paired_t_test, summarise_all
from einstellung.metrics.survival import TimeToThreshold, survival

PAIRED_FACETS = ("AD", "PD", "SFR_rel", "CSR_rel", "delta_S")
SHOWN = ("SC_patch", "SC_mask", "NSC", "T1", "T1_after_T1")
EXTRA = ("NSC_patched", "SC_clean")
TESTED = ("PD", "SFR_rel", "AD")


@dataclass(frozen=True)
class PairedRun:
    """A run, and what comparing it with the baseline of the same seed gives."""

    run: RunMeasures
    paired: bool
    AD: float | None = None
    AD_grid: tuple[float | None, ...] = ()
    PD: float | None = None
    SFR_rel: float | None = None
    CSR_rel: float | None = None
    delta_S: float | None = None
    censored: str | None = None
    censored_grid: tuple[str | None, ...] = ()

    def record(self) -> SeedRecord:
        """What the card says of the run."""
        return SeedRecord(
            E=_whole(self.run.E),
            AD=_whole(self.AD),
            PD=self.PD,
            SFR_rel=self.SFR_rel,
            CSR_rel=self.CSR_rel,
            delta=self.run.accuracies.delta,
            **asdict(self.run.accuracies),
            checkpoint_epoch=_whole(self.run.checkpoint_epoch),
            paired=self.paired,
        )


def score_method(
    method: str, runs: Mapping[str, Mapping[int, RunMeasures]], baseline: str | None, settings: RigiditySettings
) -> RigidityMethod:
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
    delays = {
        tau: _delay(
            [score.AD_grid[place] for score in scores],
            {seed: score.censored_grid[place] for seed, score in per_seed.items()},
        )
        for place, tau in enumerate(settings.tau_grid)
    }
    paired = tuple(seed for seed, score in per_seed.items() if score.paired)
    censored = _known({seed: score.censored for seed, score in per_seed.items()})
    decision = None if is_baseline else decide({**facets, **deciding}, settings.margins, len(paired))
    case = decision and Case(
        method=method,
        baseline=baseline if baseline is not None else DEFAULT_BASELINE,
        baseline_present=baseline is not None,
        seeds=tuple(own),
        paired=paired,
        facets={**facets, **deciding},
        censored=censored,
        delays=delays,
        tau=settings.tau,
        budget=min((run.budget for run in own.values() if run.budget is not None), default=None),
        margins=settings.margins,
        decision=decision,
        ends=_ends(own, reference, paired),
    )
    shown = {name: summary for name, summary in facets.items() if name != "AD"}
    return RigidityMethod(
        n_seeds=len(per_seed),
        AD=DelaySummary(**asdict(facets["AD"]), censored=censored),
        **shown,
        delta_paired=deciding.get("delta"),
        delta_S_paired=deciding.get("delta_S"),
        task_incremental=_task_incremental(own),
        AD_tau={tau_name(tau): delay for tau, delay in delays.items()},
        pattern=decision.pattern if decision else None,
        certainty=decision.certainty if decision else None,
        high_rigidity=None if is_baseline else high_rigidity(facets, settings.margins),
        masked_floor=at_the_floor(case) if case else False,
        unlearned=unlearned(case) if case else False,
        verdict=verdict(case) if case else None,
        conditions=decision.conditions if decision else (),
        next_probe=next_probe(case) if case else None,
        tests={name: paired_t_test([getattr(score, name) for score in scores]) for name in TESTED},
        survival=survival(_times(own), _times(reference)),
        continual=_continual(_phases(own), _phases(reference)),
        continual_task=_continual(task, _task_phases(reference)) if (task := _task_phases(own)) else None,
        per_seed={seed: score.record() for seed, score in per_seed.items()},
    )


def _delay(values: Sequence[float | None], sides: Mapping[int, str | None]) -> Delay:
    mean, sd, n = mean_and_sd(values)
    return Delay(mean=mean, sd=sd, n=n, censored=_known(sides))


def _seed_score(run: RunMeasures, base: RunMeasures | None, settings: RigiditySettings) -> PairedRun:
    if base is None:
        return _unpaired(run, settings, paired=False)
    delta, delta_S = run.accuracies.delta, base.accuracies.delta
    # A run without a patched curve was not watched: its delay is unknown, which is not the same as censored.
    watched = run.budget is not None and base.budget is not None
    times = [(run.E, base.E), *zip(run.E_grid, base.E_grid, strict=True)]
    sides = [censored_side(*pair, run.method, base.method) if watched else None for pair in times]
    delays = [adaptation_delay(*pair) for pair in times]
    return PairedRun(
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


def _deltas_of_pairs(scores: Sequence[PairedRun], facets: Mapping[str, Summary]) -> dict[str, Summary]:
    """Delta and Delta_S on the very seeds of SFR_rel, so that it is their difference; only where they rest on more."""
    pairs = [score for score in scores if score.SFR_rel is not None]
    deltas = {"delta": [score.run.accuracies.delta for score in pairs], "delta_S": [score.delta_S for score in pairs]}
    return summarise_all({name: values for name, values in deltas.items() if 0 < len(values) < facets[name].n})


def _unpaired(run: RunMeasures, settings: RigiditySettings, paired: bool) -> PairedRun:
    undefined = (None,) * len(settings.tau_grid)
    return PairedRun(run, paired, AD_grid=undefined, censored_grid=undefined)


def _task_incremental(own: Mapping[int, RunMeasures]) -> TaskIncremental | None:
    accuracies = [run.task[0] for run in own.values() if run.task is not None]
    if not accuracies:
        return None
    summaries = summarise_all({name: [getattr(accuracy, name) for accuracy in accuracies] for name in SHOWN})
    return TaskIncremental(**summaries)


def _phases(runs: Mapping[int, RunMeasures]) -> dict[int, PhaseAccuracies]:
    return {seed: run.phases for seed, run in runs.items()}


def _task_phases(runs: Mapping[int, RunMeasures]) -> dict[int, PhaseAccuracies]:
    return {seed: run.task[1] for seed, run in runs.items() if run.task is not None}


def _continual(own: Mapping[int, PhaseAccuracies], reference: Mapping[int, PhaseAccuracies]) -> ContinualMetrics:
    values: dict[str, list[float | None]] = {
        name: [] for name in ("average_accuracy", "BWT", "FWT", "forgetting", "intransigence")
    }
    for seed, phases in own.items():
        base = reference.get(seed)
        values["average_accuracy"].append(continual.average_accuracy(phases.R))
        values["BWT"].append(continual.backward_transfer(phases.R))
        values["forgetting"].append(continual.forgetting(phases.R))
        values["FWT"].append(continual.forward_transfer(phases.R, (None, base.before_t2)) if base else None)
        values["intransigence"].append(continual.intransigence(phases.R, base.R[1][1]) if base else None)
    return ContinualMetrics(**summarise_all(values))


def _times(runs: Mapping[int, RunMeasures]) -> dict[int, TimeToThreshold]:
    return {seed: TimeToThreshold(run.E, run.budget) for seed, run in runs.items() if run.budget is not None}


def _known(sides: Mapping[int, str | None]) -> dict[int, str]:
    return {seed: side for seed, side in sides.items() if side is not None}


def _ends(own: Mapping[int, RunMeasures], reference: Mapping[int, RunMeasures], seeds: Sequence[int]) -> Ends | None:
    """Means over the seeds of SFR_rel: those in which method and baseline have both accuracies."""
    pairs = [(own[seed].accuracies, reference[seed].accuracies) for seed in seeds if seed in reference]
    values = [(one.SC_patch, other.SC_patch, one.SC_mask, other.SC_mask) for one, other in pairs]
    known = np.array([row for row in values if None not in row], dtype=np.float64)
    if not len(known):
        return None
    own_patched, other_patched, own_masked, other_masked = known.mean(axis=0).tolist()
    return Ends((own_patched, other_patched), (own_masked, other_masked))


def _whole(value: float | None) -> Epochs | None:
    """An int where the number is whole: epochs are counted."""
    return round(value) if value is not None and abs(value - round(value)) <= TOLERANCE else value
