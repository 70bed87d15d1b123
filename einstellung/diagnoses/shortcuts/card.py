"""The card of a study of several shortcuts: what is measured of every method, phase and cue, and the verdict on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field

from einstellung.diagnoses.card import Card, CardPart, MethodRecord
from einstellung.diagnoses.shortcuts.settings import SelectionRule
from einstellung.metrics.curves import Smoothing
from einstellung.metrics.ratios import Ratio
from einstellung.metrics.statistics import Summary

#: What a gap is measured from. ``own`` and ``fixed``: ID accuracy with the weights of the phase, or with those that all phases
#: share. ``common``: accuracy where every cue goes with the label. ``alone``: accuracy where every cue is as is common in the
#: phase, which is the same unless a cue is turned there.
Weighting = Literal["own", "fixed", "common", "alone"]
WEIGHTINGS: tuple[Weighting, ...] = ("own", "fixed", "common", "alone")

WITH_LABEL, AGAINST_LABEL, NEITHER = "with the label", "against the label", "neither"


@dataclass(frozen=True)
class GapEstimate(Summary):
    """A gap over seeds. ``images95``: its 95 % interval over test images, None where predictions are not known."""

    images95: tuple[float, float] | None = None

    @classmethod
    def of(cls, summary: Summary, images95: tuple[float, float] | None = None) -> Self:
        """A gap from its summary over seeds."""
        return cls(**vars(summary), images95=images95)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval that allows for seeds and, where predictions are known, for images; None with a single seed.

        What seeds and what images do to a mean over seeds is independent of each other, so that variances add up, and with
        them the squares of an interval's half widths.

        >>> GapEstimate(0.0, 0.1, 3, (-0.3, 0.3), "t", images95=(-0.4, 0.4)).bounds
        (-0.5, 0.5)
        >>> GapEstimate(0.0, 0.1, 3, (-0.3, 0.3), "t").bounds
        (-0.3, 0.3)
        """
        if self.ci95 is None or self.images95 is None or self.mean is None:
            return self.ci95
        (low, high), (least, most), mean = self.ci95, self.images95, self.mean
        return mean - math.hypot(mean - low, mean - least), mean + math.hypot(high - mean, most - mean)


@dataclass(frozen=True)
class GapDifference(GapEstimate):
    """A method's gap minus the baseline's, paired by seed, with the p of a paired t test."""

    p: float | None = None


@dataclass(frozen=True)
class Amplification(Ratio):
    """A gap over the baseline's: the ratio of their means, and beside it a summary of the ratios seed by seed."""

    per_seed: Summary


@dataclass(frozen=True)
class Trade(Summary):
    """How much of one cue's gap went over to another's. ``certain``: beyond the margin, and its interval above 0."""

    certain: bool


class MeasuredGaps(CardPart):
    """Every gap in one weighting, and beside the baseline's of the same phase and seed."""

    ID: Summary
    gaps: Mapping[str, GapEstimate]
    difference: Mapping[str, GapDifference]
    amplification: Mapping[str, Amplification]


class CueReliance(CardPart):
    """Accuracy on a cue's twins, what the cue is worth by them, and that relative to a fresh net's."""

    common: Summary
    swapped: Summary
    covered: Summary
    delta_swapped: Summary
    SFR_rel_swapped: Summary
    delta_covered: Summary
    SFR_rel_covered: Summary
    images: int | None


class HistoryFacets(CardPart):
    """AD and PD against the net that starts fresh: who never reached the threshold, by seed, and why a facet is undefined."""

    AD: Summary
    PD: Summary
    censored: Mapping[str, str]
    why: Mapping[str, str]


class PhaseEnd(CardPart):
    """One method at the end of one phase, over its seeds. ``choices``: among how many epochs each was chosen, by seed."""

    patterns: Mapping[str, Summary]
    groups: Mapping[str, Summary]
    worst_group: Summary
    worst_group_name: str | None
    preference: Mapping[str, Summary]
    chosen_epoch: Mapping[str, float | None]
    choices: Mapping[str, int | None]
    own: MeasuredGaps
    fixed: MeasuredGaps
    common: MeasuredGaps
    alone: MeasuredGaps
    reliance: Mapping[str, CueReliance]
    facets: HistoryFacets

    def measured_from(self, weighting: Weighting) -> MeasuredGaps:
        """The gaps in one weighting."""
        measured: MeasuredGaps = getattr(self, weighting)
        return measured


