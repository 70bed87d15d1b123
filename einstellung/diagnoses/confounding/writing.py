"""Writing the report of confounded tasks: figures, tables, the card and the page, into one folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from einstellung.diagnoses.confounding.published import with_reported
from einstellung.diagnoses.confounding.tables import confounding_tables
from einstellung.report.card_report import write_card
from einstellung.timeline import Timeline


def write_confounding_report(
    folder: Path,
    timeline: Timeline,
    card: Mapping[str, Any],
    *,
    proof: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    configuration: str | None = None,
    samples: Path | None = None,
    title: str = "Confounded tasks",
) -> Path:
    """Write ``figures/``, ``tables/``, ``score.json`` and, last, ``report.html`` into ``folder``; return its path.

    ``card`` is of :func:`einstellung.diagnoses.confounding.score.confounding_score`, with or without what is reported elsewhere
    (:func:`einstellung.diagnoses.confounding.published.with_reported`). Equal input gives equal bytes.
    """
    from einstellung.diagnoses.confounding.figures.catalogue import draw_confounding
    from einstellung.diagnoses.confounding.page import confounding_page  # matplotlib takes most of a second to import

    return write_card(
        Path(folder),
        dict(card) if "reported" in card else with_reported(card),
        confounding_tables,
        lambda figures, card: draw_confounding(figures, timeline, card, samples),
        lambda card, figures, tables, no_figure: confounding_page(
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
