"""How often an audit accuses a clean net, and how often it finds a cue; measured by ``python -m benchmarks audit``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from einstellung.diagnoses.wording import percent, points
from einstellung.yaml_text import read_yaml

FILE = Path(__file__).with_name("error_rates.yaml")


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class AlarmRate(_Part):
    """The share of clean nets with a finding (or with a suspicion), with its exact 95 % interval."""

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
    suspicion_rate: AlarmRate | None = None
    found: DetectionRate | None = None


@cache
def measured_rates() -> ErrorRates:
    return ErrorRates.model_validate(read_yaml(FILE) or {})


def describe_alarms(rates: ErrorRates) -> str:
    """How far a finding can be trusted.

    >>> describe_alarms(ErrorRates())
    'The false-positive rate on clean networks has not been measured yet.'
    >>> describe_alarms(ErrorRates(alarm_rate=AlarmRate(value=0.02, ci95=(0.002, 0.07), nets=100)))
    'False-positive rate on 100 clean networks: 2.0 % (95 % interval 0.2 % to 7.0 %).'
    """
    if (rate := rates.alarm_rate) is None:
        return "The false-positive rate on clean networks has not been measured yet."
    low, high = rate.ci95
    bounds = f"{percent(low)} to {percent(high)}"
    return f"False-positive rate on {rate.nets} clean networks: {percent(rate.value)} (95 % interval {bounds})."


def describe_suspicions(rates: ErrorRates) -> str:
    """How little a suspicion alone says.

    >>> describe_suspicions(ErrorRates())
    'How often clean networks are suspected has not been measured yet.'
    >>> describe_suspicions(ErrorRates(suspicion_rate=AlarmRate(value=0.2, ci95=(0.127, 0.292), nets=100)))
    'Of 100 clean networks, 20.0 % are suspected as well (95 % interval 12.7 % to 29.2 %).'
    """
    if (rate := rates.suspicion_rate) is None:
        return "How often clean networks are suspected has not been measured yet."
    low, high = rate.ci95
    bounds = f"{percent(low)} to {percent(high)}"
    return f"Of {rate.nets} clean networks, {percent(rate.value)} are suspected as well (95 % interval {bounds})."


def describe_detection(rates: ErrorRates) -> str:
    """What a cue would have to be to be missed.

    >>> describe_detection(ErrorRates())
    'the detection rate has not been measured yet'
    >>> print(describe_detection(ErrorRates(found=DetectionRate(share=0.95, ci95=(0.88, 0.98), nets=8, smallest_delta=0.1))))
    a localised cue worth 10.0 points of accuracy or more was found in 95.0 % of 8 small networks (95 % interval 88.0 % to 98.0 %)
    """
    if (rate := rates.found) is None:
        return "the detection rate has not been measured yet"
    low, high = rate.ci95
    return (
        f"a localised cue worth {points(rate.smallest_delta)} points of accuracy or more was found in "
        f"{percent(rate.share)} of {rate.nets} small networks (95 % interval {percent(low)} to {percent(high)})"
    )