class GapLeft(CardPart):
    """A gap where its correlation is gone, what it was before, and minus what a fresh net has."""

    gap: Summary
    gap_before: Summary
    share: Ratio
    minus_fresh: Summary | None


class CarryOver(CardPart):
    """A cue's gap after the phase that ``had`` its correlation. ``certain``: it was carried over."""

    cue: str
    phase: str
    had: str
    own: GapLeft
    fixed: GapLeft
    common: GapLeft
    certain: bool


class PhaseTrade(CardPart):
    """T of every ordered pair of cues from one phase to the next."""

    before: str = Field(serialization_alias="from")
    after: str = Field(serialization_alias="to")
    own: Mapping[str, Trade]
    fixed: Mapping[str, Trade]
    common: Mapping[str, Trade]
    alone: Mapping[str, Trade]


class BaselineTrade(CardPart):
    """T of every ordered pair of cues from the baseline to the method, within one phase."""

    phase: str
    own: Mapping[str, Trade]
    fixed: Mapping[str, Trade]
    common: Mapping[str, Trade]
    alone: Mapping[str, Trade]


class Trades(CardPart):
    """What a method traded: from each phase to the next, and against the baseline."""

    between_phases: tuple[PhaseTrade, ...]
    against_baseline: tuple[BaselineTrade, ...]


class GapVerdict(CardPart):
    """The word for one gap, those for it measured from ID accuracy and from all cues common, and its corrected p."""

    name: str
    from_id: str | None = Field(default=None, serialization_alias="from_ID")
    alone: str | None = None
    p_holm: float | None = None


class MitigationVerdict(CardPart):
    """The word for a method, the sentence behind it, and the word for every gap; none for the baseline and a fresh net."""

    name: str
    sentence: str
    gaps: Mapping[str, GapVerdict]


class ShortcutsRecord(MethodRecord):
    """One method. ``per_seed``: what every seed gave at the end of the last phase, by name."""

    phases: Mapping[str, PhaseEnd]
    carry_over: tuple[CarryOver, ...]
    trade: Trades
    per_seed: Mapping[str, Mapping[str, float | None]]
    verdict: MitigationVerdict


class FixedWeights(CardPart):
    """Weights of the patterns that all phases share, and where they come from: a phase, or ``given``."""

    weights: Mapping[str, float]
    source: str


class GroupSizes(CardPart):
    """How many images a group, a pattern (all classes) and the whole test have; None where not recorded or uneven."""

    group: int | None
    pattern: int | None
    test: int | None


class PublishedGaps(CardPart):
    """What a paper reports of a method, as shares."""

    ID: float
    gaps: Mapping[str, float]


class PublishedStudy(CardPart):
    """The paper's numbers for the methods of a study, and in what the protocols differ."""

    source: str
    methods: Mapping[str, PublishedGaps]
    differences: tuple[str, ...]


class ShortcutsCard(Card):
    """All that is said of a study of several shortcuts.

    ``common_values``: what is common of every cue in a phase's training images. ``scratch``: the method that starts fresh in
    every phase. ``informed_of``: the methods that know of some cues only, and of which.
    """

    kind: Literal["shortcuts"] = "shortcuts"
    schema_version: int = 1
    cues: tuple[str, ...]
    labels: tuple[str, ...]
    patterns: tuple[str, ...]
    gaps: tuple[str, ...]
    phases: tuple[str, ...]
    correlations: Mapping[str, tuple[float, ...]]
    common_values: Mapping[str, Mapping[str, str]]
    weights: Mapping[str, Mapping[str, float] | None]
    fixed_weights: FixedWeights | None
    scratch: str | None
    margin: float
    level: float
    tau: float
    window: int
    smoothing: Smoothing
    final: SelectionRule
    final_by_phase: Mapping[str, SelectionRule]
    images: GroupSizes
    image_resamples: int | None
    methods: Mapping[str, ShortcutsRecord]
    informed_of: Mapping[str, tuple[str, ...]] = Field(serialization_alias="told_some")
    reported: PublishedStudy

    @property
    def last(self) -> str:
        """The last phase."""
        return self.phases[-1]

    def end(self, method: str) -> PhaseEnd:
        """A method at the end of the last phase."""
        return self.methods[method].phases[self.last]

    def turned_in(self, phase: str) -> list[str]:
        """The cues that go against the label in most training images of a phase."""
        return [cue for cue, value in self.common_values.get(phase, {}).items() if value == AGAINST_LABEL]

    @property
    def has_turned_cues(self) -> bool:
        """Whether a cue goes against the label in any phase."""
        return any(self.turned_in(phase) for phase in self.phases)
