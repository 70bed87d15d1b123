"""The first screen of a card: verdict, certainty and deciding facets of every method."""

from __future__ import annotations

from einstellung.diagnoses.rigidity.card import RigidityCard, RigidityMethod
from einstellung.diagnoses.rigidity.wording import why_undefined
from einstellung.report.figures.style import styles_of
from einstellung.report.forest import Forest, ForestColumn, ForestRow, ForestValue
from einstellung.report.notation import DASH, FACETS, interval, mean_sd

_HEADS = {"AD": "AD, epochs"}
_DIGITS = {"AD": 0}
_BASELINE_ONLY = "delta"
BASELINE = "baseline"


def make_forest(card: RigidityCard) -> Forest:
    """Every method of a card; where nothing is compared, Δ alone."""
    keys = ("AD", "PD", "SFR_rel", "delta") if card.is_compared else ("delta",)
    return Forest(
        columns=[_column(card, key) for key in keys],
        rows=[_row(card, method, keys, place) for place, method in enumerate(card.methods)],
        caption=_caption(card),
        styles=styles_of(card),
    )


def anchor(place: int) -> str:
    """The id of a method's card."""
    return f"method-{place}"


def _column(card: RigidityCard, key: str) -> ForestColumn:
    facet = FACETS[key]
    return ForestColumn(
        key,
        _HEADS.get(key, facet.head),
        facet.meaning,
        facet.below,
        facet.above,
        margin=card.margins.of(key),
        digits=_DIGITS.get(key, 2),
    )


def _row(card: RigidityCard, method: str, keys: tuple[str, ...], place: int) -> ForestRow:
    record, is_baseline = card.methods[method], method == card.baseline
    certain = record.pattern is not None and record.certainty == "holds"
    return ForestRow(
        method=method,
        verdict=record.pattern or (BASELINE if is_baseline else DASH),
        tone=str(record.pattern) if certain else "",
        certainty=record.shown_certainty or "",
        values={key: _value(card, method, key) for key in keys if not is_baseline or key == _BASELINE_ONLY},
        seeds=record.n_seeds,
        is_baseline=is_baseline,
        anchor=anchor(place),
    )


def _value(card: RigidityCard, method: str, key: str) -> ForestValue:
    record = card.methods[method]
    estimate = record.deciding(key)
    low, high = estimate.ci95 or (None, None)
    undefined = estimate.mean is None
    return ForestValue(
        estimate.mean,
        low,
        high,
        text=mean_sd(key, estimate),
        interval="" if undefined else interval(key, estimate),
        why=why_undefined(card, method, key) if undefined else None,
        reference=_reference(record, key) if method != card.baseline else None,
        note=f"n {estimate.n} of {record.n_seeds}" if 0 < estimate.n < record.n_seeds else "",
    )


def _reference(record: RigidityMethod, key: str) -> float | None:
    """The baseline's Δ on the same seeds."""
    return record.deciding("delta_S").mean if key == _BASELINE_ONLY else None


def _caption(card: RigidityCard) -> str:
    if not card.is_compared:
        return "Δ of every method: mean and 95 % interval over seeds. There is no baseline or method to compare with."
    return (
        f"Mean and 95 % interval over seeds, paired with {card.baseline} by seed. Grey: within the margin. "
        f"Open stars: Δ of {card.baseline} on the same seeds."
    )
