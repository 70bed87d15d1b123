"""Settings of the rigidity index; the defaults are the paper's."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
)

from einstellung.diagnoses.settings import Grid, Settings
from einstellung.metrics.curves import TOLERANCE, Smoothing

Final = Literal["auto", "last", "best-val"]
FinalRule = Literal["last", "best-val"]

DEFAULT_BASELINE = "scratch_t2"


def tau_name(tau: float) -> str:
    """A threshold as a key: two decimals, more only where two would not name it.

    >>> tau_name(0.3), tau_name(0.35000000000000003), tau_name(0.125)
    ('0.30', '0.35', '0.125')
    """
    return f"{tau:.2f}" if abs(tau - round(tau, 2)) <= TOLERANCE else f"{tau:.10g}"


class Margins(BaseModel):
    """How large a facet must be to count: effective epochs for AD, accuracy for PD and SFR_rel."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    AD: float = Field(default=1.0, ge=0)
    PD: float = Field(default=0.02, ge=0)
    SFR_rel: float = Field(default=0.02, ge=0)

    def __str__(self) -> str:
        return f"{self.AD:g},{self.PD:g},{self.SFR_rel:g}"

    def of(self, facet: str) -> float | None:
        """The margin of a facet; None where it has none."""
        margin: float | None = getattr(self, facet) if facet in type(self).model_fields else None
        return margin


def _margins(value: Any) -> Any:
    """Three numbers, or text such as ``1,0.02,0.02``, by the names of their facets."""
    numbers = value.split(",") if isinstance(value, str) else value
    if not isinstance(numbers, list | tuple):
        return value
    if len(numbers) != len(Margins.model_fields):
        raise ValueError("give three non-negative numbers for AD, PD and SFR_rel, e.g. 1,0.02,0.02")
    return dict(zip(Margins.model_fields, numbers, strict=True))


class RigiditySettings(Settings):
    """Settings of the rigidity index.

    ``baseline=None`` means scratch_t2, whose absence is only a warning; a baseline that is named must be there. The grid of
    thresholds is kept rising, each of them once.

    >>> RigiditySettings(tau_grid="0.6,0.3,0.3").tau_grid
    (0.3, 0.6)
    >>> RigiditySettings(margins="2,0.05,0.1").margins.PD
    0.05
    """

    tau: float = Field(default=0.6, description="Accuracy at which the adaptation delay ends.")
    window: int = Field(default=3, ge=1, description="Width of the smoothing window in epochs.")
    smoothing: Smoothing = Field(default="trailing", description="Smoothing of curves: trailing, centred or none.")
    tau_grid: Grid = Field(
        default=(0.30, 0.35, 0.40, 0.45, 0.50, 0.55, 0.60),
        description="Additional thresholds for reporting delays: numbers, or first:last:step.",
    )
    final: Final = Field(
        default="auto",
        description="The scored checkpoint: the one with the best validation accuracy (best-val), the last one (last), or "
        "best-val if every run has a validation curve (auto).",
    )
    margins: Annotated[Margins, BeforeValidator(_margins)] = Field(
        default=Margins(), description="Smallest AD, PD and SFR_rel that count as a difference."
    )

    classes: int | None = Field(
        default=None,
        ge=2,
        description="Number of classes in the head, for chance and the floor of masked accuracies; results of `einstellung "
        "run` record it.",
    )

    phase: str | None = Field(
        default=None,
        description="The phase that verdicts, figures and tables are about, in a stream of many.  [default: the last one "
        "with a cue]",
    )

    @model_serializer(mode="wrap")
    def _without_phase(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """``phase`` stands in a configuration only where it was chosen."""
        found: dict[str, Any] = handler(self)
        return (
            found if found.get("phase") is not None else {key: value for key, value in found.items() if key != "phase"}
        )

    @field_validator("tau")
    @classmethod
    def _is_accuracy(cls, value: float) -> float:
        if not 0 < value <= 1:
            raise ValueError("a number above 0 and up to 1 is needed")
        return value

    @field_validator("tau_grid")
    @classmethod
    def _rising(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if not values:
            raise ValueError("at least one threshold is needed")
        if not all(0 < value <= 1 for value in values):
            raise ValueError("numbers above 0 and up to 1 are needed")
        once = {tau_name(tau): tau for tau in sorted(values, reverse=True)}
        return tuple(sorted(once.values()))
