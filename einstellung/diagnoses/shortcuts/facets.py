"""The facets of the rigidity index per cue: what each cue is worth to a model, and how that differs from a fresh net's.

Reliance is accuracy on test images in which a cue is common minus accuracy on the very same images with that cue alone swapped
to its other value, or covered. Against the model that starts fresh in every phase, paired by seed: SFR_rel is a cue's
reliance minus that model's; AD and PD say how much later and worse ID accuracy of a phase is reached than from scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from einstellung.diagnoses.shortcuts.gaps import in_distribution
from einstellung.diagnoses.shortcuts.runs import ShortcutRun
from einstellung.diagnoses.shortcuts.splits import TWINS
from einstellung.metrics.eri import (
    adaptation_delay,
    censored_side,
    cue_delta,
    performance_deficit,
    relative_reliance,
)
from einstellung.metrics.statistics import summarise_all

CHANGES = ("swapped", "covered")
Runs = Mapping[int, ShortcutRun]
Pairs = Sequence[tuple[ShortcutRun, ShortcutRun]]


def cue_reliance(run: ShortcutRun, phase: str, cue: str, change: str) -> float | None:
    r"""What a cue is worth: :math:`\Delta_k = Acc(common_k) - Acc(swapped_k)`, or with ``covered`` instead."""
    return cue_delta(run.value(phase, f"{cue}_common"), run.value(phase, f"{cue}_{change}"))


def id_accuracy(run: ShortcutRun, phase: str) -> float | None:
    """ID accuracy at the chosen epoch of a phase, with that phase's own weights."""
    return in_distribution(run.patterns(phase), run.design.weights.get(phase))


def pairs_with(own: Runs, other: Runs) -> list[tuple[ShortcutRun, ShortcutRun]]:
    """The runs of a method beside those of another with the same seeds."""
    return [(run, other[seed]) for seed, run in own.items() if seed in other]


def reliance_record(own: Runs, scratch: Runs, phase: str) -> dict[str, Any]:
    """Per cue: the accuracies on its twins, the reliance on it, and that relative to a fresh net's."""
    record: dict[str, Any] = {}
    pairs = pairs_with(own, scratch)
    for cue in next(iter(own.values())).design.cues:
        values = {kind: [run.value(phase, f"{cue}_{kind}") for run in own.values()] for kind in TWINS}
        for change in CHANGES:
            values[f"delta_{change}"] = [cue_reliance(run, phase, cue, change) for run in own.values()]
            values[f"SFR_rel_{change}"] = [
                relative_reliance(cue_reliance(run, phase, cue, change), cue_reliance(base, phase, cue, change))
                for run, base in pairs
            ]
        counts = {run.images.get(f"{cue}_common") for run in own.values()}
        record[cue] = {
            **{name: summary.to_dict() for name, summary in summarise_all(values).items()},
            "images": counts.pop() if len(counts) == 1 else None,
        }
    return record


def history_facets(method: str, own: Runs, scratch: str | None, runs: Mapping[str, Runs], phase: str) -> dict[str, Any]:
    """AD and PD of a phase against the method that starts fresh, and why one is undefined."""
    design = next(iter(own.values())).design
    first = phase == design.phases[0]
    pairs = pairs_with(own, runs[scratch]) if scratch is not None and scratch != method and not first else []

    def of_pairs(facet: Callable[[ShortcutRun, ShortcutRun], float | None]) -> list[float | None]:
        return [facet(run, base) for run, base in pairs]

    def delay(run: ShortcutRun, base: ShortcutRun) -> float | None:
        if phase not in run.watched & base.watched:
            return None
        return adaptation_delay(run.reached[phase], base.reached[phase])

    values = {
        "AD": of_pairs(delay),
        "PD": of_pairs(lambda run, base: performance_deficit(id_accuracy(base, phase), id_accuracy(run, phase))),
    }
    summaries = {name: summary.to_dict() for name, summary in summarise_all(values).items()}
    censored = {
        str(run.seed): side
        for run, base in pairs
        if phase in run.watched & base.watched
        and (side := censored_side(run.reached[phase], base.reached[phase], method, base.method)) is not None
    }
    why = {
        name: _why(name, method, scratch, first, bool(pairs), bool(censored))
        for name in values
        if summaries[name]["mean"] is None
    }
    return {**summaries, "censored": censored, "why": why}


def _why(facet: str, method: str, scratch: str | None, first: bool, paired: bool, censored: bool) -> str:
    if scratch is None:
        return "no method that starts fresh in every phase"
    if method == scratch:
        return "the fresh net is what the others are compared with"
    if first:
        return "the first phase has no history"
    if not paired:
        return f"no seed in common with {scratch}"
    if facet == "AD":
        return "the threshold was not reached" if censored else "ID accuracy was not watched over the phase"
    return "ID accuracy is not known"
