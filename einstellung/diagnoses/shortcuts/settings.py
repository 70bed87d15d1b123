"""What the user may choose about the score of several shortcuts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from einstellung.diagnoses.rigidity.settings import ScoreSettings
from einstellung.errors import InputError
from einstellung.metrics.curves import Smoothing

DEFAULT_BASELINE = "erm"
DEFAULT_TAU = 0.9
SCRATCH = ("scratch", "scratch_t2")
ShortcutFinal = Literal["auto", "last", "worst-group"]
ShortcutRule = Literal["last", "worst-group"]


@dataclass(frozen=True)
class ShortcutSettings:
    """Settings of :func:`einstellung.diagnoses.shortcuts.score.shortcut_score`.

    ``margin``: how much a gap must differ from the baseline's to count. ``level``: ID accuracy below which a method did not
    learn the task and is not judged. ``final``: which epoch of the last phase counts: ``last``, ``worst-group`` (the highest
    worst-group validation accuracy), or ``auto`` (the latter where there is one phase and every run measured it at two epochs
    or more). Of earlier phases the last epoch counts, since the next phase began with it. ``baseline=None`` means ``erm`` where
    it is there.

    >>> ShortcutSettings(margin=0.7)
    Traceback (most recent call last):
    einstellung.errors.InputError: margin is 0.7: a number from 0 and below 0.5 is needed
    """

    baseline: str | None = None
    final: ShortcutFinal = "auto"
    margin: float = 0.02
    level: float = ScoreSettings.level
    tau: float = DEFAULT_TAU
    window: int = 3
    smoothing: Smoothing = "trailing"

    def __post_init__(self) -> None:
        if not 0 <= self.margin < 0.5:
            raise InputError(f"margin is {self.margin:g}: a number from 0 and below 0.5 is needed")
        for name, value in (("tau", self.tau), ("level", self.level)):
            if not 0 < value <= 1:
                raise InputError(f"{name} is {value:g}: a number above 0 and up to 1 is needed")
        if self.final not in get_args(ShortcutFinal):
            raise InputError(f"final is '{self.final}': choose one of {', '.join(get_args(ShortcutFinal))}")

    @staticmethod
    def of_score(settings: ScoreSettings) -> ShortcutSettings:
        """The same choices as for the index, as far as they mean anything here; the margin is that of PD."""
        if settings.final == "best-val":
            raise InputError("final 'best-val' has no meaning for several shortcuts: choose last or worst-group")
        return ShortcutSettings(
            baseline=settings.baseline,
            final=settings.final,
            margin=settings.margins.PD,
            level=settings.level,
            tau=settings.tau,
            window=settings.window,
            smoothing=settings.smoothing,
        )

    def to_dict(self) -> dict[str, Any]:
        names = ("margin", "level", "tau", "window", "smoothing")
        return {name: getattr(self, name) for name in names}
