"""Ratio of a method's gap to ERM's: above 1, mitigating one shortcut has amplified another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.metrics.ratios import SMALLEST_GAP, ratio_of_means

GAP = "_gap"
CARTON_GAP = "carton_gap"


def against_erm(own: Sequence[Mapping[str, Any]], erm: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The ratio of every mean gap to ERM's over the same seeds, with Fieller's interval.

    >>> found = against_erm([{"watermark_gap": -0.3}], [{"watermark_gap": -0.2}])["watermark_gap"]
    >>> round(found["value"], 3), found["interval"]
    (1.5, 'n = 1: no interval')
    """
    names = [name for name in own[0] if name.endswith(GAP)]
    return {
        name: ratio_of_means(
            [as_loss(name, seed[name]) for seed in own],
            [as_loss(name, seed[name]) for seed in erm],
            below=-SMALLEST_GAP,
        ).to_dict()
        for name in names
    }


def as_loss(name: str, gap: float | None) -> float | None:
    """The gap with the sign that makes reliance negative: the watermark helps the class of interest and hurts all others.

    >>> as_loss("watermark_gap", -0.2), as_loss("carton_gap", 0.3), as_loss("carton_gap", None)
    (-0.2, -0.3, None)
    """
    return -gap if name == CARTON_GAP and gap is not None else gap
