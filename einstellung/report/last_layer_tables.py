"""The table of last layers: a row per model and method, and the mean over models below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.report.notation import number
from einstellung.report.tables import Cell, Table

_HEADS = {"clean_acc": "clean", "watermark_gap": "IN-W Gap", "dp_carton": "ΔP(class)"}
_NO_CLASS = "no class was asked about"


def last_layer_table(records: Sequence[Mapping[str, Any]], mean: Mapping[str, Any] | None) -> Table:
    """Per cent: the clean accuracy, the watermark's gap, the rise of the class asked about, and other shifts' gaps."""
    own = next(iter(records[0]["methods"].values()))
    heads = _HEADS | {
        key: f"{key.removesuffix('_gap')} Gap" for key in own if key.endswith("_gap") and key not in _HEADS
    }
    rows, values = [], []
    for record in records:
        for method, measured in record["methods"].items():
            rows.append((Cell(record["model"]), Cell(method), *(_cell(key, measured.get(key)) for key in heads)))
            values.append({"model": record["model"], "method": method, "seeds": len(measured["per_seed"])})
            for key in heads:
                estimate = measured.get(key) or {"mean": None, "sd": None}
                values[-1] |= {key: estimate["mean"], f"{key}_sd": estimate["sd"]}
    for method, measured in ({} if mean is None else mean["methods"]).items():
        cells = (_cell(key, {"mean": measured[key], "sd": None} if key in measured else None) for key in heads)
        rows.append((Cell("average"), Cell(method), *cells))
        values.append(dict.fromkeys(values[0]) | {"model": "average", "method": method})
        values[-1] |= {key: measured.get(key) for key in heads}
    return Table(
        "Last layers on frozen features",
        f"Per cent of {records[0]['n_test']:,} test pictures after learning from {records[0]['n_train']:,}; mean ± standard "
        "deviation over seeds; Gap: shifted − clean; ΔP: change of the mean probability under the watermark.",
        ("model", "method", *heads.values()),
        tuple(rows),
        tuple(values),
        words=2,
    )


def _cell(key: str, estimate: Mapping[str, Any] | None) -> Cell:
    if estimate is None:
        return Cell(number(None), _NO_CLASS)
    digits = 2 if key == "dp_carton" else 1
    text = number(100 * estimate["mean"], digits=digits, signed=key != "clean_acc")
    return Cell(text if estimate["sd"] is None else f"{text} ± {number(100 * estimate['sd'], digits=digits)}")
