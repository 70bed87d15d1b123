"""Tables of attention: per method by roll-out, with the accuracies patched and masked, and per head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from einstellung.diagnoses.rigidity.attention import KEYS
from einstellung.diagnoses.rigidity.card import AttentionOfMethod, AttentionRecord, RigidityCard
from einstellung.diagnoses.rigidity.wording import describe_rule, why_dash
from einstellung.report.notation import DASH, FACETS, Spread, mean_sd, number
from einstellung.report.tables import Cell, Table

NOT_PROOF = (
    "Attention does not prove reliance: a model may attend to the cue without needing it, or need it while attending "
    "elsewhere. Reliance is measured by covering the cue, so the table also gives accuracy with the cue and with it "
    "covered."
)
_ACCURACIES = ("SC_patch", "SC_mask")
_HEAD_COLUMNS = ("AS_cue", "SAG", "CTAS", "ADI")
_MEANING = (
    "AS: share of the class token's attention inside the cue's box, on the shortcut classes' test images with the cue, "
    "without it (clean), and with it covered (masked). SAG: (AS cue − AS clean) / AS clean. CTAS: cosine of the mean "
    "maps at the ends of the two phases, on the same images with the cue; own: on each phase's own images. ADI: 1 − "
    "mean cosine between the maps of two images with the cue."
)


def attention_table(card: RigidityCard, attention: AttentionRecord) -> Table:
    """One row per method: attention rolled out over all layers at the end of phase 2."""
    rows, values = [], []
    for method, record in _records(card, attention):
        measured: dict[str, Spread] = {key: record.rollout.measure(key) for key in KEYS}
        scored: dict[str, Spread] = {key: card.methods[method].facet(key) for key in _ACCURACIES}
        cells = [_cell(key, estimate, record.why_undefined.get(key)) for key, estimate in measured.items()]
        accuracies = [_cell(key, estimate, why_dash(card, method, key)) for key, estimate in scored.items()]
        rows.append((Cell(method), *cells, *accuracies))
        values.append({"method": method, "n_seeds": record.n_seeds, **_numbers({**measured, **scored})})
    return Table(
        "Attention on the cue",
        "Mean ± standard deviation over seeds, by attention roll-out at the end of phase 2. "
        f"{_MEANING} SC patched, SC masked: accuracies at {describe_rule(card)}.",
        ("method", *(FACETS[key].head for key in (*KEYS, *_ACCURACIES))),
        tuple(rows),
        tuple(values),
    )


def attention_head_table(card: RigidityCard, attention: AttentionRecord) -> Table:
    """One row per method, layer and head; head 'mean' is the mean map over a layer's heads."""
    rows, values = [], []
    for method, record in _records(card, attention):
        for place in record.heads:
            cells = (_cell(key, place.measure(key), record.why_undefined.get(key)) for key in _HEAD_COLUMNS)
            rows.append((Cell(method), Cell(place.layer), Cell(place.head), *cells))
            where = {"method": method, "layer": place.layer, "head": place.head, "n_seeds": record.n_seeds}
            values.append({**where, **_numbers({key: place.measure(key) for key in KEYS})})
    return Table(
        "Attention on the cue, per head",
        "Mean ± standard deviation over seeds, at the end of phase 2. Head 'mean': the mean map over the heads of a layer. "
        f"{_MEANING}",
        ("method", "layer", "head", *(FACETS[key].head for key in _HEAD_COLUMNS)),
        tuple(rows),
        tuple(values),
    )


def _records(card: RigidityCard, attention: AttentionRecord) -> Iterator[tuple[str, AttentionOfMethod]]:
    """The methods with attention, in the card's order."""
    found = attention.methods
    return ((method, found[method]) for method in card.methods if method in found)


def _cell(key: str, estimate: Spread, why: str | None) -> Cell:
    if estimate.mean is None:
        return Cell(DASH, why)
    if key != "SAG":
        return Cell(mean_sd(key, estimate))
    # A ratio that may be large: a third decimal carries no information.
    mean, sd = number(estimate.mean, digits=2, signed=True), number(estimate.sd, digits=2)
    return Cell(mean if estimate.sd is None else f"{mean} ± {sd}")


def _numbers(estimates: Mapping[str, Spread]) -> dict[str, Any]:
    return {
        f"{key}_{part}": getattr(estimate, part) for key, estimate in estimates.items() for part in ("mean", "sd", "n")
    }
