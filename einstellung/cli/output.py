"""What verbs have in common: their shared options, and how a card is shown."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from einstellung.diagnoses.reporting import Reported, ReportedFamily, Scored

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output, and nothing else.")
OUT = click.option("--out", type=click.Path(path_type=Path), help="Results folder.")


def command_line() -> str:
    """The command as it was given, for the record."""
    return shlex.join(["einstellung", *sys.argv[1:]])


def show_reported(reported: Reported, as_json: bool) -> None:
    """A study's card, its page, and what else was written."""
    show_scored(reported.scored, as_json, reported.page)
    if not as_json:
        for path in reported.exported:
            click.echo(f"\nresults: {path}")


def show_scored(scored: Scored, as_json: bool, page: Path | None) -> None:
    """Show a card and those of its companions, as text or JSON."""
    if as_json:
        shown = scored.to_json()
        print_json({**shown, "report": str(page)} if page is not None else shown)
        return
    from rich.console import Console

    from einstellung.report.terminal import print_overview

    console = Console()
    card = scored.card.baseline_first()
    print_overview(console, scored.diagnosis.overview(card), card.checks, card.warnings)
    if page is not None:
        click.echo(f"\nreport: {page}")
    for other in scored.companions:
        click.echo()
        print_overview(console, other.diagnosis.overview(other.card))


def show_family(family: ReportedFamily, as_json: bool) -> None:
    """Several studies together."""
    if as_json:
        print_json({**family.data, "report": str(family.page)})
        return
    if family.table is not None:
        from rich.console import Console

        from einstellung.report.terminal import Overview, print_overview

        print_overview(Console(), Overview(family.table))
        click.echo()
    for paragraph in family.answer:
        click.echo(paragraph)
    click.echo(f"\nreport: {family.page}")


def print_json(value: Any) -> None:
    from einstellung.files import to_json

    click.echo(to_json(value))
