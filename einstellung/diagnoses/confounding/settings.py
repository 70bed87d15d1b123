"""What the user may choose about the score of confounded tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from einstellung.diagnoses.rigidity.settings import ScoreSettings
from einstellung.errors import InputError
from einstellung.metrics.curves import Smoothing

DEFAULT_BASELINE = "scratch"
DEFAULT_TAU = 0.9


@dataclass(frozen=True)
class ConfoundingSettings:
    """Settings of :func:`einstellung.diagnoses.confounding.score.confounding_score`.

    ``margin``: how far unconfounded accuracy must stay below the ceiling for a method to be confounded. ``level``: the accuracy
    that each of its own tasks must have reached for anything to be concluded. ``baseline=None`` means ``scratch`` where it is
    there.

    >>> ConfoundingSettings(margin=0.6)
    Traceback (most recent call last):
    einstellung.errors.InputError: margin is 0.6: a number above 0 and below 0.5 is needed
    """

    baseline: str | None = None
    tau: float = DEFAULT_TAU
    window: int = 3
    smoothing: Smoothing = "trailing"
    margin: float = 0.1
    level: float = ScoreSettings.level
    chance: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.margin < 1 - self.chance:
            raise InputError(
                f"margin is {self.margin:g}: a number above 0 and below {1 - self.chance:g} is needed",
            )
        for name, value in (("tau", self.tau), ("level", self.level)):
            if not self.chance < value <= 1:
                raise InputError(
                    f"{name} is {value:g}: a number above chance ({self.chance:g}) and up to 1 is needed",
                )

    @staticmethod
    def of_score(settings: ScoreSettings) -> ConfoundingSettings:
        """The same choices as for the index, as far as they mean anything here: every value is of a phase's last epoch."""
        if settings.final in ("best-val", "worst-group"):
            raise InputError(
                f"final '{settings.final}' has no meaning for confounded tasks: the last epoch of every phase counts"
            )
        return ConfoundingSettings(
            baseline=settings.baseline,
            tau=settings.tau,
            window=settings.window,
            smoothing=settings.smoothing,
            level=settings.level,
        )

    def to_dict(self) -> dict[str, Any]:
        names = ("tau", "window", "smoothing", "margin", "level", "chance")
        return {name: getattr(self, name) for name in names}
