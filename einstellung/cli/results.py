"""``report`` and ``ls``: what there is."""

from __future__ import annotations

from pathlib import Path

import click

from einstellung.cli.output import JSON, print_json, show_card
from einstellung.errors import InputError


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@JSON
def report(folder: Path, as_json: bool) -> None:
    """Score a results folder and write its figures, tables and page anew."""
    from einstellung.experiments.folder import ResultsFolder

    results = ResultsFolder(folder)
    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}")
    if not results.config_file.exists():
        raise InputError(
            f"{folder} is not a results folder (no config.yaml); for log files use 'einstellung score {folder} --out REPORT'"
        )
    from einstellung.report.study import report_study

    with results.in_use():
        card, page = report_study(results)
    show_card(card, as_json, page)


@click.command("ls")
@click.argument("what", type=click.Choice(["learners", "streams", "cues", "covers", "backbones", "presets"]))
@JSON
def list_(what: str, as_json: bool) -> None:
    """List what can be named in a configuration."""
    from einstellung.experiments.catalogue import catalogue

    entries = catalogue(what)
    if as_json:
        print_json({what: entries})
        return
    width = max(len(entry["name"]) for entry in entries)
    for entry in entries:
        click.echo(f"{entry['name']:<{width}}  {entry['summary']}")
        for key, value in entry["options"].items():
            click.echo(f"{'':<{width}}    {key} = {value}")
