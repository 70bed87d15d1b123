"""The card's record of one method, over its seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from einstellung.diagnoses.rigidity.assessment import ACCURACY, SHOWN, Assessment
from einstellung.diagnoses.rigidity.card import ContinualMetrics, Delay, DelaySummary, RigidityMethod, TaskIncremental
from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.measurements import PhaseAccuracies, RunMeasures
from einstellung.diagnoses.rigidity.patterns import Certainty, certainty_of
from einstellung.diagnoses.rigidity.settings import DEFAULT_BASELINE, RigiditySettings, tau_name
from einstellung.diagnoses.rigidity.verdict import Case, next_probe, verdict
from einstellung.diagnoses.rigidity.words import say
from einstellung.metrics import continual
from einstellung.metrics.statistics import Summary, mean_and_sd, paired_t_test, summarise, summarise_all
from einstellung.metrics.survival import TimeToThreshold, survival

TESTED = ("PD", "SFR_rel", "AD")
#: Facets that a log may lack; a card then has no summary of them.
OPTIONAL = (
    *("delta_within", "SFR_rel_within", "PD_NSC", "PD_specific", "share_lost"),
    *("SC_patch_within", "SC_mask_within", "NSC_within"),
)


def score_method(
    found: Assessment,
    baseline: str | None,
    settings: RigiditySettings,
    floor: Floor,
    p_holm: float | None,
    flag_p_holm: float | None,
) -> RigidityMethod:
    """The card's record of a method; ``p_holm`` is its p corrected for the number of methods."""
    own, reference, decision, per_seed = found.own, found.reference, found.decision, found.per_seed
    scores = list(per_seed.values())
    facets = {name: facet.summary for name, facet in found.facets.items() if name != "NSC_lowest"}
    delays = {
        tau: _delay(
            [score.AD_grid[place] for score in scores],
            {seed: score.censored_grid[place] for seed, score in per_seed.items()},
        )
        for place, tau in enumerate(settings.tau_grid)
    }
    censored = _known({seed: score.censored for seed, score in per_seed.items()})
    certainty = decision.certainty(p_holm) if decision else None
    case = (
        Case(
            method=found.method,
            baseline=baseline if baseline is not None else DEFAULT_BASELINE,
            baseline_present=baseline is not None,
            seeds=tuple(own),
            paired=found.paired,
            facets={name: facet.summary for name, facet in found.deciding.items()},
            censored=censored,
            delays=delays,
            tau=settings.tau,
            budget=min((run.budget for run in own.values() if run.budget is not None), default=None),
            margins=settings.margins,
            floor=floor,
            decision=decision,
            certainty=certainty,
            p_holm=p_holm,
            saturated=found.saturated,
            unlearned=found.unlearned,
        )
        if decision and certainty
        else None
    )
    lacking = _lacking(found, baseline)
    shown: dict[str, Any] = {name: None if name in lacking else facets[name] for name in facets if name != "AD"}
    resolution = found.facets["AD"].resolution
    return RigidityMethod(
        n_seeds=len(per_seed),
        AD=DelaySummary(**asdict(facets["AD"]), censored=censored),
        **shown,
        groups=_groups(own),
        why_undefined=lacking,
        delta_paired=_of_fewer(found, "delta"),
        delta_S_paired=_of_fewer(found, "delta_S"),
        task_incremental=_task_incremental(own),
        AD_tau={tau_name(tau): delay for tau, delay in delays.items()},
        pattern=decision.pattern if decision else None,
        certainty=certainty,
        p=decision.p if decision else None,
        p_holm=p_holm if decision and decision.p is not None else None,
        saturated=found.saturated,
        unlearned=found.unlearned,
        high_rigidity=all(one.met for one in found.flag) if found.flag else None,
        high_rigidity_certainty=flag_certainty(found, flag_p_holm),
        verdict=verdict(case) if case else None,
        conditions=decision.conditions if decision else (),
        next_probe=next_probe(case) if case else None,
        tests={name: paired_t_test([getattr(score, name) for score in scores]) for name in TESTED},
        survival=survival(_times(own), _times(reference), resolution),
        continual=_continual(_phases(own), _phases(reference)),
        continual_task=_continual(task, _task_phases(reference)) if (task := _task_phases(own)) else None,
        per_seed={seed: score.record() for seed, score in per_seed.items()},
    )


def _groups(own: Mapping[int, RunMeasures]) -> dict[str, Summary]:
    names = dict.fromkeys(name for run in own.values() for name in run.groups)
    return {name: summarise([run.groups.get(name) for run in own.values()], ACCURACY) for name in names}


def _lacking(found: Assessment, baseline: str | None) -> dict[str, str]:
    """Which of the optional facets are undefined, and why."""
    relative = ("SFR_rel_within", "PD_NSC", "PD_specific")
    reasons = {name: say(f"why {name}") for name in OPTIONAL if found.facets[name].summary.mean is None}
    if found.facets["PD"].summary.mean is None:
        reasons["PD_specific"] = say("why PD")
    if found.decision is None:
        return {**reasons, **dict.fromkeys(relative, say("why: baseline"))}
    if not found.paired:
        why = say("why: no baseline") if baseline is None else say("why: no seed", baseline=baseline)
        return {**reasons, **dict.fromkeys(relative, why)}
    return reasons


def _of_fewer(found: Assessment, name: str) -> Summary | None:
    """Delta as the verdict uses it, where it rests on fewer seeds than the facet itself."""
    deciding = found.deciding[name]
    return None if deciding is found.facets[name] else deciding.summary


def flag_certainty(found: Assessment, p_holm: float | None) -> Certainty | None:
    if not found.flag or not all(one.met for one in found.flag):
        return None
    fewest = min(found.deciding[one.facet].summary.n for one in found.flag)
    return certainty_of(found.flag, fewest, p_holm, found.flag_doubts)


def _delay(values: Sequence[float | None], sides: Mapping[int, str | None]) -> Delay:
    mean, sd, n = mean_and_sd(values)
    return Delay(mean=mean, sd=sd, n=n, censored=_known(sides))


def _task_incremental(own: Mapping[int, RunMeasures]) -> TaskIncremental | None:
    accuracies = [run.task[0] for run in own.values() if run.task is not None]
    if not accuracies:
        return None
    return TaskIncremental(
        **{name: summarise([getattr(accuracy, name) for accuracy in accuracies], ACCURACY) for name in SHOWN}
    )


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
