"""Writing the report of several shortcuts: figures, tables, the card and the page, into one folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from einstellung.diagnoses.shortcuts.published import with_reported
from einstellung.diagnoses.shortcuts.tables import shortcut_tables
from einstellung.report.card_report import write_card
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

    ``card`` is of :func:`einstellung.diagnoses.shortcuts.score.shortcut_score`, with or without what is reported elsewhere
    (:func:`einstellung.diagnoses.shortcuts.published.with_reported`). Equal input gives equal bytes.
    """
    from einstellung.diagnoses.shortcuts.figures.catalogue import (
        draw_shortcuts,  # matplotlib takes most of a second to import
    )
    from einstellung.diagnoses.shortcuts.page import shortcut_page

    return write_card(
        Path(folder),
        dict(card) if "reported" in card else with_reported(card),
        shortcut_tables,
        lambda figures, card: draw_shortcuts(figures, card, samples),
        lambda card, figures, tables, no_figure: shortcut_page(
            timeline.frame,
            card,
            figures,
            tables,
            no_figure=no_figure,
            proof=proof,
            provenance=provenance,
            configuration=configuration,
            title=title,
        ),
    )
