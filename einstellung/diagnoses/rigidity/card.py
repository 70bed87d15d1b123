"""The typed card of the rigidity index: every number behind a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from einstellung.diagnoses.card import Card, CardPart, MethodRecord
from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.patterns import FEWEST_SEEDS, Certainty, Comparison, Pattern
from einstellung.diagnoses.rigidity.phase_card import ManyPhases
from einstellung.diagnoses.rigidity.settings import FinalRule, Margins
from einstellung.metrics.curves import Smoothing
from einstellung.metrics.statistics import PairedTest, Summary
from einstellung.metrics.survival import Survival

Epochs = float | int  # whole numbers of epochs are integers, in JSON too
Censored = Mapping[int, str]  # seed -> who did not reach the threshold: the method, the baseline, or both


@dataclass(frozen=True)
class DelaySummary(Summary):
    """AD over seeds, and which model did not reach the threshold in the excluded seeds."""

    censored: Censored = field(default_factory=dict)


class Delay(CardPart):
    """AD at one threshold: mean and standard deviation over the seeds on which it is defined, and how many they are."""

    mean: float | None
    sd: float | None
    n: int
    censored: Censored = Field(default_factory=dict)


class SeedRecord(CardPart):
    """One run compared with the baseline of the same seed; a baseline run is paired if some method has its seed."""

    E: Epochs | None
    AD: Epochs | None
    PD: float | None
    SFR_rel: float | None
    CSR_rel: float | None
    SFR_rel_within: float | None
    PD_NSC: float | None
    PD_specific: float | None
    delta: float | None
    delta_within: float | None
    share_lost: float | None
    SC_patch: float | None
    SC_mask: float | None
    NSC: float | None
    T1: float | None
    T1_after_T1: float | None
    NSC_patched: float | None
    SC_clean: float | None
    SC_elsewhere: float | None
    checkpoint_epoch: Epochs | None
    paired: bool

    def value(self, key: str) -> float | None:
        """A value by its name in the card."""
        value: float | None = getattr(self, key)
        return value


class TaskIncremental(CardPart):
    """Accuracies of a model that chooses among the classes of the image's own phase."""

    SC_patch: Summary
    SC_mask: Summary
    NSC: Summary
    T1: Summary
    T1_after_T1: Summary

    def accuracy(self, key: str) -> Summary:
        summary: Summary = getattr(self, key)
        return summary


class ContinualMetrics(CardPart):
    """The usual metrics of continual learning, from the accuracy on both phases after both phases."""

    average_accuracy: Summary
    BWT: Summary
    FWT: Summary
    forgetting: Summary
    intransigence: Summary

    def metric(self, key: str) -> Summary:
        summary: Summary = getattr(self, key)
        return summary


