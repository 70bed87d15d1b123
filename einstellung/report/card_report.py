"""The report of a card, whatever kind of study it is of: what all kinds do in the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from einstellung.errors import InputError
from einstellung.files import write_json, write_text
from einstellung.report.notation import baseline_first
from einstellung.report.table_formats import write_table
from einstellung.report.tables import Table
from einstellung.report.undefined import Missing
from einstellung.results.config import to_yaml
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline

if TYPE_CHECKING:
    from einstellung.report.figures.catalogue import Drawn  # matplotlib takes most of a second to import

Card = dict[str, Any]


def write_card(
    folder: Path,
    card: Card,
    tables_of: Callable[[Card], Mapping[str, Table]],
    draw: Callable[[Path, Card], tuple[Mapping[str, Drawn], Sequence[Missing]]],
    page_of: Callable[[Card, Mapping[str, Drawn], Mapping[str, Table], Sequence[Missing]], str],
) -> Path:
    """Write ``figures/``, ``tables/``, ``score.json`` and, last, ``report.html`` into ``folder``; return its path."""
    write_json(folder / "score.json", card)
    card = baseline_first(card)
    tables = tables_of(card)
    for name, table in tables.items():
        write_table(folder / "tables", name, table)
    figures, no_figure = draw(folder / "figures", card)
    return write_text(folder / "report.html", page_of(card, figures, tables, no_figure))


def report_folder(
    results: ResultsFolder,
    card_of: Callable[[ResultsFolder, Timeline], Card],
    write: Callable[..., Path],
    kind: str,
) -> tuple[Card, Path]:
    """The card of a results folder and the path of its page, which is headed by ``kind`` and the study's name."""
    timeline = results.merge_timelines()
    if timeline is None:
        raise InputError(f"{results.path} holds no finished run yet")
    config = results.config()
    card = card_of(results, timeline)
    page = write(
        results.path,
        timeline,
        card,
        proof=results.read_optional(results.proof_file),
        provenance=results.read_optional(results.provenance_file),
        configuration=to_yaml(config),
        samples=results.samples_file if results.samples_file.exists() else None,
        title=f"{kind}: {config.name}",
    )
    return card, page
