"""Several models side by side: their records and the mean over models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

AVERAGED = (
    "clean_acc",
    "watermark_acc",
    "gap",
    "carton_gap",
    "p_carton_clean",
    "p_carton_watermark",
    "dp_carton",
    "dp_carton_on_carton",
)
_OF_CONTROLS = ("acc", "gap", "p_carton", "dp_carton", "gap_beyond", "dp_carton_beyond")


def average(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over models of what every one of them has; null where one has none.

    >>> average([{"gap": -0.1, "controls": {}}, {"gap": -0.3, "controls": {}}])["gap"]
    -0.2
    """
    shared = [name for name in records[0]["controls"] if all(name in record["controls"] for record in records)]
    return {
        "model": "average",
        "models": len(records),
        **{key: _mean([record.get(key) for record in records]) for key in AVERAGED},
        "controls": {
            name: {key: _mean([record["controls"][name][key] for record in records]) for key in _OF_CONTROLS}
            for name in shared
        },
    }


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return sum(defined) / len(values) if len(defined) == len(values) else None
