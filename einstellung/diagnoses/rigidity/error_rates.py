"""False-positive rates of conclusive verdicts in null studies, measured by ``python -m benchmarks verdicts``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from einstellung.diagnoses.rigidity.card import RigidityCard, RigidityMethod
from einstellung.diagnoses.rigidity.words import say
from einstellung.diagnoses.wording import percent
from einstellung.yaml_text import read_yaml

FILE = Path(__file__).with_name("error_rates.yaml")


@cache
def measured_rates() -> Mapping[str, Any]:
    """The measured rates: ``false_alarms`` and ``power`` by verdict and number of seeds, each with its interval."""
    rates: Mapping[str, Any] = read_yaml(FILE)
    return rates


def measured_size(seeds: int) -> int | None:
    """The largest number of seeds up to ``seeds`` that was measured."""
    known = [int(size) for size in measured_rates()["seeds"] if int(size) <= seeds]
    return max(known, default=None)


def with_error_rates(card: RigidityCard) -> RigidityCard:
    """The card with a line below every verdict: its false-positive rate, or the power to detect a red flag."""
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
        return say("rate unknown", least=min(measured_rates()["seeds"]), seeds=seeds)
    at = measured_rates()["seeds"][size]
    worst = at["false_alarms"].get(str(record.pattern))
    if worst is not None:
        low, high = worst["ci95"]
        return say(
            "rate",
            pattern=record.pattern,
            share=percent(worst["share"]),
            size=size,
            low=percent(low),
            high=percent(high),
            control=worst["control"],
        )
    power, false = (at[kind]["red-flag"]["share"] for kind in ("power", "false_alarms"))
    return say("rate of red flags", size=size, power=percent(power), share=percent(false))
