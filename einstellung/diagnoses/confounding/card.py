"""The card of confounded tasks: what was measured of every method, its verdict, and what the paper reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import AliasChoices, Field

from einstellung.diagnoses.card import Card, CardPart, MethodRecord
from einstellung.metrics.curves import Smoothing
from einstellung.metrics.statistics import Summary

VerdictName = Literal[
    "insidiously confounded", "confounded", "not confounded", "tasks not learned", "undecided", "sanity check"
]


OrderEvidence = Literal["certain", "by the means only", "not conclusive", "ruled out"]


class LabelAccuracies(CardPart):
    """Accuracy on positives, on negatives, and the mean of both."""

    positive: Summary
    negative: Summary
    mean: Summary


class LabelCounts(CardPart):
    """Images of each label; None where they were not recorded or differ from run to run."""

    positive: int | None
    negative: int | None


class ImageCounts(CardPart):
    """Test images of the unconfounded set, and of all tasks together; None as in :class:`LabelCounts`."""

    unconfounded: int | None
    tasks: int | None


class ContinualMeasures(CardPart):
    """The usual summaries of an accuracy matrix."""

    average_accuracy: Summary
    BWT: Summary
    forgetting: Summary


class SeedFacets(CardPart):
    """Facets of a task for one seed; ``E``: effective epochs until the threshold."""

    AD: float | None
    E: float | None
    delta: float | None
    pull: float | None


class TaskFacets(CardPart):
    """Facets of a task over seeds. ``censored``: by seed, who never reached the threshold; ``why``: why a facet is undefined."""

    AD: Summary
    PD: Summary
    delta: Summary
    delta_S: Summary
    SFR_rel: Summary
    pull: Summary
    pull_S: Summary
    censored: Mapping[str, str]
    why: Mapping[str, str]
    per_seed: Mapping[str, SeedFacets]

    def summary(self, facet: str) -> Summary:
        """A facet by its name."""
        found: Summary = getattr(self, facet)
        return found


class TwinAccuracies(CardPart):
    """Accuracy on images that have a twin, and on the twins: the confounder taken away from positives, put into negatives."""

    positive_paired: Summary
    positive_twin: Summary
    negative_paired: Summary
    negative_twin: Summary

    def pair(self, label: str) -> tuple[Summary, Summary]:
        """The images as they are and their twins."""
        return getattr(self, f"{label}_paired"), getattr(self, f"{label}_twin")


class TaskTwins(CardPart):
    """The twins of a task: right after it was learned, at the very end, and how many there are."""

    learned: TwinAccuracies
    end: TwinAccuracies
    images: LabelCounts


class MethodMeasurements(MethodRecord):
    """What was measured of a method, before it is judged.

    ``matrix``: after a phase, on a task or the unconfounded set. ``current``: each task right after it was learned; ``old``: at
    the end, as ``T1@T3``. ``at_once``: all tasks in one phase, so that there is nothing to forget. ``generalisation_gap``:
    accuracy on training images minus that on test images, by task and at the ``end``.
    """

    at_once: bool
    matrix: Mapping[str, Mapping[str, LabelAccuracies]]
    current: Mapping[str, Summary]
    old: Mapping[str, Summary]
    unconfounded: Summary
    own_tasks: Summary
    own_gap: Summary
    images: ImageCounts
    forgetting: Mapping[str, Summary] | None
    continual: ContinualMeasures | None
    train: Mapping[str, Summary]
    generalisation_gap: Mapping[str, Summary]
    facets: Mapping[str, TaskFacets]
    twins: Mapping[str, TaskTwins]
    per_seed: Mapping[str, Mapping[str, float | None]]


class ConfoundingVerdict(CardPart):
    """A word for a method, the sentence behind it, and the gap that both rest on."""

    name: VerdictName
    sentence: str
    gap: float | None
    gap_ci95: tuple[float, float] | None
    interval: str | None
    against: Literal["ceiling", "own tasks"]
    seeds: int
    images: int | None


class ConfoundingMethod(MethodMeasurements):
    """A method with its verdict."""

    verdict: ConfoundingVerdict


class OrderEffect(CardPart):
    """Cumulative minus joint training in accuracy on unconfounded images, paired by seed: what the order of the tasks costs.

    ``half_width``: of the t interval before it is cut to what a difference of shares can be. ``p_below_margin``: one-sided t test
    that the mean is below the negative margin. ``evidence`` of insidious confounding: certain with at least three pairs, an
    interval below the negative margin and p <= .05; ruled out by an interval above it.
    """

    difference: Summary
    half_width: float | None
    per_seed: Mapping[str, float]
    p_below_margin: float | None
    margin: float
    evidence: OrderEvidence


class Ceiling(CardPart):
    """What a comparable model reaches when trained on the unconfounded set: its best method, and where that was measured."""

    mean: float
    sd: float | None
    n: int
    ci95: tuple[float, float] | None
    interval: str
    images: int | None
    method: str
    source: str

    @property
    def summary(self) -> Summary:
        return Summary(self.mean, self.sd, self.n, self.ci95, self.interval)


class Perception(CardPart):
    """Shares of unconfounded test images that slot attention reads right: the whole scene, or the ground truth."""

    whole_scenes: float
    ground_truth: float


class PaperEstimate(CardPart):
    """A number of the paper, as shares."""

    mean: float
    sd: float


class PaperResults(CardPart):
    """What the paper reports for a variant and a model, by method and column, and in what a study differs from its protocol."""

    source: str
    seeds: int
    methods: Mapping[str, Mapping[str, PaperEstimate]]
    ceiling: PaperEstimate | None
    differences: tuple[str, ...] = ()


class ConfoundingCard(Card):
    """All that is said of a study of confounded tasks.

    ``model``: NN (pixels) or NeSy (objects). ``ceiling_key``: equal for studies whose ceilings are comparable. ``order``: None
    where cumulative and joint training have no seed in common.
    """

    kind: Literal["confounding"] = "confounding"
    schema_version: int = 1
    variant: str | None
    model: str | None
    ceiling_key: str | None
    ground_truth: str | None
    confounders: tuple[str, ...]
    tasks: tuple[str, ...]
    tau: float
    window: int
    smoothing: Smoothing
    margin: float
    level: float
    chance: float
    final: Literal["last"] = "last"
    methods: Mapping[str, ConfoundingMethod]
    ceiling: Ceiling | None
    order: OrderEffect | None = None
    input_modality: str | None = Field(
        default=None, validation_alias=AliasChoices("input_modality", "sees"), serialization_alias="sees"
    )
    perceived: Perception | None = None
    reported: PaperResults

    @property
    def last_task(self) -> str:
        return self.tasks[-1]

    @property
    def confounder_of(self) -> dict[str, str]:
        """The confounder of every task, where it is known."""
        return dict(zip(self.tasks, self.confounders, strict=False))
