"""Tables of probe measurements and of the evidence they give on the verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from einstellung.diagnoses.rigidity.card import Corroboration, ProbeRow
from einstellung.diagnoses.rigidity.probe_rows import NULL
from einstellung.metrics.statistics import Summary
from einstellung.report.notation import DASH, number
from einstellung.report.tables import Cell, Table
from einstellung.results.probe_files import ALL_OF_T2
from einstellung.timeline import HABIT_MASK, HABIT_PATCH, NSC, NSC_PATCHED, SC_CLEAN, SC_MASK, SC_PATCH, T1_ALL

#: What CKA compares, by the change and the split: how a figure and a table head it.
COMPARISONS = {
    ("T1", T1_ALL): "T1 net,\non T1",
    ("T1", SC_PATCH): "T1 net,\non SC",
    ("baseline", SC_PATCH): "baseline,\non SC",
    ("cue", SC_PATCH): "covered,\nSC alone",
    ("cue", ALL_OF_T2): "covered,\nall of T2",
}
CONDITIONS = {
    SC_PATCH: "SC, cue present",
    SC_MASK: "SC, cue covered",
    SC_CLEAN: "SC, without the cue",
    NSC: "NSC",
    NSC_PATCHED: "NSC, cue added",
}
_NETS = {"fresh": "initialised", "T1": "after T1", "T2": "after T2"}
_UPDATES = {
    ("T1", T1_ALL): "T1 images, by T2",
    ("T1", HABIT_PATCH): "T1 images with a habit, cue present, by T2",
    ("T1", HABIT_MASK): "the same, cue covered, by T2",
    ("baseline", SC_PATCH): "SC, cue present, against the baseline",
    ("baseline", SC_MASK): "SC, cue covered, against the baseline",
    ("baseline", NSC): "NSC, against the baseline",
    ("baseline", NSC_PATCHED): "NSC, cue added, against the baseline",
    ("cue", NSC_PATCHED): "NSC, effect of adding the cue",
}


@dataclass(frozen=True)
class _Layout:
    """A table's words, the head of what its rows are of, and head and digits of every number."""

    title: str
    note: str
    of: str
    columns: Mapping[str, tuple[str, int]]


_LAYOUTS = {
    "calibration": _Layout(
        "Calibration with and without the cue",
        "Confidence: the largest probability over the whole head; ECE with 15 bins. Accuracy is averaged over images, "
        "not classes.",
        "images",
        {
            "accuracy": ("accuracy", 3),
            "confidence": ("confidence", 3),
            "ece_width": ("ECE, equal width", 3),
            "ece_mass": ("ECE, equal mass", 3),
            "brier": ("Brier", 3),
            "shortcut_probability": ("p(shortcut classes)", 3),
        },
    ),
    "plasticity": _Layout(
        "Plasticity",
        "Units and features on T2 test images. Gradient norm: mean over the first T2 batches, before any T2 step.",
        "net",
        {
            "dormant_0": ("dormant, τ = 0", 3),
            "dormant_0.025": ("dormant, τ = 0.025", 3),
            "effective_rank": ("effective rank", 1),
            "stable_rank": ("stable rank", 2),
            "weight_magnitude": ("mean |w|", 4),
            "gradient_norm": ("gradient norm", 2),
        },
    ),
    "flips": _Layout(
        "Flips",
        "Shares of images. Negative: right before and wrong after; positive: the reverse. Two seeds: from one baseline "
        "seed to the next.",
        "images and change",
        {
            "negative": ("negative", 3),
            "positive": ("positive", 3),
            f"negative{NULL}": ("negative, two seeds", 3),
            f"positive{NULL}": ("positive, two seeds", 3),
        },
    ),
}


