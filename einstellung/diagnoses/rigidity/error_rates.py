"""How often a certain verdict is false, from null studies; measured by ``python -m benchmarks verdicts``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from einstellung.diagnoses.rigidity.card import RigidityCard, RigidityMethod
from einstellung.diagnoses.wording import percent

FILE = Path(__file__).with_name("error_rates.yaml")


@cache
def measured_rates() -> Mapping[str, Any]:
    """The measured rates: ``false_alarms`` and ``power`` by verdict and number of seeds, each with its interval."""
    rates: Mapping[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return rates


def measured_size(seeds: int) -> int | None:
    """The largest number of seeds up to ``seeds`` that was measured."""
    known = [int(size) for size in measured_rates()["seeds"] if int(size) <= seeds]
    return max(known, default=None)


def with_error_rates(card: RigidityCard) -> RigidityCard:
    """The card with a line under every verdict: how often it is false, or how often a red flag would have been found."""
    methods = {
        name: record.model_copy(update={"error_rate": error_rate(record)}) if record.pattern else record
        for name, record in card.methods.items()
    }
    return card.model_copy(update={"methods": methods})


def error_rate(record: RigidityMethod) -> str | None:
    """The line under one verdict."""
    seeds = sum(own.paired for own in record.per_seed.values())
    size = measured_size(seeds)
    if size is None:
        return f"How often such a verdict is false was measured from {min(measured_rates()['seeds'])} seeds on, not for {seeds}."
    at = measured_rates()["seeds"][size]
    worst = at["false_alarms"].get(str(record.pattern))
    if worst is not None:
        low, high = worst["ci95"]
        return (
            f"A certain {record.pattern} is false in {percent(worst['share'])} of null studies with {size} seeds "
            f"(95 %: {percent(low)} to {percent(high)}; {worst['control']})."
        )
    found = at["power"]["red-flag"]
    return (
        f"With {size} seeds a red flag is found with certainty in {percent(found['share'])} of positive controls, and falsely in "
        f"{percent(at['false_alarms']['red-flag']['share'])} of null studies."
    )
