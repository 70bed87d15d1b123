"""``data``: download and check data sets."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from einstellung.cli.output import JSON, print_json

if TYPE_CHECKING:
    from einstellung.sources.survey import Survey

_LINE_INTERVAL = 10.0  # seconds between progress lines where there is no terminal


@click.group()
def data() -> None:
    """Get and check data sets."""


@data.command("get")
@click.argument("name", type=click.Choice(["cifar100"]))
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("data"),
    show_default=True,
    help="Destination folder.",
)
@click.option("--url", help="Another address of the same file.  [default: the published one]")
def get(name: str, folder: Path, url: str | None) -> None:
    """Download a data set (cifar100: 169 MB); an interrupted download is resumed."""
    from einstellung import sources
    from einstellung.sources.downloading import download

    published = sources.PUBLISHED[name]
    with _progress(published.archive) as on_progress:
        downloaded = download(published, folder, url, on_progress)
    state = "is there already" if downloaded.was_there else "is complete"
    click.echo(f"{downloaded.path} {state}, and its md5 is right")


@data.command("check")
@click.option("--data", "folder", type=click.Path(path_type=Path), help="Look here first, as EINSTELLUNG_DATA does.")
@JSON
@click.pass_context
def check(context: click.Context, folder: Path | None, as_json: bool) -> None:
    """List every copy found and whether it is intact; exit code 2 if there is no usable one."""
    from einstellung import sources
    from einstellung.sources.survey import cache_facts, survey

    if folder is not None:
        os.environ["EINSTELLUNG_DATA"] = str(folder)
    click.echo("reading every copy", err=True)
    surveys = {name: survey(published) for name, published in sources.PUBLISHED.items()}
    cache = cache_facts()
    if as_json:
        print_json({**{name: found.to_dict() for name, found in surveys.items()}, "cache": cache})
    else:
        for name, found in surveys.items():
            _show(name, found)
        click.echo(
            f"cache: {cache['path']}, {cache['bytes']:,} bytes" if cache["path"] else f"cache: {cache['problem']}"
        )
    context.exit(0 if all(found.used for found in surveys.values()) else 2)


def _show(name: str, found: Survey) -> None:
    click.echo(f"{name}: {f'usable, from {found.used}' if found.used else f'not usable: {found.published.how_to_get}'}")
    for location, copies in found.locations:
        nothing = "nothing there" if location.exists else "no such folder"
        click.echo(f"  {location.title}{'' if copies else f': {nothing}'}")
        for copy in copies:
            click.echo(f"    {copy.path}: {copy.problem or 'md5 of every file right'}")


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on a terminal, a line every few seconds elsewhere; always on standard error."""
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
        click.echo(f"{name}: {received / 1e6:.0f}{of_all} MB{left}", err=True)

    return on_progress
