"""The guide's variant: a composite score with its parts, as a table and a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from einstellung.files import write_json, write_text
from einstellung.guide.claims_table import claims_table
from einstellung.report.notation import DASH, epochs, number
from einstellung.report.table_formats import write_table
from einstellung.report.tables import Cell, Table

PARTS = {
    "adaptation_delay": "adaptation delay",
    "performance_deficit": "performance deficit",
    "shortcut_feature_reliance": "feature reliance",
    "eri_score": "score",
}
_NOTE = (
    "Mean ± standard deviation over seeds. Delay: first epoch of phase 1 with T1_all at or above {threshold:g}. "
    "Deficit: (patched − masked) / patched, not below 0. Reliance: patched / (patched + NSC). "
    "Score: 0.4 min(delay / 50, 1) + 0.4 deficit + 0.2 reliance. Bands: low below 0.3, moderate to 0.6, high above."
)


def guide_table(card: Mapping[str, Any]) -> Table:
    """One row per method: the three parts, the score, its band."""
    rows, values = [], []
    for method, record in card["methods"].items():
        cells, numbers = [], {"method": method, "n_seeds": record["n_seeds"]}
        for part in PARTS:
            estimate = record[part]
            cells.append(Cell(_text(part, estimate), _why(record, part) if estimate["mean"] is None else None))
            numbers |= {f"{part}_{name}": estimate.get(name) for name in ("mean", "sd", "n")}
        rows.append((Cell(method), Cell(str(record["n_seeds"])), *cells, Cell(record["band"] or DASH)))
        values.append({**numbers, "band": record["band"]})
    head = ("method", "seeds", *PARTS.values(), "band")
    note = _NOTE.format(threshold=card["threshold"])
    return Table("The guide's score", note, head, tuple(rows), tuple(values))


def _why(record: Mapping[str, Any], part: str) -> str:
    return record.get("why_undefined") or f"{PARTS[part]} was not measured"


def _text(part: str, estimate: Mapping[str, Any]) -> str:
    write = epochs if part == "adaptation_delay" else number
    if estimate["mean"] is None or estimate["sd"] is None:
        return write(estimate["mean"])
    return f"{write(estimate['mean'])} ± {write(estimate['sd'])}"


def write_guide_report(
    folder: Path,
    card: Mapping[str, Any],
    *,
    provenance: Mapping[str, Any] | None = None,
    title: str = "Einstellung report, guide variant",
) -> Path:
    """Write ``score.json``, ``tables/guide.*``, ``tables/guide_claims.*`` and ``report.html``; return the page's path."""
    from einstellung.report.page import guide_page

    folder = Path(folder)
    tables = {"guide": guide_table(card), "guide_claims": claims_table(card)}
    write_json(folder / "score.json", card)
    for name, table in tables.items():
        write_table(folder / "tables", name, table)
    page = guide_page(card, list(tables.values()), provenance=provenance, title=title)
    return write_text(folder / "report.html", page)
