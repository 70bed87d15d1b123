"""``data``: download and check data sets."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from einstellung.cli.groups import SectionedGroup
from einstellung.cli.output import JSON, echo, print_json
from einstellung.cli.parameters import PATH
from einstellung.errors import InputError

if TYPE_CHECKING:
    from einstellung.sources.survey import Survey

_NAMES = ["cifar100", "newsgroups", "spamassassin", "ucr"]  # of sources.PUBLISHED, which takes long to import
_LINE_INTERVAL = 10.0  # seconds between progress lines where there is no terminal


@click.group(cls=SectionedGroup)
def data() -> None:
    """Download, check and compose data sets."""


@data.command("get")
@click.argument("name", type=click.Choice(_NAMES))
@click.option(
    "--to",
    "folder",
    type=PATH,
    default=Path("data"),
    show_default=True,
    help="Destination folder.",
)
@click.option("--url", help="Another address of the same file.  [default: the published one]")
def get(name: str, folder: Path, url: str | None) -> None:
    """Download a data set (cifar100: 169 MB, newsgroups: 14 MB). An interrupted download resumes.

    The others have no single file with a known hash; the message says where to get them.
    """
    from einstellung import sources
    from einstellung.sources.downloading import download

    published = sources.PUBLISHED[name]
    if not hasattr(published, "archive"):
        raise InputError(f"{published.title} cannot be downloaded with this command: {published.how_to_get}")
    with _progress(published.archive) as on_progress:
        downloaded = download(published, folder, url, on_progress)
    state = "already exists" if downloaded.was_there else "is complete"
    echo(f"{downloaded.path} {state}, with the right {published.archive_hash[0]}")


@data.command("check")
@click.argument("names", nargs=-1, type=click.Choice(_NAMES), metavar="[NAME]...")
@click.option("--data", "folder", type=PATH, help="Look here instead of in EINSTELLUNG_DATA.")
@JSON
@click.pass_context
def check(context: click.Context, names: tuple[str, ...], folder: Path | None, as_json: bool) -> None:
    """List every copy of a data set and whether it is intact.  [default: of all data sets]

    The exit code is 2 if one of the named data sets has no usable copy; without names, if none has.
    """
    from einstellung import sources
    from einstellung.sources.survey import cache_facts, survey

    if folder is not None:
        os.environ["EINSTELLUNG_DATA"] = str(folder)
    echo("reading every copy", err=True)
    surveys = {name: survey(sources.PUBLISHED[name]) for name in names or sources.PUBLISHED}
    cache = cache_facts()
    if as_json:
        print_json({**{name: found.to_dict() for name, found in surveys.items()}, "cache": cache})
    else:
        for name, found in surveys.items():
            _show(name, found)
        echo(f"cache: {cache['path']}, {cache['bytes']:,} bytes" if cache["path"] else f"cache: {cache['problem']}")
    enough = all if names else any
    context.exit(0 if enough(found.used for found in surveys.values()) else 2)


def _show(name: str, found: Survey) -> None:
    echo(f"{name}: {f'usable, from {found.used}' if found.used else f'no usable copy: {found.published.how_to_get}'}")
    for location, copies in found.locations:
        nothing = "no copy" if location.exists else "no such folder"
        echo(f"  {location.title}{'' if copies else f': {nothing}'}")
        for copy in copies:
            echo(f"    {copy.path}: {copy.problem or f'intact ({copy.known_by})'}")


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on a terminal, a line every few seconds elsewhere; on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(name)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda received, total: bar.update(task, completed=received, total=total)


def _lines(name: str) -> Callable[[int, int | None], None]:
    started = last_line = time.monotonic()
    first: int | None = None

    def on_progress(received: int, total: int | None) -> None:
        nonlocal last_line, first
        first = received if first is None else first  # the bytes of a resumed part took no time
        now = time.monotonic()
        if now - last_line < _LINE_INTERVAL and received != total:
            return
        last_line = now
        speed = (received - first) / (now - started)
        left = f", about {(total - received) / speed:.0f} s left" if total and speed and received < total else ""
        of_all = f" of {total / 1e6:.0f}" if total else ""
        echo(f"{name}: {received / 1e6:.0f}{of_all} MB{left}", err=True)

    return on_progress
