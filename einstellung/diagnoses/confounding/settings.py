"""Settings of the diagnosis of confounded tasks."""

from __future__ import annotations

from pydantic import Field, field_validator

from einstellung.diagnoses.settings import Settings
from einstellung.metrics.curves import Smoothing

DEFAULT_BASELINE = "scratch"
CHANCE = 0.5  # accuracy is the mean of positives and negatives


class ConfoundingSettings(Settings):
    """Settings of the diagnosis; every accuracy is taken at the last epoch of a phase."""

    baseline: str | None = Field(
        default=None,
        description=f"The method retrained from scratch in every phase; {DEFAULT_BASELINE} if it was run.",
    )
    tau: float = Field(default=0.9, description="Accuracy on a task at which the adaptation delay ends.")
    window: int = Field(default=3, description="Width of the smoothing window in epochs.")
    smoothing: Smoothing = Field(default="trailing", description="Smoothing of curves: trailing, centred or none.")
    margin: float = Field(
        default=0.1,
        description="How far below the ceiling unconfounded accuracy must be for a method to count as confounded.",
    )
    level: float = Field(default=0.75, description="Accuracy required on each of a method's tasks for a verdict.")

    @field_validator("tau", "level")
    @classmethod
    def _above_chance(cls, value: float) -> float:
        if not CHANCE < value <= 1:
            raise ValueError(f"a number above chance ({CHANCE:g}) and up to 1 is needed")
        return value

    @field_validator("margin")
    @classmethod
    def _below_chance(cls, value: float) -> float:
        if not 0 < value < 1 - CHANCE:
            raise ValueError(f"a number above 0 and below {1 - CHANCE:g} is needed")
        return value

    @field_validator("window")
    @classmethod
    def _whole_epochs(cls, value: int) -> int:
        if value < 1:
            raise ValueError("give a whole number of epochs, at least 1")
        return value
