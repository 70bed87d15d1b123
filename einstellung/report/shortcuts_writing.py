"""Writing the report of several shortcuts: figures, tables, the card and the page, into one folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from einstellung.files import write_json, write_text
from einstellung.report.notation import baseline_first
from einstellung.report.published_shortcuts import with_reported
from einstellung.report.shortcuts_tables import shortcut_tables
from einstellung.report.table_formats import write_table
from einstellung.timeline import Timeline


def write_shortcut_report(
    folder: Path,
    timeline: Timeline,
    card: Mapping[str, Any],
    *,
    proof: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    configuration: str | None = None,
    samples: Path | None = None,
    title: str = "Several shortcuts at once",
) -> Path:
    """Write ``figures/``, ``tables/``, ``score.json`` and, last, ``report.html`` into ``folder``; return its path.

    ``card`` is of :func:`einstellung.metrics.shortcuts.shortcut_score`, with or without what is reported elsewhere
    (:func:`einstellung.report.published_shortcuts.with_reported`). Equal input gives equal bytes.
    """
    from einstellung.report.figures.shortcuts import draw_shortcuts  # matplotlib takes most of a second to import
    from einstellung.report.shortcuts_page import shortcut_page

    folder = Path(folder)
    card = dict(card) if "reported" in card else with_reported(card)
    write_json(folder / "score.json", card)
    card = baseline_first(card)
    tables = shortcut_tables(card)
    for name, table in tables.items():
        write_table(folder / "tables", name, table)
    figures, no_figure = draw_shortcuts(folder / "figures", card, samples)
    page = shortcut_page(
        timeline.frame,
        card,
        figures,
        tables,
        no_figure=no_figure,
        proof=proof,
        provenance=provenance,
        configuration=configuration,
        title=title,
    )
    return write_text(folder / "report.html", page)
