"""``report`` and ``ls``."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from einstellung.cli.output import JSON, print_json, show_family, show_reported
from einstellung.errors import InputError

if TYPE_CHECKING:
    from einstellung.results.folder import ResultsFolder


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@JSON
def report(folder: Path, as_json: bool) -> None:
    """Score a results folder (of a study, a sweep, a family or an audit) and rewrite its figures, tables and page."""
    from einstellung.diagnoses.reporting import report_logs, report_study
    from einstellung.results.audit_files import AUDIT_FILE
    from einstellung.results.family import family_file
    from einstellung.results.folder import ResultsFolder
    from einstellung.results.sweep import sweep_file

    results = ResultsFolder(folder)
    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}")
    if sweep_file(folder).exists():
        _report_sweep(results, as_json)
        return
    if family_file(folder).exists():
        _report_family(results, as_json)
        return
    if (folder / AUDIT_FILE).exists():
        show_reported(report_logs(folder), as_json)
        return
    if not results.config_file.exists():
        raise InputError(
            f"{folder} is not a results folder (no config.yaml); for log files use 'einstellung score {folder} --out REPORT'"
        )
    _load_plugins(results)
    with results.in_use():
        reported = report_study(results)
    show_reported(reported, as_json)


def _report_sweep(root: ResultsFolder, as_json: bool) -> None:
    from einstellung.diagnoses.reporting import report_study, report_sweep
    from einstellung.results.folder import ResultsFolder
    from einstellung.results.sweep import read_sweep

    sweep = read_sweep(root.path)
    with root.in_use():
        for name in sweep.points:
            results = ResultsFolder(root.path / name)
            if results.has_finished_runs():
                _load_plugins(results)
                with results.in_use():
                    report_study(results)
        family = report_sweep(root.path)
    show_family(family, as_json)


def _report_family(root: ResultsFolder, as_json: bool) -> None:
    from einstellung.diagnoses.reporting import report_family
    from einstellung.results.family import read_family
    from einstellung.results.folder import ResultsFolder

    names = read_family(root.path)
    with ExitStack() as held:
        held.enter_context(root.in_use())
        for name in names:
            if (root.path / name).is_dir():
                _load_plugins(ResultsFolder(root.path / name))
                held.enter_context(ResultsFolder(root.path / name).in_use())
        family = report_family(root.path, names)
    show_family(family, as_json)


def _load_plugins(results: ResultsFolder) -> None:
    """Load the study's plug-ins: its diagnosis may come from one."""
    if results.config_file.exists() and (plugins := results.config().plugins):
        from einstellung.experiments.plugins import load_plugins

        load_plugins(plugins)


@click.command("ls")
@click.argument(
    "what",
    type=click.Choice(["diagnoses", "learners", "streams", "cues", "covers", "backbones", "launchers", "presets"]),
)
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
            source = f"  ({entry['sources'][key]})" if key in entry["sources"] else ""
            click.echo(f"{'':<{width}}    {key} = {value}{source}")