class RigidityMethod(MethodRecord):
    """One method over its seeds. The baseline has no pattern.

    - ``delta_paired``, ``delta_S_paired``: where a verdict needs all deltas on the seeds of SFR_rel, and these are fewer.
    - ``AD_tau``: the delays by threshold. ``groups``: the accuracy on every group of test images.
    - ``_within``: from the largest logit among the split's own classes.
    - ``PD_specific``: PD minus PD on the classes without the cue. ``share_lost``: 1 - masked / patched.
    - ``why_undefined``: the reason for what is null.
    - ``saturated``: neither model is above the floor with the cue covered, so the relative facets are uninformative.
    - ``p``: the largest of the conditions' p; ``p_holm``: corrected for the number of methods.
    - ``error_rate``: the false-positive rate of a conclusive verdict of this name.
    """

    AD: DelaySummary
    PD: Summary
    SFR_rel: Summary
    CSR_rel: Summary
    delta_S: Summary
    delta: Summary
    SC_patch: Summary
    SC_mask: Summary
    NSC: Summary
    T1: Summary
    T1_after_T1: Summary
    NSC_patched: Summary
    SC_clean: Summary
    SC_elsewhere: Summary
    share_lost: Summary | None = None
    PD_NSC: Summary | None = None
    PD_specific: Summary | None = None
    SFR_rel_within: Summary | None = None
    delta_within: Summary | None = None
    SC_patch_within: Summary | None = None
    SC_mask_within: Summary | None = None
    NSC_within: Summary | None = None
    groups: Mapping[str, Summary] = Field(default_factory=dict)
    why_undefined: Mapping[str, str] = Field(default_factory=dict)
    delta_paired: Summary | None = None
    delta_S_paired: Summary | None = None
    task_incremental: TaskIncremental | None = None
    AD_tau: Mapping[str, Delay]
    pattern: Pattern | None = None
    certainty: Certainty | None = None
    p: float | None = None
    p_holm: float | None = None
    saturated: bool = False
    unlearned: bool = False
    high_rigidity: bool | None = None
    high_rigidity_certainty: Certainty | None = None
    verdict: str | None = None
    error_rate: str | None = None
    conditions: tuple[Comparison, ...] = ()
    next_probe: str | None = None
    tests: Mapping[str, PairedTest]
    survival: Survival | None = None
    continual: ContinualMetrics
    continual_task: ContinualMetrics | None = None
    per_seed: Mapping[int, SeedRecord]

    def facet(self, key: str) -> Summary:
        """A facet or an accuracy by its name in the card."""
        summary: Summary | None = getattr(self, key)
        return Summary(None, None, 0, None, "none") if summary is None else summary

    def deciding(self, key: str) -> Summary:
        """A facet as the verdict uses it: Delta and Delta_S on the seeds that SFR_rel rests on."""
        paired: Summary | None = getattr(self, f"{key}_paired", None)
        return self.facet(key) if paired is None else paired

    @property
    def shown_certainty(self) -> Certainty | None:
        """The certainty of the pattern; None if no pattern was found, unless there are too few seeds."""
        return None if self.pattern == "ambiguous" and self.n_seeds >= FEWEST_SEEDS else self.certainty


@dataclass(frozen=True)
class Masking:
    """How many images a run got right with the cue, with it covered, with both, with neither; and McNemar's test."""

    n: int
    both_right: int
    only_patched: int
    only_masked: int
    both_wrong: int
    p: float
    p_holm: float | None = None


class Pull(CardPart):
    """NSC images assigned to a shortcut class without the cue and with it, and McNemar's test of the difference."""

    n: int
    without_cue: float
    with_cue: float
    only_without: int
    only_with: int
    p: float
    p_holm: float | None = None
    difference: float


class CueEffect(CardPart):
    """One run: accuracy on the SC images by where the cue is, and the pull on NSC images; None where not stored."""

    SC_patch: float | None = None
    SC_elsewhere: float | None = None
    SC_mask: float | None = None
    SC_clean: float | None = None
    NSC_called_SC: float | None = None
    NSC_patched_called_SC: float | None = None
    pull: float | None = None
    pull_test: Pull | None = None

    def value(self, key: str) -> float | None:
        value: float | None = getattr(self, key)
        return value


class CueEffectOverSeeds(CardPart):
    """Effects of the cue on images, over one method's runs."""

    n_seeds: int
    SC_patch: Summary
    SC_elsewhere: Summary
    SC_mask: Summary
    SC_clean: Summary
    NSC_called_SC: Summary
    NSC_patched_called_SC: Summary
    pull: Summary
    per_seed: Mapping[int, CueEffect]

    def summary(self, key: str) -> Summary:
        summary: Summary = getattr(self, key)
        return summary


class PerImage(CardPart):
    """Results from per-image predictions: McNemar counts by method and seed, cue effects by method."""

    masking: Mapping[str, Mapping[int, Masking]]
    cue_effect: Mapping[str, CueEffectOverSeeds]


class AttentionEstimate(CardPart):
    """A measure of attention over seeds."""

    mean: float | None
    sd: float | None
    n: int


class AttentionMeasures(CardPart):
    """The seven measures of attention, over seeds."""

    AS_cue: AttentionEstimate
    AS_clean: AttentionEstimate
    AS_masked: AttentionEstimate
    SAG: AttentionEstimate
    CTAS: AttentionEstimate
    CTAS_own: AttentionEstimate
    ADI: AttentionEstimate

    def measure(self, key: str) -> AttentionEstimate:
        estimate: AttentionEstimate = getattr(self, key)
        return estimate


class AttentionHead(AttentionMeasures):
    """The measures of one head of one layer; head ``mean``: the mean map over the heads of a layer."""

    layer: str
    head: str


