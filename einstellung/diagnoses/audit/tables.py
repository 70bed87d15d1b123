"""Tables of an audit: findings, controls, proxies, the relative index, and what the images alone predict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.diagnoses.audit.card import AuditCard
from einstellung.report.notation import DASH, number
from einstellung.report.tables import Cell, Missing, Table
from einstellung.results.audit_files import Beats, Box, Finding, Interval, ProxyRow

_MOST_WINDOWS = 20
_TONES = {"localised cue": "bad", "global cue suspected": "warning", "cue suspected": "warning", "cannot tell": "odd"}
_PROXY = "Every Δ is a proxy: accuracy on images of the class minus accuracy with the named mask, at the stated area."


def study_tables(card: AuditCard) -> Mapping[str, Table | Missing]:
    """The tables in the order of the page."""
    return {
        "findings": findings_table(card),
        "controls": controls_table(card),
        "proxies": proxies_table(card),
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
                    Cell(_interval(found.ci95)),
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
        f"{_PROXY} box: top, left, height, width in pixels of the stored images{_stored(card)}. "
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
                    _control(found.nsc, found.beats.nsc),
                    _control(found.random, found.beats.random),
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
        f"{_PROXY} NSC: the same mask on images of other classes; random: masks of equal area elsewhere; then the same "
        "mask with other fillings. pull: the gain of the class when the region is pasted into images of other classes; "
        "null: the largest gain from a random region; strength: their ratio, and the threshold it must exceed; p: how "
        "often the strongest statistic of a clean network is as large."
    )
    return Table("Controls", note, head, tuple(rows), tuple(values), words=2)


def proxies_table(card: AuditCard) -> Table | Missing:
    rows, values = [], []
    every = [row for record in card.methods.values() for row in record.proxies]
    compared = any(row.sfr_rel is not None for row in every)
    controlled = any(row.beats is not None for row in every)
    for name, record in card.methods.items():
        for row in record.proxies:
            rows.append(
                (
                    Cell(name),
                    Cell(card.class_name(row.label)),
                    Cell(f"{row.proxy}: {row.method}"),
                    Cell(number(row.budget, digits=2)),
                    Cell(number(row.area)),
                    Cell(f"{number(row.delta, signed=True)} proxy"),
                    Cell(_interval(row.ci95)),
                    *([_compared(row)] if compared else []),
                    Cell(str(row.n)),
                    *(_controls(row) if controlled else []),
                )
            )
            values.append({"model": name, "name": card.class_name(row.label), **_flat_proxy(row)})
    if not rows:
        return Missing("proxies", "Proxies by class and budget", "no proxy was measured")
    head = ("model", "class", "proxy", "budget", "area", "Δ", "95 %", *(["SFR_rel"] if compared else []), "images")
    head += ("NSC", "random", "fillings", "beats") if controlled else ()
    note = (
        f"{_PROXY} Masks were fitted on different images from those used for evaluation. budget: the maximum share of "
        "pixels."
        + (" SFR_rel: Δ minus Δ of the baseline under the same masks on the same images." if compared else "")
        + (_CONTROLS if controlled else "")
    )
    return Table("Proxies by class and budget", note, head, tuple(rows), tuple(values), words=3)


_CONTROLS = (
    " Controls of deletion maps, on up to 20 images of a class: NSC: Δ of the mask on images of other classes; "
    "random: Δ of masks of equal area and shape elsewhere, their mean and the middle 95 % of them; fillings: the smallest and "
    "largest Δ over black, mean colour, noise, blur and inpainting; beats: how many of the three controls the mask beats."
)


def _controls(row: ProxyRow) -> list[Cell]:
    """What the three controls of a deletion map give; other replacements are controls of each other."""
    if row.beats is None:
        return [Cell(DASH, "no deletion map")] * 4
    low, high = min(row.fillings.values()), max(row.fillings.values())
    return [
        _control(row.nsc, row.beats.nsc),
        Cell(
            f"{number(row.random, signed=True)} {_interval(row.random_ci95)}",
            tone=None if row.beats.random else "warning",
        ),
        Cell(
            f"{number(low, signed=True)} to {number(high, signed=True)}",
            tone=None if row.beats.fillings else "warning",
        ),
        Cell(f"{row.beats.count} of 3"),
    ]


def _compared(row: ProxyRow) -> Cell:
    if row.sfr_rel is None:
        return Cell(DASH, "no baseline")
    return Cell(f"{number(row.sfr_rel, signed=True)} {_interval(row.sfr_rel_ci95)} proxy")


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
                Cell(_interval(row.ci95)),
                Cell(str(row.n)),
            )
        )
        values.append({"name": card.class_name(row.label), **_flat(row)})
    if not rows:
        return Missing("relative", "Relative index", "no baseline was audited, or there is no finding to compare")
    head = ("model", "baseline", "class", "mask", "area", "Δ", "Δ_S", "SFR_rel", "95 %", "images")
    note = (
        f"{_PROXY} SFR_rel: Δ minus Δ of the baseline under the same masks on the same images; above 0, the model relies "
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
            Cell(_plain_box(row.box)),
            Cell(number(row.value)),
            Cell(number(row.null)),
            Cell(number(row.elsewhere)),
            Cell("yes" if row.alarm else "no", tone="warning" if row.alarm else None),
        )
        for row in ordered[:_MOST_WINDOWS]
    ]
    values = [{"name": card.class_name(row.label), **_flat(row)} for row in ordered]
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


def _control(value: float | None, beaten: bool) -> Cell:
    if value is None:
        return Cell(DASH, "not measured")
    return Cell(number(value, signed=True), tone=None if beaten else "warning")


def _box(found: Finding) -> str:
    if found.box is None:
        return "moves" if found.moves else (found.component or DASH)
    return _plain_box(found.box)


def _plain_box(box: Box | None) -> str:
    return DASH if box is None else ", ".join(map(str, box))


def _interval(bounds: Interval) -> str:
    return DASH if bounds is None else f"[{number(bounds[0], signed=True)}, {number(bounds[1], signed=True)}]"


def _numbers(found: Finding) -> dict[str, Any]:
    """A finding as plain columns; the images are in audit.json."""
    flat = found.model_dump(
        mode="json", by_alias=True, exclude={"images", "fillings", "beats", "found_by", "shared_with"}
    )
    return _split_interval(flat) | {
        "found_by": " ".join(found.found_by),
        "shared_with": " ".join(map(str, found.shared_with)),
        "box": _plain_box(found.box) if found.box else None,
        **{f"beats_{name}": getattr(found.beats, name) for name in type(found.beats).model_fields},
        **{f"filling_{name}": value for name, value in found.fillings.items()},
        "images": len(found.images),
    }


def _flat(row: Any) -> dict[str, Any]:
    flat = _split_interval(row.model_dump(mode="json", by_alias=True))
    return flat | ({"box": _plain_box(row.box) if row.box else None} if "box" in flat else {})


def _flat_proxy(row: ProxyRow) -> dict[str, Any]:
    flat = _flat(row)
    fillings, beats = flat.pop("fillings"), flat.pop("beats")
    return (
        flat
        | {f"beats_{name}": (beats or {}).get(name) for name in Beats.model_fields}
        | {f"filling_{name}": value for name, value in fillings.items()}
    )


def _split_interval(flat: dict[str, Any]) -> dict[str, Any]:
    for name in [key for key in flat if key.endswith("ci95")]:
        flat[f"{name}_low"], flat[f"{name}_high"] = flat.pop(name) or (None, None)
    return flat