def probe_tables(found: Corroboration) -> dict[str, Table]:
    """What the probes say, then a table for every probe that was run."""
    tables = {"corroboration": corroboration_table(found)} if found.lines else {}
    for probe, rows in found.measured.items():
        tables[f"probe_{probe}"] = cka_table(rows) if probe == "cka" else _table(_LAYOUTS[probe], rows)
    return tables


def corroboration_table(found: Corroboration) -> Table:
    """A row per method and probe: for the verdict, against it or neither, and why."""
    rows, values = [], []
    for line in found.lines:
        rows.append((Cell(line.method), Cell(line.probe), Cell(line.speaks), Cell(line.text)))
        low, high = line.ci95 or (None, None)
        own = {"value": line.value, "low95": low, "high95": high, "n": line.n}
        values.append({"method": line.method, "probe": line.probe, "speaks": line.speaks, **own})
    note = (
        "A probe counts as evidence if the 95 % interval of its contrast with the baseline excludes 0 with at least "
        "three seeds."
    )
    head = ("method", "probe", "speaks", "why")
    return Table("Probe evidence on the verdicts", note, head, tuple(rows), tuple(values), words=4)


def cka_table(rows: tuple[ProbeRow, ...]) -> Table:
    """A row per method and layer: how similar it is to what it is compared with."""
    by_layer: dict[tuple[str, str], dict[tuple[str, str], ProbeRow]] = {}
    for row in rows:
        by_layer.setdefault((row.method, row.of["layer"]), {})[row.of["change"], row.of["split"]] = row
    null = {row.of["layer"]: row.values[f"cka{NULL}"] for row in rows if f"cka{NULL}" in row.values}
    cells, values = [], []
    for (method, layer), found in by_layer.items():
        summaries = [found[key].values["cka"] if key in found else None for key in COMPARISONS]
        cells.append((Cell(method), Cell(layer), *(_cell(one, 3) for one in (*summaries, null.get(layer)))))
        named = {f"{change}_{split}": one for (change, split), one in zip(COMPARISONS, summaries, strict=True)}
        values.append({"method": method, "layer": layer, **_numbers({**named, "two_seeds": null.get(layer)})})
    return Table(
        "Representations: CKA",
        "Unbiased linear CKA, 1 for equal representations; mean ± standard deviation over seeds. Two seeds: one "
        "baseline seed against the next, the effect of initialisation and data order alone. Intervals over images: "
        "probes/cka.json.",
        ("method", "layer", *(head.replace("\n", " ") for head in COMPARISONS.values()), "baseline, two seeds"),
        tuple(cells),
        tuple(values),
        words=2,
    )


def _table(layout: _Layout, rows: tuple[ProbeRow, ...]) -> Table:
    cells, values = [], []
    for row in rows:
        numbers = (_cell(row.values.get(key), digits) for key, (_, digits) in layout.columns.items())
        cells.append((Cell(row.method), Cell(_words(row.of)), *numbers))
        values.append(
            {"method": row.method, **row.of, **_numbers({key: row.values.get(key) for key in layout.columns})}
        )
    heads = tuple(head for head, _ in layout.columns.values())
    note = f"Mean ± standard deviation over seeds. {layout.note}"
    return Table(layout.title, note, ("method", layout.of, *heads), tuple(cells), tuple(values), words=2)


def _words(of: Mapping[str, str]) -> str:
    if "net" in of:
        return _NETS[of["net"]]
    return _UPDATES[of["change"], of["split"]] if "change" in of else CONDITIONS[of["split"]]


def _cell(summary: Summary | None, digits: int) -> Cell:
    if summary is None or summary.mean is None:
        return Cell(DASH)
    spread = "" if summary.sd is None else f" ± {number(summary.sd, digits=digits)}"
    return Cell(number(summary.mean, digits=digits) + spread)


def _numbers(found: Mapping[str, Summary | None]) -> dict[str, Any]:
    return {
        f"{key}_{part}": None if one is None else getattr(one, part)
        for key, one in found.items()
        for part in ("mean", "sd", "n")
    }
