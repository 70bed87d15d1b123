"""The guide's card and settings: its variant of the index for a timeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from einstellung.diagnoses.card import Card, MethodRecord
from einstellung.diagnoses.settings import Settings

THRESHOLD = 0.8
GUIDE_METRICS = ("adaptation_delay", "performance_deficit", "shortcut_feature_reliance", "eri_score")
T1_AFTER_T1 = "T1_all_after_T1"


class GuideSettings(Settings):
    """Settings of the guide's score. Only the checks use the baseline."""

    guide_threshold: float = Field(
        default=THRESHOLD, gt=0, le=1, description="Accuracy on T1_all at which the guide's delay ends."
    )
    final: Literal["auto", "last", "best-val"] = Field(default="auto", description="The scored epoch of T2.")


@dataclass(frozen=True)
class GuideRun:
    """The guide's metrics of one run, with the reason if its score is undefined.

    ``accuracies``: the guide's four subsets at the final checkpoint, but T1_all at the end of T2; and under
    ``T1_all_after_T1`` that of T1 at its own end.
    """

    adaptation_delay: float | None
    performance_deficit: float | None
    shortcut_feature_reliance: float | None
    eri_score: float | None
    checkpoint_epoch: float | None
    accuracies: Mapping[str, float | None]
    why_undefined: str | None

    def to_dict(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in (*GUIDE_METRICS, "checkpoint_epoch")}
        return {**numbers, "accuracies": dict(self.accuracies), "why_undefined": self.why_undefined}


@dataclass(frozen=True)
class GuideEstimate:
    """Mean, standard deviation (ddof 1), smallest and largest of the defined values, and how many they are."""

    mean: float | None
    sd: float | None
    min: float | None
    max: float | None
    n: int


class GuideMethod(MethodRecord):
    """One method over its seeds."""

    adaptation_delay: GuideEstimate
    performance_deficit: GuideEstimate
    shortcut_feature_reliance: GuideEstimate
    eri_score: GuideEstimate
    band: str | None
    why_undefined: str | None
    per_seed: dict[str, GuideRun]


class GuideCard(Card):
    """The guide's variant of the index for a whole timeline."""

    kind: Literal["guide"] = "guide"
    schema_version: int = 1
    variant: Literal["guide"] = "guide"
    final: Literal["last", "best-val"]
    threshold: float
    methods: dict[str, GuideMethod]
