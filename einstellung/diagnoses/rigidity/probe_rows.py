"""What the probes measured, method by method, over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from einstellung.diagnoses.rigidity.card import ProbeRow
from einstellung.metrics.statistics import Summary, summarise
from einstellung.results.probe_files import Probed, ProbeFile

Value = Callable[[Any], float | None]

#: By probe: the fields that tell its readings apart, and the numbers of a reading.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "cka": ("change", "split", "layer"),
    "calibration": ("split",),
    "plasticity": ("net",),
    "flips": ("change", "split"),
}
_VALUES: Mapping[str, Mapping[str, Value]] = {
    "cka": {"cka": lambda one: one.value},
    "calibration": {
        "accuracy": lambda one: one.accuracy,
        "confidence": lambda one: one.confidence,
        "ece_width": lambda one: one.ece_width,
        "ece_mass": lambda one: one.ece_mass,
        "brier": lambda one: one.brier,
        "shortcut_probability": lambda one: one.shortcut_probability,
    },
    "plasticity": {
        "dormant_0": lambda one: one.dormant["0"],
        "dormant_0.025": lambda one: one.dormant["0.025"],
        "effective_rank": lambda one: one.effective_rank,
        "stable_rank": lambda one: one.stable_rank,
        "weight_magnitude": lambda one: one.weight_magnitude,
        "gradient_norm": lambda one: one.gradient_norm,
    },
    "flips": {"negative": lambda one: one.negative, "positive": lambda one: one.positive},
}
NULL = "_two_seeds"  # ends the name of what two seeds of the baseline do


def probe_rows(methods: Sequence[str], probed: Probed) -> dict[str, tuple[ProbeRow, ...]]:
    """By probe, a row for each method and what its readings tell apart, in the order of measuring."""
    return {
        name: tuple(row for method in methods for row in _rows(name, getattr(probed, name), method))
        for name in probed.names
    }


def _rows(probe: str, file: ProbeFile[Any], method: str) -> Iterator[ProbeRow]:
    fields = _FIELDS[probe]
    own = [one for run in file.runs if run.method == method for one in run.readings]
    null = [one for pair in file.null for one in pair.readings]
    for key in dict.fromkeys(tuple(getattr(one, field) for field in fields) for one in own):
        values = _summaries(probe, fields, key, own)
        if other := _summaries(probe, fields, key, null):
            values |= {f"{name}{NULL}": summary for name, summary in other.items()}
        yield ProbeRow(method=method, of=dict(zip(fields, key, strict=True)), values=values)


def _summaries(probe: str, fields: Sequence[str], key: tuple[str, ...], readings: Sequence[Any]) -> dict[str, Summary]:
    chosen = [one for one in readings if tuple(getattr(one, field) for field in fields) == key]
    if not chosen:
        return {}
    return {name: summarise([value(one) for one in chosen]) for name, value in _VALUES[probe].items()}