class AttentionOfSeed(CardPart):
    """The measures of one run, and the effective epoch they were taken at."""

    AS_cue: float | None
    AS_clean: float | None
    AS_masked: float | None
    SAG: float | None
    CTAS: float | None
    CTAS_own: float | None
    ADI: float | None
    epoch: float | None


class AttentionOfMethod(CardPart):
    """Attention of one method, by roll-out and head by head, with the reason for every gap."""

    n_seeds: int
    rollout: AttentionMeasures
    why_undefined: Mapping[str, str]
    heads: tuple[AttentionHead, ...]
    per_seed: Mapping[int, AttentionOfSeed]


class AttentionRecord(CardPart):
    """Attention at the end of T2."""

    at: Literal["the end of T2"] = "the end of T2"
    methods: Mapping[str, AttentionOfMethod]


class PrintedNumber(CardPart):
    """Mean and standard deviation as they are printed."""

    mean: float
    sd: float


class ReportedNumbers(CardPart):
    """What the paper prints for those of its methods that the study has."""

    source: str
    methods: Mapping[str, Mapping[str, PrintedNumber]]


class StreamFacts(CardPart):
    """Facts from the stream's proof: chance, the accuracy reachable from the cue alone, and the trained phases."""

    chance: float | None = None
    chance_task: float | None = None
    cue_alone: float | None = None
    phases: tuple[str, ...] = ()

    @property
    def outputs(self) -> int | None:
        """The number of classes in the head."""
        return round(1 / self.chance) if self.chance else None

    @property
    def t1_classes(self) -> int | None:
        """The number of classes of T1: with two phases, the rest of the head is T1's."""
        if self.outputs is None or not self.chance_task or set(self.phases) != {"T1", "T2"}:
            return None
        return self.outputs - round(1 / self.chance_task) or None


class BesideFinding(CardPart):
    """Another effect of the cue on a method: a value, its interval and its meaning."""

    method: str
    kind: Literal["specific", "pull", "placement"]
    value: float
    ci95: tuple[float, float] | None
    n: int
    text: str


class ProbeLine(CardPart):
    """Whether a probe supports one method's verdict, contradicts it or neither, by its contrast with the baseline.

    ``value``: the mean over seeds of the contrast, which is above 0 where the probe points to more reliance on the cue.
    """

    method: str
    probe: str
    speaks: Literal["for", "against", "neither"]
    text: str
    value: float | None
    ci95: tuple[float, float] | None
    n: int


class ProbeRow(CardPart):
    """What a probe measured on the runs of one method: of which layer, net, split or change, and its values over seeds."""

    method: str
    of: Mapping[str, str]
    values: Mapping[str, Summary]


class Corroboration(CardPart):
    """Probe results: a line per method and probe, and the next command to run for an ambiguous verdict."""

    measured: Mapping[str, tuple[ProbeRow, ...]] = Field(default_factory=dict)
    lines: tuple[ProbeLine, ...] = ()
    next_command: Mapping[str, str] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def lines_of(self, method: str) -> list[ProbeLine]:
        return [line for line in self.lines if line.method == method]


class RigidityCard(Card):
    """The Einstellung Rigidity Index of a timeline, with settings and checks.

    ``per_image``, ``attention``, ``corroboration``, ``reported`` and ``stream_facts`` are null where there is no evidence.
    ``proxy``: why its numbers are proxies; null where the cue is known. ``phases``: of a stream of more than two phases, every
    phase with a cue; null with two. The rest of the card is then about one of them, in the role of T2, after all earlier ones.
    """

    kind: Literal["rigidity"] = "rigidity"
    schema_version: int = 2
    variant: Literal["paper"] = "paper"
    tau: float
    window: int
    smoothing: Smoothing
    final: FinalRule
    margins: Margins
    tau_grid: tuple[float, ...]
    floor: Floor
    methods: Mapping[str, RigidityMethod]
    besides: tuple[BesideFinding, ...] = ()
    per_image: PerImage | None = None
    attention: AttentionRecord | None = None
    corroboration: Corroboration | None = None
    reported: ReportedNumbers | None = None
    stream_facts: StreamFacts | None = None
    proxy: str | None = None
    phases: ManyPhases | None = None

    @property
    def is_compared(self) -> bool:
        """Whether there is a baseline and something to compare with it."""
        return self.has_baseline and len(self.methods) > 1
