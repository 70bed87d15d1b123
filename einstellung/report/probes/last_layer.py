"""The paper's Table 4: last layers on frozen features, a row per model and method, and the mean over models below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.metrics.ratios import amplification
from einstellung.report.notation import number
from einstellung.report.probes.last_layer_published import published, reported_for
from einstellung.report.tables import Cell, Table

_GAP = "_gap"
_ERM = "erm"
_NO_CLASS = "no class was given"
_NOT_ALL = "not available for every model"
_NOT_IN_PAPER = "not in the paper"
_ONE = 1.005  # a factor that is written as more than ×1.00

Record = Mapping[str, Any]


def last_layer_table(records: Sequence[Record], mean: Record | None) -> Table:
    """Per cent: clean accuracy, the watermark's gap, the class's own gap and rise, other shifts' gaps; factors above 1 marked."""
    heads = _heads(records)
    rows, values = [], []
    for record in records:
        for method, own in record["methods"].items():
            cells = [_cell(key, own.get(key), own.get("amplification", {}).get(key), record) for key in heads]
            rows.append((Cell(record["model"]), Cell(method), *cells))
            values.append(_values(record["model"], method, own, heads))
            if printed := reported_for(record["model"], method):
                rows.append((Cell(record["model"]), Cell(f"{method}, reported"), *_reported(method, printed, heads)))
                values.append(dict.fromkeys(values[0]) | {"model": record["model"], "method": method})
                values[-1] |= {"source": "reported"} | {key: printed.get(key) for key in heads}
    for method, own in ({} if mean is None else mean["methods"]).items():
        ratios = own.get("amplification", {})
        cells = [_plain_cell(key, own.get(key), ratios.get(key), _NOT_ALL) for key in heads]
        rows.append((Cell("average"), Cell(method), *cells))
        values.append(dict.fromkeys(values[0]) | {"model": "average", "method": method, "source": "mean over models"})
        values[-1] |= {key: own.get(key) for key in heads}
        values[-1] |= {f"{key}_amplification": ratios.get(key) for key in heads if key.endswith(_GAP)}
    return Table(
        "Table 4: last layers on frozen features",
        _note(records),
        ("model", "method", *heads.values()),
        tuple(rows),
        tuple(values),
        words=2,
    )


def _heads(records: Sequence[Record]) -> dict[str, str]:
    asked = records[0]["class"]
    name = (
        "class" if asked is None else "carton" if asked == 478 and records[0]["begins_as_it_was"] else f"class {asked}"
    )
    first = {"clean_acc": "clean", "watermark_gap": "IN-W Gap", "carton_gap": f"{name} Gap", "dp_carton": f"ΔP({name})"}
    own = next(iter(records[0]["methods"].values()))
    others = {key: f"{key.removesuffix(_GAP)} Gap" for key in own if key.endswith(_GAP) and key not in first}
    return first | others


def _note(records: Sequence[Record]) -> str:
    first = records[0]
    members = "" if first["class"] is None else f" ({first['n_carton']} of the given class)"
    words = [
        f"Per cent of {first['n_test']:,} test pictures{members} after learning from {first['n_train']:,}; mean ± "
        f"standard deviation and 95 % interval over {len(first['seeds'])} seeds; Gap: shifted − clean; ΔP: change of "
        "the mean probability under the watermark; ×: the gap as a multiple of erm's (shown above 1); ↑: the 95 % "
        "interval of the factor is above 1."
    ]
    if any(reported_for(record["model"], method) for record in records for method in record["methods"]):
        words.append(f"Reported: {published().source}. The protocols differ: {published().differences}.")
    return " ".join(words)


def _cell(key: str, estimate: Record | None, ratio: Record | None, record: Record) -> Cell:
    if estimate is None or estimate["mean"] is None:
        return Cell(
            number(None), _NO_CLASS if record["class"] is None else f"no test picture of class {record['class']}"
        )
    text = _text(key, estimate["mean"])
    if estimate["sd"] is not None:
        text += f" ± {number(100 * estimate['sd'], digits=_digits(key))}"
    if estimate["ci95"] is not None:
        text += " [{}, {}]".format(*(_text(key, bound) for bound in estimate["ci95"]))
    if ratio is None:
        return Cell(text)
    sure = ratio["ci95"] is not None and ratio["ci95"][0] > 1
    return Cell(text + _factor(ratio["value"], sure), tone="worse" if sure else None)


def _plain_cell(key: str, value: float | None, ratio: float | None, why: str) -> Cell:
    return Cell(number(None), why) if value is None else Cell(_text(key, value) + _factor(ratio, sure=False))


def _reported(method: str, printed: Mapping[str, float], heads: Mapping[str, str]) -> list[Cell]:
    ratios: dict[str, float | None] = {}
    erm = reported_for(published().model, _ERM)
    if method != _ERM and erm is not None:
        for key in (key for key in printed if key.endswith(_GAP)):
            sign = -1 if key == "carton_gap" else 1  # the watermark lifts the class, and costs all others
            ratios[key] = amplification(sign * printed[key], sign * erm[key])
    return [_plain_cell(key, printed.get(key), ratios.get(key), _NOT_IN_PAPER) for key in heads]


def _factor(ratio: float | None, sure: bool) -> str:
    if ratio is None or ratio < _ONE:
        return ""
    return f" ({'↑' if sure else ''}×{number(ratio, digits=2)})"


def _values(model: str, method: str, own: Record, heads: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {"model": model, "method": method, "source": "measured", "seeds": len(own["per_seed"])}
    for key in heads:
        estimate = own.get(key) or {"mean": None, "sd": None, "ci95": None}
        low, high = estimate["ci95"] or (None, None)
        values |= {key: estimate["mean"], f"{key}_sd": estimate["sd"], f"{key}_low95": low, f"{key}_high95": high}
        if key.endswith(_GAP):
            ratio = own.get("amplification", {}).get(key) or {"value": None, "ci95": None}
            least, most = ratio["ci95"] or (None, None)
            names = (f"{key}_amplification", f"{key}_amplification_low95", f"{key}_amplification_high95")
            values |= dict(zip(names, (ratio["value"], least, most), strict=True))
    return values


def _digits(key: str) -> int:
    return 2 if key == "dp_carton" else 1


def _text(key: str, value: float) -> str:
    return number(100 * value, digits=_digits(key), signed=key != "clean_acc")
