"""What the user may choose about the score of confounded tasks."""

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
        description=f"The method that starts fresh in every phase ('{DEFAULT_BASELINE}' where it is there).",
    )
    tau: float = Field(default=0.9, description="Accuracy on a task that counts as reached for the adaptation delay.")
    window: int = Field(default=3, description="How many epochs curves are smoothed over.")
    smoothing: Smoothing = Field(default="trailing", description="How curves are smoothed: trailing, centred or none.")
    margin: float = Field(
        default=0.1,
        description="How far unconfounded accuracy must stay below the ceiling for a method to be confounded.",
    )
    level: float = Field(
        default=0.75, description="Accuracy that each of its own tasks must have reached for a method to be judged."
    )

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
            raise ValueError("a whole number of epochs from 1 up is needed")
        return value
