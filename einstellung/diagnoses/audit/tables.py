"""Tables of an audit: findings, controls, proxies, the relative index, and what the images alone predict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.diagnoses.audit.card import AuditCard
from einstellung.diagnoses.audit.cells import PROXY_NOTE, control_cell, flat, interval, plain_box, split_interval
from einstellung.diagnoses.audit.proxy_tables import proxies_table, proxy_controls_table
from einstellung.report.notation import DASH, number
from einstellung.report.tables import Cell, Missing, Table
from einstellung.results.audit_files import Finding

_MOST_WINDOWS = 20
_TONES = {"localised cue": "bad", "global cue suspected": "warning", "cue suspected": "warning", "cannot tell": "odd"}


def study_tables(card: AuditCard) -> Mapping[str, Table | Missing]:
    """The tables in the order of the page."""
    return {
        "findings": findings_table(card),
        "controls": controls_table(card),
        "proxies": proxies_table(card),
        "proxy_controls": proxy_controls_table(card),
        "relative": relative_table(card),
        "data": data_table(card),
    }


def findings_table(card: AuditCard) -> Table:
    """A row for every finding and suspicion; one for a model without any."""
    rows: list[tuple[Cell, ...]] = []
    values: list[dict[str, Any]] = []
    for name, record in card.methods.items():
        verdict = Cell(record.verdict.name, tone=_TONES.get(record.verdict.name))
        accuracy = Cell(number(record.accuracy))
        own: dict[str, Any] = {"model": name, "verdict": record.verdict.name, "accuracy": record.accuracy}
        for place, certain, found in record.numbered:
            rows.append(
                (
                    Cell(name),
                    verdict,
                    Cell(f"{place}{'' if certain else '?'}"),
                    Cell(found.name),
                    Cell(found.kind),
                    Cell(_box(found)),
                    Cell(number(found.area)),
                    Cell(found.construction),
                    Cell(f"{number(found.delta, signed=True)} proxy"),
                    Cell(interval(found.ci95)),
                    Cell(f"{found.beats.count} of 3"),
                    Cell(", ".join(found.found_by) or DASH),
                    accuracy,
                )
            )
            values.append({**own, "finding": place, "is_finding": certain, **_numbers(found)})
        if not record.numbered:
            why = record.cannot_tell or "nothing was found"
            dashes = [Cell(DASH, why)] * 10
            rows.append((Cell(name), verdict, *dashes, accuracy))
            values.append({**own, "finding": None})
    head = (
        "model",
        "verdict",
        "no.",
        "class",
        "kind",
        "box",
        "area",
        "mask",
        "Δ",
        "95 %",
        "beats",
        "found by",
        "accuracy",
    )
    note = (
        f"{PROXY_NOTE} box: top, left, height, width in pixels of the stored images{_stored(card)}. "
        "A question mark means suspected: the finding does not beat all three controls."
    )
    return Table("Findings and suspicions", note, head, tuple(rows), tuple(values), words=2)


def _stored(card: AuditCard) -> str:
    if card.stored_size is None:
        return ", which differ in size: of the image with the strongest effect"
    return f" ({card.stored_size[0]} x {card.stored_size[1]})"


def controls_table(card: AuditCard) -> Table | Missing:
    """The effect of every finding and of its controls."""
    rows, values = [], []
    fillings = list(
        dict.fromkeys(name for record in card.methods.values() for _, _, f in record.numbered for name in f.fillings)
    )
    for name, record in card.methods.items():
        for place, certain, found in record.numbered:
            rows.append(
                (
                    Cell(f"{name}, {place}{'' if certain else '?'}"),
                    Cell(found.name),
                    Cell(number(found.delta, signed=True)),
                    control_cell(found.nsc, found.beats.nsc),
                    control_cell(found.random, found.beats.random),
                    *(Cell(number(found.fillings.get(filling), signed=True)) for filling in fillings),
                    Cell("yes" if found.beats.fillings else "no", tone=None if found.beats.fillings else "warning"),
                    Cell(number(found.pull)),
                    Cell(number(found.pull_null)),
                    Cell(f"{number(found.strength, digits=2)} / {number(found.threshold, digits=2)}"),
                    Cell(number(found.p)),
                )
            )
            values.append({"model": name, "finding": place, **_numbers(found)})
    if not rows:
        return Missing("controls", "Controls", "nothing was found")
    head = ("model, no.", "class", "Δ", "NSC", "random", *fillings, "fillings agree", "pull", "null", "strength", "p")
    note = (
        f"{PROXY_NOTE} NSC: the same mask on images of other classes; random: masks of equal area elsewhere; then the same "
        "mask with other fillings. pull: the gain of the class when the region is pasted into images of other classes; "
        "null: the largest gain from a random region; strength: their ratio, and the threshold it must exceed; p: how "
        "often the strongest statistic of a clean network is as large."
    )
    return Table("Controls", note, head, tuple(rows), tuple(values), words=2)


def relative_table(card: AuditCard) -> Table | Missing:
    rows, values = [], []
    for row in card.relative:
        rows.append(
            (
                Cell(row.model),
                Cell(row.baseline),
                Cell(card.class_name(row.label)),
                Cell(row.mask),
                Cell(number(row.area)),
                Cell(number(row.delta, signed=True)),
                Cell(number(row.delta_baseline, signed=True)),
                Cell(f"{number(row.sfr_rel, signed=True)} proxy"),
                Cell(interval(row.ci95)),
                Cell(str(row.n)),
            )
        )
        values.append({"name": card.class_name(row.label), **flat(row)})
    if not rows:
        return Missing("relative", "Relative index", "no baseline was audited, or there is no finding to compare")
    head = ("model", "baseline", "class", "mask", "area", "Δ", "Δ_S", "SFR_rel", "95 %", "images")
    note = (
        f"{PROXY_NOTE} SFR_rel: Δ minus Δ of the baseline under the same masks on the same images; above 0, the model relies "
        "more on the cue."
    )
    return Table("Relative index (proxy)", note, head, tuple(rows), tuple(values), words=4)


def data_table(card: AuditCard) -> Table | Missing:
    """What predicts a class best, compared with shuffled labels; alarms first."""
    if not card.data:
        return Missing("data", "The images alone", "too few images")
    ordered = sorted(card.data, key=lambda row: (not row.alarm, row.null - row.value))
    rows = [
        (
            Cell(card.class_name(row.label)),
            Cell(row.property or "one window"),
            Cell(plain_box(row.box)),
            Cell(number(row.value)),
            Cell(number(row.null)),
            Cell(number(row.elsewhere)),
            Cell("yes" if row.alarm else "no", tone="warning" if row.alarm else None),
        )
        for row in ordered[:_MOST_WINDOWS]
    ]
    values = [{"name": card.class_name(row.label), **flat(row)} for row in ordered]
    left = (
        f" Showing the {_MOST_WINDOWS} most predictive of {len(ordered)}; the CSV file has all."
        if len(ordered) > _MOST_WINDOWS
        else ""
    )
    head = ("class", "predicted by", "box", "share", "shuffled labels", "best elsewhere", "alarm")
    note = (
        "share: of the class's images, those whose five nearest neighbours, by these pixels or this "
        "property alone, are all of the class; shuffled labels: the largest over all windows, properties and classes, "
        "exceeded in 5 % of shuffles; best elsewhere: the best window that does not overlap. An alarm: more than shuffled "
        "labels, and than that window (Fisher's exact test, 5 % over all classes and windows). No model is involved."
        + left
    )
    return Table("The images alone", note, head, tuple(rows), tuple(values), words=2)


def _box(found: Finding) -> str:
    if found.box is None:
        return "moves" if found.moves else (found.component or DASH)
    return plain_box(found.box)


def _numbers(found: Finding) -> dict[str, Any]:
    """A finding as plain columns; the images are in audit.json."""
    flat = found.model_dump(
        mode="json", by_alias=True, exclude={"images", "fillings", "beats", "found_by", "shared_with"}
    )
    return split_interval(flat) | {
        "found_by": " ".join(found.found_by),
        "shared_with": " ".join(map(str, found.shared_with)),
        "box": plain_box(found.box) if found.box else None,
        **{f"beats_{name}": getattr(found.beats, name) for name in type(found.beats).model_fields},
        **{f"filling_{name}": value for name, value in found.fillings.items()},
        "images": len(found.images),
    }
