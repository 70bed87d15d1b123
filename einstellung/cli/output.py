"""What verbs have in common: their shared options, and how a scorecard is shown."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from einstellung.results.folder import ResultsFolder

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output, and nothing else.")
OUT = click.option("--out", type=click.Path(path_type=Path), help="Results folder.")


def command_line() -> str:
    """The command as it was given, for the record."""
    return shlex.join(["einstellung", *sys.argv[1:]])


def show_card(card: dict[str, Any], as_json: bool, page: Path | None) -> None:
    if as_json:
        print_json({**card, "report": str(page)} if page is not None else card)
        return
    from rich.console import Console

    from einstellung.report import render_terminal

    render_terminal(card, Console())
    if page is not None:
        click.echo(f"\nreport: {page}")


def show_guide(results: ResultsFolder) -> None:
    """The guide's table of a study, and where its files lie."""
    from rich.console import Console

    from einstellung.guide.files import COMPREHENSIVE
    from einstellung.guide.reporting import guide_card, guide_place
    from einstellung.report import render_terminal

    click.echo()
    render_terminal(guide_card(results), Console())
    click.echo(f"\nresults: {guide_place(results) / COMPREHENSIVE}")


def show_sweep(root: Path, page: Path, as_json: bool) -> None:
    from einstellung.files import read_json

    if as_json:
        print_json(read_json(root / "sweep.json"))
    else:
        click.echo((root / "tables" / "sweep.md").read_text(encoding="utf-8"))
        click.echo(f"report: {page}")


def show_family(cards: dict[str, dict[str, Any]], page: Path, as_json: bool) -> None:
    from einstellung.report.family import family_answer

    if as_json:
        print_json({"studies": cards, "report": str(page)})
        return
    for sentence in family_answer(cards):
        click.echo(sentence)
    click.echo(f"\nreport: {page}")


def print_json(value: Any) -> None:
    from einstellung.files import to_json

    click.echo(to_json(value))
