"""``report`` and ``ls``."""

from __future__ import annotations

import shutil
import sys
import textwrap
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from einstellung.cli.output import JSON, echo, print_json, show_family, show_reported
from einstellung.cli.parameters import PATH
from einstellung.cli.progress import report_progress
from einstellung.errors import InputError
from einstellung.hashes import DamagedError

if TYPE_CHECKING:
    from einstellung.results.folder import ResultsFolder


@click.command()
@click.argument("folder", type=PATH)
@JSON
def report(folder: Path, as_json: bool) -> None:
    """Score a results folder again and rewrite its figures, tables and report.

    FOLDER holds a study, a sweep, a family of studies or an audit.
    """
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
    if not results.is_study:
        raise InputError(
            f"{folder} is not a results folder (no config.yaml); for log files use 'einstellung score {folder} --out REPORT'"
        )
    with results.in_use(), report_progress():
        _load_plugins(results)
        reported = report_study(results)
    show_reported(reported, as_json)


def _report_sweep(root: ResultsFolder, as_json: bool) -> None:
    from einstellung.diagnoses.reporting import report_study, report_sweep
    from einstellung.results.folder import ResultsFolder
    from einstellung.results.sweep import read_sweep

    with root.in_use():
        sweep = read_sweep(root.path)
        for name in sweep.points:
            results = ResultsFolder(root.path / name)
            if results.has_finished_runs():
                with (
                    results.in_use(),
                    report_progress(name),
                    suppress(DamagedError),
                ):  # it is named with the whole sweep
                    _load_plugins(results)
                    report_study(results)
        with report_progress("all studies"):
            family = report_sweep(root.path)
    show_family(family, as_json)


def _report_family(root: ResultsFolder, as_json: bool) -> None:
    from einstellung.diagnoses.reporting import report_family
    from einstellung.results.family import read_family
    from einstellung.results.folder import ResultsFolder

    with ExitStack() as held:
        held.enter_context(root.in_use())
        names = read_family(root.path)
        for name in names:
            if (root.path / name).is_dir():
                held.enter_context(ResultsFolder(root.path / name).in_use())
                with suppress(DamagedError):  # it is named with the whole family
                    _load_plugins(ResultsFolder(root.path / name))
        with report_progress("all studies"):
            family = report_family(root.path, names)
    show_family(family, as_json)


def _load_plugins(results: ResultsFolder) -> None:
    """Load the study's plug-ins: its diagnosis may come from one."""
    if results.is_study and (plugins := results.config().plugins):
        from einstellung.experiments.plugins import load_plugins

        load_plugins(plugins)


@click.command("ls")
@click.argument(
    "what",
    type=click.Choice(["diagnoses", "learners", "streams", "cues", "covers", "backbones", "launchers", "presets"]),
)
@JSON
def list_(what: str, as_json: bool) -> None:
    """List the names that a configuration can use."""
    from einstellung.experiments.catalogue import catalogue

    entries = catalogue(what)
    if as_json:
        print_json({what: entries})
        return
    width = max(len(entry["name"]) for entry in entries)
    for entry in entries:
        _echo_wrapped(f"{entry['name']:<{width}}  ", entry["summary"])
        for key, value in entry["options"].items():
            source = f"  ({entry['sources'][key]})" if key in entry["sources"] else ""
            _echo_wrapped(f"{'':<{width}}    {key} = ", f"{value}{source}", " " * (width + 6))


def _echo_wrapped(lead: str, text: str, indent: str | None = None) -> None:
    """Print a lead and a text, wrapped to the terminal below its own beginning; elsewhere in one line, for other programs."""
    line = lead + text
    if sys.stdout.isatty():
        hang = " " * len(lead) if indent is None else indent
        columns = max(shutil.get_terminal_size().columns, len(hang) + 20)
        line = textwrap.fill(line, columns, subsequent_indent=hang, break_on_hyphens=False)
    echo(line)
