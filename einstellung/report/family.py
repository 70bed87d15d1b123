"""The page of several studies: a family or a sweep, whatever the diagnosis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from einstellung.checks import Check
from einstellung.files import write_json, write_text
from einstellung.prose import join
from einstellung.report.page import render_template
from einstellung.report.table_formats import write_table
from einstellung.report.tables import Table

if TYPE_CHECKING:
    from einstellung.report.figures.plan import Plan

FAMILY, SWEEP = "family", "sweep"


@dataclass(frozen=True)
class Study:
    """What the page shows of one of its studies, whose own page lies in ``folder`` below it."""

    folder: str
    checks: Sequence[Check]
    warnings: Sequence[str]
    fewest_seeds: int


@dataclass(frozen=True)
class FamilyPage:
    """All that the page shows; ``name`` is that of its files (``family.html``, ``family.json``), ``data`` goes into the latter.

    ``tables`` are shown in their order, those in ``hidden`` are only written, ``printed`` is shown on a terminal too.
    ``glossary``: word, class of its pill, meaning. ``template`` extends ``family.html``.
    """

    name: str
    title: str
    kicker: str
    answer: Sequence[str]
    data: Mapping[str, Any]
    tables: Mapping[str, Table]
    figures: Sequence[Plan] = ()
    glossary: Sequence[tuple[str, str, str]] = ()
    hidden: Sequence[str] = ()
    printed: str | None = None
    warnings: Sequence[str] = ()
    template: Path | None = None
    own: Mapping[str, Any] = field(default_factory=dict)


def write_family_page(root: Path, page: FamilyPage, studies: Sequence[Study]) -> Path:
    """Write tables, figures, JSON and, last, the page into ``root``; return its path."""
    from einstellung.report.figures.plan import draw_figures  # matplotlib takes most of a second to import

    write_json(root / f"{page.name}.json", page.data)
    for name, table in page.tables.items():
        write_table(root / "tables", name, table)
    figures, missing = draw_figures(page.figures, root / "figures")
    html = render_template(
        page.template or "family.html",
        title=page.title,
        kicker=page.kicker,
        answer=page.answer,
        failed=[
            Check(f"{study.folder}: {check.name}", check.passed, check.detail)
            for study in studies
            for check in study.checks
            if check.passed is False
        ],
        warnings=[*page.warnings, *shared_warnings((study.folder, study.warnings) for study in studies)],
        fewest_seeds=min(study.fewest_seeds for study in studies),
        links={study.folder: quote(f"{study.folder}/report.html", safe="/=,") for study in studies},
        figures=figures,
        missing=missing,
        tables={name: table for name, table in page.tables.items() if name not in page.hidden and table.rows},
        glossary=page.glossary,
        page_name=page.name,
        **page.own,
    )
    return write_text(root / f"{page.name}.html", html)


def shared_warnings(warnings: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Every warning once, with the studies that it belongs to.

    >>> shared_warnings([("a", ["x", "y"]), ("b", ["x"])])
    ['a and b: x', 'a: y']
    """
    where: dict[str, list[str]] = {}
    for name, own in warnings:
        for warning in own:
            where.setdefault(warning, []).append(name)
    return [f"{join(names)}: {warning}" for warning, names in where.items()]
