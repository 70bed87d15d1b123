"""The card of a study of several shortcuts: what is measured of every method, phase and cue, and the verdict on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import AliasChoices, Field

from einstellung.diagnoses.card import Card, CardPart, MethodRecord
from einstellung.diagnoses.shortcuts.estimates import (
    Amplification,
    Basis,
    GapDifference,
    GapEstimate,
    RelianceDifference,
    Trade,
    Weighting,
)
from einstellung.diagnoses.shortcuts.settings import SelectionRule
from einstellung.metrics.curves import Smoothing
from einstellung.metrics.ratios import Ratio
from einstellung.metrics.statistics import Summary

WITH_LABEL, AGAINST_LABEL, NEITHER = "with the label", "against the label", "neither"


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


class JudgedBasis(CardPart):
    """What verdicts rest on; ``why``: why not on twins."""

    by: Basis
    why: str | None = None


class Reliance(CardPart):
    """What a method loses where a cue alone is uncommon, as verdicts measure it; above 0, it relies on the cue.

    ``ceiling``: by main effects, the patterns whose accuracy cannot be told from 1, with that accuracy.
    """

    by: Basis
    loss: GapEstimate
    difference: RelianceDifference
    ceiling: Mapping[str, float]


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
    judged: Mapping[str, Reliance]
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


class RelianceLeft(CardPart):
    """The reliance on a cue whose correlation is gone, what it was before, and minus a fresh net's.

    ``p``: of a t test that ``minus_fresh`` is 0 or, without a fresh net, that what is left is; ``p_holm``: over all methods.
    """

    by: Basis
    left: Summary
    before: Summary
    minus_fresh: Summary | None
    p: float | None
    p_holm: float | None


class CarryOver(CardPart):
    """A cue's gap after the phase that ``had`` its correlation, and the reliance that decides.

    ``certain``: it was carried over; ``why``: why that is not certain.
    """

    cue: str
    phase: str
    had: str
    own: GapLeft
    fixed: GapLeft
    common: GapLeft
    judged: RelianceLeft
    certain: bool
    why: str | None


class PhaseTrade(CardPart):
    """T of every ordered pair of cues from one phase to the next: of gaps, and of the reliance that decides."""

    before: str = Field(validation_alias=AliasChoices("before", "from"), serialization_alias="from")
    after: str = Field(validation_alias=AliasChoices("after", "to"), serialization_alias="to")
    own: Mapping[str, Summary]
    fixed: Mapping[str, Summary]
    common: Mapping[str, Summary]
    alone: Mapping[str, Summary]
    judged: Mapping[str, Trade]


class BaselineTrade(CardPart):
    """T of every ordered pair of cues from the baseline to the method, within one phase."""

    phase: str
    own: Mapping[str, Summary]
    fixed: Mapping[str, Summary]
    common: Mapping[str, Summary]
    alone: Mapping[str, Summary]
    judged: Mapping[str, Trade]


class Trades(CardPart):
    """What a method traded: from each phase to the next, and against the baseline."""

    between_phases: tuple[PhaseTrade, ...]
    against_baseline: tuple[BaselineTrade, ...]


class CueVerdict(CardPart):
    """The word for the reliance on one cue, what it rests on, its corrected p, and why it is undecided."""

    name: str
    by: Basis | None = None
    p_holm: float | None = None
    why: str | None = None


class MitigationVerdict(CardPart):
    """The word for a method, the sentence behind it, and the word for every cue; none for the baseline and a fresh net."""

    name: str
    sentence: str
    cues: Mapping[str, CueVerdict]


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


class ImageClusters(CardPart):
    """How test images were drawn again: in how many clusters, by their source object or one by one."""

    by: Literal["source object", "image"]
    clusters: int


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
    every phase. ``basis``: what verdicts on every cue at the end of the last phase rest on. ``informed_of``: the methods that
    know of some cues only, and of which.
    """

    kind: Literal["shortcuts"] = "shortcuts"
    schema_version: int = 2
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
    image_clusters: ImageClusters | None
    basis: Mapping[str, JudgedBasis]
    methods: Mapping[str, ShortcutsRecord]
    informed_of: Mapping[str, tuple[str, ...]] = Field(
        validation_alias=AliasChoices("informed_of", "told_some"), serialization_alias="told_some"
    )
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
