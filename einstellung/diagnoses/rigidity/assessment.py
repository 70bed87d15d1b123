"""One method's runs paired with the baseline by seed: its facets, and the pattern they give before correction."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from einstellung.diagnoses.rigidity.card import Epochs, SeedRecord
from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.measurements import RunMeasures
from einstellung.diagnoses.rigidity.patterns import (
    Comparison,
    Decision,
    Doubt,
    Facet,
    decide,
    doubts,
    high_rigidity,
    is_saturated,
    is_unlearned,
    largest_p,
)
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.metrics.arithmetic import difference
from einstellung.metrics.curves import TOLERANCE
from einstellung.metrics.eri import (
    adaptation_delay,
    censored_side,
    performance_deficit,
    relative_reliance,
    relative_sensitivity,
)

SHOWN = ("SC_patch", "SC_mask", "NSC", "T1", "T1_after_T1")
EXTRA = ("NSC_patched", "SC_clean", "SC_elsewhere")
ACCURACY, DIFFERENCE, TWICE = (0.0, 1.0), (-1.0, 1.0), (-2.0, 2.0)  # what accuracies and their differences can be
SHARE_LOST = (-math.inf, 1.0)  # below 0 where covering the cue helps
#: Facets of a pair of runs -> what they can be.
PAIRED_FACETS = {
    "AD": None,
    "PD": DIFFERENCE,
    "SFR_rel": TWICE,
    "CSR_rel": DIFFERENCE,
    "delta_S": DIFFERENCE,
    "SFR_rel_within": TWICE,
    "PD_NSC": DIFFERENCE,
    "PD_specific": TWICE,
}


@dataclass(frozen=True)
class PairedRun:
    """A run compared with the baseline of the same seed."""

    run: RunMeasures
    paired: bool
    AD: float | None = None
    AD_grid: tuple[float | None, ...] = ()
    PD: float | None = None
    SFR_rel: float | None = None
    CSR_rel: float | None = None
    delta_S: float | None = None
    SFR_rel_within: float | None = None
    PD_NSC: float | None = None
    PD_specific: float | None = None
    censored: str | None = None
    censored_grid: tuple[str | None, ...] = ()

    def record(self) -> SeedRecord:
        """The run's record in the card."""
        return SeedRecord(
            E=_whole(self.run.E),
            AD=_whole(self.AD),
            **{name: getattr(self, name) for name in PAIRED_FACETS if name not in ("AD", "delta_S")},
            delta=self.run.accuracies.delta,
            delta_within=self.run.within.delta,
            share_lost=self.run.accuracies.share_lost,
            **asdict(self.run.accuracies),
            checkpoint_epoch=_whole(self.run.checkpoint_epoch),
            paired=self.paired,
        )


@dataclass(frozen=True)
class Assessment:
    """One method's runs paired with the baseline, and its pattern before correction for the number of methods."""

    method: str
    own: Mapping[int, RunMeasures]
    reference: Mapping[int, RunMeasures]
    per_seed: Mapping[int, PairedRun]
    facets: Mapping[str, Facet]
    deciding: Mapping[str, Facet]
    decision: Decision | None
    flag: tuple[Comparison, ...] | None
    flag_doubts: tuple[Doubt, ...]
    saturated: bool
    unlearned: bool

    @property
    def p(self) -> float | None:
        """The p value for Holm's correction: 1 if no pattern was found or tested."""
        return None if self.decision is None else 1.0 if self.decision.p is None else self.decision.p

    @property
    def flag_p(self) -> float | None:
        """The same for the high-rigidity flag."""
        p = largest_p(self.flag) if self.flag else None
        return None if self.decision is None else 1.0 if p is None else p

    @property
    def paired(self) -> tuple[int, ...]:
        return tuple(seed for seed, score in self.per_seed.items() if score.paired)


def assess(
    method: str,
    runs: Mapping[str, Mapping[int, RunMeasures]],
    baseline: str | None,
    settings: RigiditySettings,
    floor: Floor,
    copied: Container[str] = (),
) -> Assessment:
    """Pair a method's runs with the baseline's of the same seeds; ``runs`` holds every method's.

    ``copied``: methods with one run under two seeds.
    """
    own = runs[method]
    is_baseline = method == baseline
    reference = {} if baseline is None or is_baseline else runs[baseline]
    if is_baseline:
        partners = {seed for name, others in runs.items() if name != baseline for seed in others}
        per_seed = {seed: _unpaired(run, settings, seed in partners) for seed, run in own.items()}
    else:
        per_seed = {seed: _seed_score(run, reference.get(seed), settings) for seed, run in own.items()}
    scores = list(per_seed.values())
    facets = _facets(scores, reference)
    deciding = {**facets, **_deltas_of_pairs(scores, facets), **_ends(scores, reference)}
    if is_baseline:
        at_floor = floor.holds(facets["SC_mask"].summary)
        return Assessment(method, own, reference, per_seed, facets, deciding, None, None, (), at_floor, False)
    paired = sum(score.paired for score in scores)
    never = {
        "method" if score.censored == method else "baseline" for score in scores if score.censored in (method, baseline)
    }
    copies = method in copied or baseline in copied
    decision = decide(deciding, settings.margins, floor, paired)
    flag = high_rigidity(deciding, settings.margins, floor)
    return Assessment(
        method,
        own,
        reference,
        per_seed,
        facets,
        deciding,
        replace(decision, doubts=doubts(decision.conditions, deciding, floor, never, copies)),
        flag,
        doubts(flag or (), deciding, floor, never, copies),
        is_saturated(deciding, floor),
        is_unlearned(deciding, floor),
    )


