"""What verbs have in common: their shared options, and how a card is shown."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from einstellung.cli.parameters import PATH
from einstellung.input_words import words_for
from einstellung.visible import escaped_json, visible

if TYPE_CHECKING:
    from einstellung.diagnoses.reporting import Reported, ReportedFamily, Scored

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output, and nothing else.")
OUT = click.option("--out", type=PATH, help="Results folder.")


def echo(text: str = "", err: bool = False) -> None:
    """Print a line; names in it may hold anything, and a terminal must not obey them."""
    click.echo(visible(text), err=err)


def command_line() -> str:
    """The command as it was given, for the record."""
    return shlex.join(["einstellung", *sys.argv[1:]])


def show_reported(reported: Reported, as_json: bool) -> None:
    """A study's card, its page, and what else was written."""
    show_scored(reported.scored, as_json, reported.page)
    if not as_json:
        for path in reported.exported:
            echo(f"\nresults: {path}")


def show_scored(scored: Scored, as_json: bool, page: Path | None) -> None:
    """Show a card and those of its companions, as text or JSON. Damaged files are named on standard error."""
    _name_damaged(scored)
    if as_json:
        shown = scored.to_json()
        print_json({**shown, "report": str(page)} if page is not None else shown)
        return
    from rich.console import Console

    from einstellung.report.terminal import print_overview

    console = Console()
    card = scored.card.baseline_first()
    words = words_for(scored.evidence.facts)
    print_overview(console, scored.diagnosis.overview(card), card.checks, card.warnings, words)
    if page is not None:
        echo(f"\nreport: {page}")
    for other in scored.companions:
        echo()
        print_overview(console, other.diagnosis.overview(other.card), inputs=words)


def show_family(family: ReportedFamily, as_json: bool) -> None:
    """Several studies together. What is damaged or absent is named on standard error: a table of studies has no place for it."""
    from einstellung.results.examination import absent_runs

    for problem in family.problems:
        echo(f"einstellung: {problem}", err=True)
    for name, scored in family.studies.items():
        _name_damaged(scored, f"{name}: ")
        for line in absent_runs(scored.evidence.absent):
            echo(f"einstellung: {name}: {line}", err=True)
    if as_json:
        print_json({**family.data, "report": str(family.page)})
        return
    if family.table is not None:
        from rich.console import Console

        from einstellung.report.terminal import Overview, print_overview

        print_overview(Console(), Overview(family.table))
        echo()
    for paragraph in family.answer:
        echo(paragraph)
    echo(f"\nreport: {family.page}")


def _name_damaged(scored: Scored, lead: str = "") -> None:
    for line in scored.evidence.damaged:
        echo(f"einstellung: {lead}{line}", err=True)
    if unverified := scored.evidence.unverified:
        more = f" and {len(unverified) - 1} more" if len(unverified) > 1 else ""
        echo(
            f"einstellung: {lead}{unverified[0]}{more} could not be verified: an older version recorded no hash",
            err=True,
        )


def print_json(value: Any) -> None:
    from einstellung.files import to_json

    click.echo(escaped_json(to_json(value)))
