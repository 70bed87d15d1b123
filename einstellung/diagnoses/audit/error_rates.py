"""How often an audit accuses a clean net, and how often it finds a cue; measured by ``python -m benchmarks audit``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from einstellung.diagnoses.wording import percent, points

FILE = Path(__file__).with_name("error_rates.yaml")


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class AlarmRate(_Part):
    """The share of clean nets with a finding, with its exact 95 % interval."""

    value: float
    ci95: tuple[float, float]
    nets: int


class DetectionRate(_Part):
    """The share of nets whose cue was found, among those whose cue is worth at least ``smallest_delta`` of accuracy."""

    share: float
    ci95: tuple[float, float]
    nets: int
    smallest_delta: float


class ErrorRates(_Part):
    """The file; a rate that was not measured yet is None."""

    alarm_rate: AlarmRate | None = None
    found: DetectionRate | None = None


@cache
def measured_rates() -> ErrorRates:
    return ErrorRates.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8")) or {})


def describe_alarms(rates: ErrorRates) -> str:
    """How far a finding can be trusted.

    >>> describe_alarms(ErrorRates())
    'How often a clean net is accused was not measured yet.'
    >>> describe_alarms(ErrorRates(alarm_rate=AlarmRate(value=0.02, ci95=(0.002, 0.07), nets=100)))
    'Of 100 clean nets, 2.0 % are accused (95 %: 0.2 % to 7.0 %).'
    """
    if (rate := rates.alarm_rate) is None:
        return "How often a clean net is accused was not measured yet."
    low, high = rate.ci95
    return f"Of {rate.nets} clean nets, {percent(rate.value)} are accused (95 %: {percent(low)} to {percent(high)})."


def describe_detection(rates: ErrorRates) -> str:
    """What a cue would have to be to be missed.

    >>> describe_detection(ErrorRates())
    'how often a cue would have been found was not measured yet'
    >>> describe_detection(ErrorRates(found=DetectionRate(share=0.95, ci95=(0.88, 0.98), nets=8, smallest_delta=0.1)))
    'a localised cue worth 10.0 points of accuracy or more was found in 95.0 % of 8 small nets (95 %: 88.0 % to 98.0 %)'
    """
    if (rate := rates.found) is None:
        return "how often a cue would have been found was not measured yet"
    low, high = rate.ci95
    return (
        f"a localised cue worth {points(rate.smallest_delta)} points of accuracy or more was found in "
        f"{percent(rate.share)} of {rate.nets} small nets (95 %: {percent(low)} to {percent(high)})"
    )
