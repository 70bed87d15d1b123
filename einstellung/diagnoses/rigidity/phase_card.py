"""The part of the card about phases: the index of every phase with a cue, and what the phases do to each other."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from einstellung.diagnoses.card import CardPart
from einstellung.diagnoses.rigidity.patterns import Certainty, Pattern
from einstellung.metrics.statistics import Summary


class HabitEffect(CardPart):
    """AD where earlier phases had a cue, minus AD where they had none, by seed: below 0, the habit shortens the delay.

    ``study``: the other arm; ``phases``: the earlier phases that have the cue here and not there.
    """

    study: str
    phases: tuple[str, ...]
    effect: Summary


class PhaseMethod(CardPart):
    """One method in one phase: its facets as in the card of two phases, and ``T1``, its accuracy on all earlier phases.

    ``p_holm``: corrected for the methods of this phase, not for the number of phases.
    """

    n_seeds: int
    AD: Summary
    PD: Summary
    SFR_rel: Summary
    delta: Summary
    SC_patch: Summary
    T1: Summary
    T1_after_T1: Summary
    pattern: Pattern | None = None
    certainty: Certainty | None = None
    p_holm: float | None = None
    AD_by_seed: Mapping[int, float | None] = Field(default_factory=dict)
    habit: HabitEffect | None = None

    def facet(self, key: str) -> Summary:
        summary: Summary = getattr(self, key)
        return summary


class PhaseRecord(CardPart):
    """A phase with a cue: the phases before it, its cue where it is known, its baseline (None without one) and its methods.

    ``no_habit_effect``: why no effect of earlier phases' cues is known, and what to run for it.
    """

    earlier: tuple[str, ...]
    cue: str | None = None
    earlier_classes: int | None = None
    baseline: str | None = None
    methods: Mapping[str, PhaseMethod]
    no_habit_effect: str | None = None


class PhaseMatrix(CardPart):
    """One method over all phases: the usual metrics, and ``accuracy`` by phase trained (outer) and phase tested, over seeds."""

    average_accuracy: Summary
    BWT: Summary
    FWT: Summary
    forgetting: Summary
    accuracy: Mapping[str, Mapping[str, Summary]]

    def metric(self, key: str) -> Summary:
        summary: Summary = getattr(self, key)
        return summary


class ManyPhases(CardPart):
    """Every phase of the study in order, the one that the rest of the card is about, and the index of each that has a cue.

    ``cues``: by phase; null where it has none, left out where it is not known.
    """

    shown: str
    order: tuple[str, ...]
    cues: Mapping[str, str | None] = Field(default_factory=dict)
    records: Mapping[str, PhaseRecord]
    continual: Mapping[str, PhaseMatrix] = Field(default_factory=dict)
