"""What the gate found: plain records, written as ``gate.json``, with the verdict first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Verdict = Literal["pass", "fail", "inconclusive"]
OnInconclusive = Literal["report", "pass", "fail"]
Interval = tuple[float, float]
FORMAT: Literal[1] = 1
GATE_FILE, PAGE_FILE = "gate.json", "gate.html"
_EXIT_CODES = {"pass": 0, "fail": 1, "inconclusive": 3}


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Limits(_Record):
    """What an update may do: ``max_flips`` None is no limit."""

    max_delta: float
    max_flips: float | None


class FlipShare(_Record):
    """Shares of ``n`` examples that were right before and are wrong after (``negative``), and the reverse (``positive``).

    ``ci95``: exact interval of the negative flips.
    """

    n: int
    negative: float
    ci95: Interval
    positive: float


class AccuracyChange(_Record):
    """Accuracy of both models under one condition; ``ci95`` of the change, paired by example."""

    n: int
    before: float
    after: float
    change: float
    ci95: Interval


class Slice(_Record):
    """The examples of one group or class. ``ci95`` is simultaneous over all rows of the table, ``p_holm`` is adjusted."""

    name: str
    n: int
    accuracy_before: float
    accuracy_after: float
    negative_flips: float
    delta_before: float
    delta_after: float
    rise: float
    ci95: Interval
    p: float
    p_holm: float


class Slices(_Record):
    """All slices, highest rise first. ``left_out``: how many have too few examples."""

    worst: str | None
    lowest_accuracy: str | None
    rows: tuple[Slice, ...]
    left_out: int
    fewest: int


class CalibrationChange(_Record):
    """Expected calibration error and Brier score of both models under one condition.

    ``brier``: over all classes where each has a probability, otherwise of the prediction being right.
    """

    n: int
    ece_before: float
    ece_after: float
    brier: Literal["all classes", "prediction"]
    brier_before: float
    brier_after: float
    brier_ci95: Interval | None


class Relative(_Record):
    """Reliance relative to a model trained from scratch on the same examples: SFR_rel = Delta - Delta of that model."""

    delta_baseline: float
    sfr_rel_before: float
    sfr_rel_before_ci95: Interval
    sfr_rel_after: float
    sfr_rel_after_ci95: Interval


class SeedRow(_Record):
    """One pair of models."""

    seed: str
    delta_before: float
    delta_after: float
    rise: float


class GateResult(_Record):
    """The gate's answer, as JSON by :meth:`to_json`.

    Delta is the accuracy with the cue minus the accuracy on the same examples with the cue covered; ``rise`` is Delta after minus
    Delta before, with its 95 % interval paired by example (``ci95``) and the p of the test that it is 0.
    """

    format: Literal[1] = FORMAT
    verdict: Verdict
    summary: str
    checks: Mapping[str, Verdict]
    delta_before: float
    delta_before_ci95: Interval
    delta_after: float
    delta_after_ci95: Interval
    rise: float
    ci95: Interval
    p: float
    n: int
    flips: Mapping[str, FlipShare]
    accuracy: Mapping[str, AccuracyChange]
    groups: Mapping[str, Slices]
    limits: Limits
    baseline: Relative | None = None
    calibration: Mapping[str, CalibrationChange] = Field(default_factory=dict)
    seeds: tuple[SeedRow, ...] = ()
    warnings: tuple[str, ...] = ()
    sources: Mapping[str, str] = Field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<GateResult: {self.summary}>"

    def exit_code(self, inconclusive: OnInconclusive = "report") -> int:
        """0 passes, 1 fails, 3 is inconclusive, unless ``inconclusive`` counts that as ``pass`` or ``fail``."""
        counted = inconclusive if self.verdict == "inconclusive" and inconclusive != "report" else self.verdict
        return _EXIT_CODES[counted]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return self.model_dump(mode="json")

    def save(self, folder: Path | str) -> Path:
        """Write ``gate.json``, ``gate.md``, ``gate.xml`` (JUnit) and ``gate.html``; return the page."""
        from einstellung.gating.writing import write_gate

        return write_gate(Path(folder), self)

    def _repr_html_(self) -> str:
        from einstellung.gating.page import fragment

        return fragment(self)

    def _repr_markdown_(self) -> str:
        from einstellung.gating.markdown import to_pull_request

        return to_pull_request(self)
