"""What the user may choose about scoring, with the paper's choices as defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from einstellung.errors import InputError
from einstellung.metrics.curves import TOLERANCE, Smoothing

Final = Literal["auto", "last", "best-val", "worst-group"]
FinalRule = Literal["last", "best-val"]

DEFAULT_BASELINE = "scratch_t2"
DEFAULT_TAU_GRID = (0.30, 0.35, 0.40, 0.45, 0.50, 0.55, 0.60)


def tau_name(tau: float) -> str:
    """A threshold as a key: two decimals, more only where two would not name it.

    >>> tau_name(0.3), tau_name(0.35000000000000003), tau_name(0.125)
    ('0.30', '0.35', '0.125')
    """
    return f"{tau:.2f}" if abs(tau - round(tau, 2)) <= TOLERANCE else f"{tau:.10g}"


@dataclass(frozen=True)
class Margins:
    """How large a facet must be to count: effective epochs for AD, accuracy for PD and SFR_rel."""

    AD: float = 1.0
    PD: float = 0.02
    SFR: float = 0.02

    def __post_init__(self) -> None:
        for name in ("AD", "PD", "SFR"):
            value = getattr(self, name)
            if not (value >= 0 and value < float("inf")):
                raise InputError(f"margin {name} is {value}: a number from 0 up is needed")

    def to_dict(self) -> dict[str, float]:
        return {"AD": self.AD, "PD": self.PD, "SFR_rel": self.SFR}


@dataclass(frozen=True)
class ScoreSettings:
    """Settings of :func:`einstellung.diagnoses.rigidity.score.score`.

    ``baseline=None`` means the default name, whose absence is only a warning; a baseline that is named must be there.
    The grid of thresholds is kept rising, each of them once. ``level`` is the accuracy below which a task of confounded
    tasks, or a method of several shortcuts, counts as not learned; the index itself has no use for it.

    >>> ScoreSettings(tau_grid=(0.6, 0.3, 0.3)).tau_grid
    (0.3, 0.6)
    >>> ScoreSettings(tau=1.5)
    Traceback (most recent call last):
    einstellung.errors.InputError: tau is 1.5: a number above 0 and up to 1 is needed
    """

    baseline: str | None = None
    tau: float = 0.6
    window: int = 3
    smoothing: Smoothing = "trailing"
    tau_grid: tuple[float, ...] = DEFAULT_TAU_GRID
    final: Final = "auto"
    margins: Margins = field(default_factory=Margins)
    guide_threshold: float = 0.8
    level: float = 0.75

    def __post_init__(self) -> None:
        for name, tau in [
            ("tau", self.tau),
            ("guide threshold", self.guide_threshold),
            ("level", self.level),
            *(("tau grid", tau) for tau in self.tau_grid),
        ]:
            if not 0 < tau <= 1:
                raise InputError(f"{name} is {tau}: a number above 0 and up to 1 is needed")
        if not self.tau_grid:
            raise InputError("the tau grid is empty: at least one threshold is needed")
        once = {tau_name(tau): tau for tau in sorted(self.tau_grid, reverse=True)}
        object.__setattr__(self, "tau_grid", tuple(sorted(once.values())))
        if self.window != int(self.window) or self.window < 1:
            raise InputError(f"window is {self.window}: a whole number of epochs from 1 up is needed")
        for name, value, choices in (
            ("smoothing", self.smoothing, get_args(Smoothing)),
            ("final", self.final, get_args(Final)),
        ):
            if value not in choices:
                raise InputError(f"{name} is '{value}': choose one of {', '.join(choices)}")
