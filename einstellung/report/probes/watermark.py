"""Tables of the watermark probe: models with their average, and the controls of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.report.notation import number
from einstellung.report.tables import Cell, Table

_NO_CLASS_IMAGES = "no image of the class was given"
_COLUMNS = {
    "clean_acc": "clean",
    "watermark_acc": "watermarked",
    "gap": "IN-W Gap",
    "carton_gap": "{name} Gap",
    "p_carton_clean": "P({name})",
    "dp_carton": "ΔP({name})",
    "dp_carton_on_carton": "ΔP({name} | {name})",
}
_SIGNED = {"gap", "carton_gap", "dp_carton", "dp_carton_on_carton"}
_OF_CONTROLS = {"acc": "accuracy", "gap": "gap", "dp_carton": "ΔP({name})", "gap_beyond": "gap beyond it"}


def class_name(record: Mapping[str, Any]) -> str:
    """What the class asked about is called.

    >>> class_name({"class": {"index": 478, "name": None}})
    'class 478'
    """
    return str(record["class"]["name"] or f"class {record['class']['index']}")


def model_table(records: Sequence[Mapping[str, Any]], average: Mapping[str, Any] | None) -> Table:
    """One row per model in per cent with its interval, and the mean over models below."""
    name = class_name(records[0])
    rows = [_row(record) for record in records]
    values = [_values(record) for record in records]
    if average is not None:
        rows.append((Cell("average"), *(_percent(key, average[key]) for key in _COLUMNS), Cell("")))
        values.append(dict.fromkeys(values[0]) | {"model": "average"} | {key: average[key] for key in _COLUMNS})
    return Table(
        "Watermark",
        f"Per cent of {records[0]['n']:,} images ({records[0]['n_carton']} of the class '{name}'), 95 % bootstrap interval "
        "over images; Gap: watermarked − clean; ΔP: change of the mean probability; last: the class that rises most.",
        ("model", *(head.format(name=name) for head in _COLUMNS.values()), "rises most"),
        tuple(rows),
        tuple(values),
    )


def _row(record: Mapping[str, Any]) -> tuple[Cell, ...]:
    bounds = record["intervals"] | record["carton_intervals"]
    cells = (_percent(key, record[key], bounds.get(key)) for key in _COLUMNS)
    top = record["top_rising_class"]
    rise = _percent("dp_carton", top["rise"], top["interval"]).text
    return Cell(record["model"]), *cells, Cell(f"{top['name'] or 'class {}'.format(top['index'])}: {rise}")


def _values(record: Mapping[str, Any]) -> dict[str, Any]:
    bounds = record["intervals"] | record["carton_intervals"]
    values: dict[str, Any] = {"model": record["model"], "n": record["n"], "n_carton": record["n_carton"]}
    for key in _COLUMNS:
        low, high = bounds.get(key) or (None, None)
        values |= {key: record[key], f"{key}_low95": low, f"{key}_high95": high}
    return values | {"top_rising_class": record["top_rising_class"]["index"]}


def control_table(records: Sequence[Mapping[str, Any]]) -> Table:
    """What other overlays do, and what the watermark does beyond each of them."""
    name, rows, values = class_name(records[0]), [], []
    for record in records:
        for control, own in record["controls"].items():
            cells = (_percent(key, own[key], own["intervals"][key]) for key in _OF_CONTROLS)
            rows.append((Cell(record["model"]), Cell(control), *cells))
            entry: dict[str, Any] = {"model": record["model"], "control": control, "what": own["what"]}
            for key in (*_OF_CONTROLS, "dp_carton_beyond"):
                low, high = own["intervals"][key] or (None, None)
                entry |= {key: own[key], f"{key}_low95": low, f"{key}_high95": high}
            values.append(entry)
    return Table(
        "Controls",
        "Per cent, 95 % bootstrap interval over images. Gap beyond it: accuracy under the watermark − under the control, on the "
        "same images.",
        ("model", "control", *(head.format(name=name) for head in _OF_CONTROLS.values())),
        tuple(rows),
        tuple(values),
        words=2,
    )


def _percent(key: str, value: float | None, bounds: Sequence[float] | None = None) -> Cell:
    """A fraction in per cent, probabilities with a digit more; without a value a dash, and why."""
    if value is None:
        return Cell(number(None), _NO_CLASS_IMAGES)
    digits = 2 if "p_carton" in key else 1
    signed = key in _SIGNED or key.endswith("beyond")
    text = number(100 * value, digits=digits, signed=signed)
    if bounds is None:
        return Cell(text)
    low, high = (number(100 * bound, digits=digits, signed=signed) for bound in bounds)
    return Cell(f"{text} [{low}, {high}]")
