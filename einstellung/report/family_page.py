"""What the pages of all families share: files beside them, failed checks and warnings of all studies, links to their pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from einstellung.errors import InputError
from einstellung.files import write_json, write_text
from einstellung.report.measured import fewest_seeds
from einstellung.report.notation import join
from einstellung.report.table_formats import write_table
from einstellung.report.tables import Table
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline

if TYPE_CHECKING:
    from einstellung.report.figures.catalogue import Drawn

PAGE = "family.html"
Cards = Mapping[str, Mapping[str, Any]]


def finished_timelines(root: Path, names: Sequence[str]) -> dict[str, Timeline]:
    """The timelines of the studies below ``root`` that have finished runs; none at all is an error."""
    merged = {name: ResultsFolder(root / name).merge_timelines() for name in names}
    timelines = {name: timeline for name, timeline in merged.items() if timeline is not None}
    if not timelines:
        raise InputError(f"{root} holds no finished run yet")
    return timelines


def write_family_page(
    root: Path,
    template: str,
    cards: Cards,
    *,
    title: str,
    answer: Sequence[str],
    tables: Mapping[str, Table],
    figure: Drawn | None,
    glossary: Sequence[tuple[str, str, str]],
    warnings: Sequence[str] = (),
) -> Path:
    """Write ``family.json``, ``tables/`` and, last, ``family.html`` into ``root``; return its path.

    ``cards`` are by the name of the folder below ``root`` in which the study's own page lies; ``warnings`` are those of none of
    them in particular; ``glossary``: words, the class of their pill, what they mean.
    """
    from einstellung.report.page import render_template  # matplotlib comes with it and takes most of a second to import

    write_json(root / "family.json", {"studies": cards})
    for name, table in tables.items():
        write_table(root / "tables", name, table)
    page = render_template(
        template,
        title=title,
        answer=answer,
        failed=[
            {**check, "name": f"{name}: {check['name']}"}
            for name, card in cards.items()
            for check in card["checks"]
            if check["passed"] is False
        ],
        warnings=[*warnings, *shared_warnings(cards)],
        fewest_seeds=min(fewest_seeds(card) for card in cards.values()),
        links={name: quote(f"{name}/report.html") for name in cards},
        figure=figure,
        tables=tables,
        glossary=glossary,
    )
    return write_text(root / PAGE, page)


def shared_warnings(cards: Cards) -> list[str]:
    """Every warning once, with the studies that it belongs to.

    >>> shared_warnings({"a": {"warnings": ["x", "y"]}, "b": {"warnings": ["x"]}})
    ['a and b: x', 'a: y']
    """
    where: dict[str, list[str]] = {}
    for name, card in cards.items():
        for warning in card["warnings"]:
            where.setdefault(warning, []).append(name)
    return [f"{join(names)}: {warning}" for warning, names in where.items()]
