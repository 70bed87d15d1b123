"""Writing a report: figures, tables, the scorecard and the page, into one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from einstellung.diagnoses.rigidity.table_catalogue import make_tables
from einstellung.files import write_json, write_text
from einstellung.report.notation import baseline_first
from einstellung.report.table_formats import write_table
from einstellung.results.attention_files import AttentionRuns
from einstellung.results.run_files import RunPictures
from einstellung.timeline import Timeline

_LEVELS = {"chance": "chance", "cue_alone": "cue alone"}


def write_report(
    folder: Path,
    timeline: Timeline,
    card: Mapping[str, Any],
    *,
    proof: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    configuration: str | None = None,
    samples: Path | None = None,
    pictures: Sequence[RunPictures] = (),
    attention: AttentionRuns = MappingProxyType({}),
    title: str = "Einstellung report",
) -> Path:
    """Write ``figures/``, ``tables/``, ``score.json`` and, last, ``report.html`` into ``folder``; return its path.

    ``card`` is the scorecard as a dictionary (:meth:`einstellung.diagnoses.rigidity.score.Scorecard.to_dict`), where there are
    predictions of single images with ``per_image`` (:func:`einstellung.diagnoses.rigidity.per_image.per_image`), where there is
    ``attention`` with its summary (:func:`einstellung.diagnoses.rigidity.attention_summary.attention_summary`). Every file is either
    whole or not there, and equal input gives equal bytes.
    """
    from einstellung.diagnoses.rigidity.figures.catalogue import (
        draw_figures,  # matplotlib takes most of a second to import
    )
    from einstellung.report.page import report_page

    folder, frame = Path(folder), timeline.frame
    write_json(folder / "score.json", card)
    card = baseline_first(card)
    tables, no_table = make_tables(card, proof)
    for name, table in tables.items():
        write_table(folder / "tables", name, table)
    figures, no_figure = draw_figures(
        folder / "figures",
        frame,
        card,
        levels=_levels(proof),
        samples=samples,
        pictures=pictures,
        attention=attention,
    )
    page = report_page(
        frame,
        card,
        figures,
        tables,
        no_figure=no_figure,
        no_table=no_table,
        proof=proof,
        provenance=provenance,
        configuration=configuration,
        title=title,
    )
    return write_text(folder / "report.html", page)


def _levels(proof: Mapping[str, Any] | None) -> dict[str, float]:
    """The accuracies that the stream's proof knows: chance, and what the cue alone can give."""
    facts = (proof or {}).get("facts") or {}
    return {words: float(facts[key]) for key, words in _LEVELS.items() if isinstance(facts.get(key), (int, float))}
