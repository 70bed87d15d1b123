"""Settings of the diagnosis of several shortcuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from einstellung.diagnoses.settings import Names, Settings
from einstellung.errors import InputError
from einstellung.metrics.curves import Smoothing

DEFAULT_BASELINE = "erm"
SCRATCH = ("scratch", "scratch_t2")
SelectionRule = Literal["last", "worst-group"]
_HOW = "give the share of images in which each cue is common, e.g. .95,.95, or one list per phase, .95,.5/.5,.95"

#: One list for all phases, a list for each of them, or lists by the name of the phase.
Correlations = Sequence[float] | Sequence[Sequence[float]] | Mapping[str, Sequence[float]]


def _shares(value: Any) -> tuple[float, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Sequence) or not parts or any(isinstance(part, bool) for part in parts):
        raise ValueError(_HOW)
    try:
        return tuple(float(part) for part in parts)
    except (TypeError, ValueError):
        raise ValueError(_HOW) from None


def _correlations(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        value = value.split("/")
    if isinstance(value, Mapping):
        return {str(phase): _shares(found) for phase, found in value.items()}
    if isinstance(value, Sequence) and value and all(isinstance(part, str | Sequence) for part in value):
        return tuple(_shares(part) for part in value)
    return (_shares(value),)


class ShortcutsSettings(Settings):
    """Settings of a study of several shortcuts."""

    baseline: str | None = Field(
        default=None, description=f"The method that all others are compared with; {DEFAULT_BASELINE} if it was run."
    )
    final: Literal["auto", "last", "worst-group"] = Field(
        default="auto",
        description="The scored epoch of the last phase: the last one (last), the one with the best worst-group validation "
        "accuracy (worst-group), or worst-group if there is one phase and every run measured at least two epochs (auto).",
    )
    margin: float = Field(
        default=0.02,
        ge=0,
        lt=0.5,
        description="How much the reliance on a cue must differ from the baseline's to count.",
    )
    level: float = Field(
        default=0.75,
        gt=0,
        le=1,
        description="ID accuracy required for a verdict.",
    )
    tau: float = Field(default=0.9, gt=0, le=1, description="ID accuracy at which the adaptation delay ends.")
    window: int = Field(default=3, ge=1, description="Width of the smoothing window in epochs.")
    smoothing: Smoothing = Field(default="trailing", description="Smoothing of curves: trailing, centred or none.")
    cues: Names | None = Field(default=None, description="Names of the cues, in the order of the digits of a pattern.")
    correlations: Annotated[
        Mapping[str, tuple[float, ...]] | tuple[tuple[float, ...], ...] | None, BeforeValidator(_correlations)
    ] = Field(
        default=None,
        description="Share of training images in which each cue is common: one list (.95,.95), or one for each phase "
        "(.95,.5/.5,.95).",
    )


def correlations_by_phase(
    correlations: Correlations | None, phases: Sequence[str], cues: int
) -> dict[str, tuple[float, ...]]:
    """The correlations of every phase that they are known of.

    >>> correlations_by_phase([0.95, 0.9], ["T1", "T2"], 2)
    {'T1': (0.95, 0.9), 'T2': (0.95, 0.9)}
    >>> correlations_by_phase([[0.95, 0.5], [0.5, 0.95]], ["T1", "T2"], 2)
    {'T1': (0.95, 0.5), 'T2': (0.5, 0.95)}
    """
    given: Any = _correlations(correlations)
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if len(given) not in (1, len(phases)):
            raise InputError(
                f"{len(given)} lists of correlations for the {len(phases)} phases {', '.join(phases)}: give one, or one each"
            )
        given = dict(zip(phases, given if len(given) > 1 else given * len(phases), strict=True))
    for phase, found in given.items():
        if len(found) != cues:
            raise InputError(f"{len(found)} correlations of {phase} for {cues} cues: one for each cue is needed")
    return {phase: given[phase] for phase in phases if phase in given}