def _facets(scores: Sequence[PairedRun], reference: Mapping[int, RunMeasures]) -> dict[str, Facet]:
    """Every facet and accuracy over the seeds; a delay is as coarse as the coarser of the two curves it is read from."""
    partners = [reference[score.run.seed] for score in scores if score.run.seed in reference]
    step = max((run.step for run in (*(score.run for score in scores), *partners)), default=0.0)
    facets = {
        name: Facet(tuple(getattr(score, name) for score in scores), bounds, step / 2 if name == "AD" else 0.0)
        for name, bounds in PAIRED_FACETS.items()
    }
    for name in (*SHOWN, *EXTRA):
        facets[name] = Facet(tuple(getattr(score.run.accuracies, name) for score in scores), ACCURACY)
    for name in ("SC_patch", "SC_mask", "NSC"):
        facets[f"{name}_within"] = Facet(tuple(getattr(score.run.within, name) for score in scores), ACCURACY)
    facets["delta"] = Facet(tuple(score.run.accuracies.delta for score in scores), DIFFERENCE)
    facets["delta_within"] = Facet(tuple(score.run.within.delta for score in scores), DIFFERENCE)
    facets["share_lost"] = Facet(tuple(score.run.accuracies.share_lost for score in scores), SHARE_LOST)
    facets["NSC_lowest"] = facets["NSC"]
    return facets


def _seed_score(run: RunMeasures, base: RunMeasures | None, settings: RigiditySettings) -> PairedRun:
    if base is None:
        return _unpaired(run, settings, paired=False)
    delta, delta_S = run.accuracies.delta, base.accuracies.delta
    # A run without a patched curve has an unknown delay, which is not the same as a censored one.
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
        SFR_rel_within=relative_reliance(run.within.delta, base.within.delta),
        PD_NSC=(deficit := performance_deficit(base.accuracies.NSC, run.accuracies.NSC)),
        PD_specific=difference(performance_deficit(base.accuracies.SC_patch, run.accuracies.SC_patch), deficit),
        censored=sides[0],
        censored_grid=tuple(sides[1:]),
    )


def _deltas_of_pairs(scores: Sequence[PairedRun], facets: Mapping[str, Facet]) -> dict[str, Facet]:
    """Delta and Delta_S restricted to the seeds of SFR_rel, so that it is their difference; only if they have more seeds."""
    pairs = [score for score in scores if score.SFR_rel is not None]
    deltas = {"delta": [score.run.accuracies.delta for score in pairs], "delta_S": [score.delta_S for score in pairs]}
    return {
        name: Facet(tuple(values), DIFFERENCE)
        for name, values in deltas.items()
        if 0 < len(values) < facets[name].summary.n
    }


def _ends(scores: Sequence[PairedRun], reference: Mapping[int, RunMeasures]) -> dict[str, Facet]:
    """Final accuracies of both models on the shortcut classes, on the seeds of SFR_rel; and by how many epochs a model could
    be sooner than the baseline.
    """
    pairs = [
        (score.run.accuracies, reference[score.run.seed].accuracies) for score in scores if score.SFR_rel is not None
    ]
    compared = [reference[score.run.seed] for score in scores if score.AD is not None]
    room = Facet(tuple(difference(run.E, run.first) for run in compared))
    return {"AD_room": room} | {
        f"{name}{suffix}": Facet(tuple(getattr(pair[side], name) for pair in pairs), ACCURACY)
        for name in ("SC_patch", "SC_mask")
        for side, suffix in enumerate(("", "_S"))
    }


def _unpaired(run: RunMeasures, settings: RigiditySettings, paired: bool) -> PairedRun:
    undefined = (None,) * len(settings.tau_grid)
    return PairedRun(run, paired, AD_grid=undefined, censored_grid=undefined)


def _whole(value: float | None) -> Epochs | None:
    """An int where the number is whole: epochs are counted."""
    return round(value) if value is not None and abs(value - round(value)) <= TOLERANCE else value
