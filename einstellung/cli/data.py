"""``data``: files of published data sets."""

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

_PAUSE = 10.0  # seconds between the lines of a download that no terminal shows


@click.group()
def data() -> None:
    """Get and check data sets."""


@data.command("get")
@click.argument("name", type=click.Choice(["cifar100"]))
@click.option(
    "--to", "folder", type=click.Path(path_type=Path), default=Path("data"), show_default=True, help="Into this folder."
)
@click.option("--url", help="Another address of the same file.  [default: its published one]")
def get(name: str, folder: Path, url: str | None) -> None:
    """Download a data set (cifar100: 169 MB); a download that was cut goes on where it stopped."""
    from einstellung import sources
    from einstellung.sources.downloading import download

    published = sources.PUBLISHED[name]
    with _progress(published.archive) as heard:
        fetched = download(published, folder, url, heard)
    what = "is there already, and its md5 is right" if fetched.was_there else "is complete, and its md5 is right"
    click.echo(f"{fetched.path} {what}")


@data.command("check")
@click.option("--data", "folder", type=click.Path(path_type=Path), help="Look here first, as EINSTELLUNG_DATA does.")
@JSON
@click.pass_context
def check(context: click.Context, folder: Path | None, as_json: bool) -> None:
    """Say what is found where, and whether it can be used; exit code 2 if it cannot."""
    from einstellung import sources
    from einstellung.sources.survey import cache_facts, survey

    if folder is not None:
        os.environ["EINSTELLUNG_DATA"] = str(folder)
    click.echo("reading every copy that is found", err=True)
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
    click.echo(f"{name}: {f'usable, from {found.used}' if found.used else f'not usable: {found.published.get_it}'}")
    for place, holdings in found.places:
        nothing = "nothing there" if place.exists else "no such folder"
        click.echo(f"  {place.words}{'' if holdings else f': {nothing}'}")
        for holding in holdings:
            click.echo(f"    {holding.path}: {holding.problem or 'md5 of every file right'}")


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int | None], None]]:
    """A bar with the time left on a terminal, a line now and then elsewhere; always on standard error."""
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
    begun = said = time.monotonic()
    first: int | None = None

    def heard(received: int, total: int | None) -> None:
        nonlocal said, first
        first = received if first is None else first  # a resumed download has bytes that took no time
        now = time.monotonic()
        if now - said < _PAUSE and received != total:
            return
        said = now
        pace = (received - first) / (now - begun)
        left = f", about {(total - received) / pace:.0f} s left" if total and pace and received < total else ""
        of_all = f" of {total / 1e6:.0f}" if total else ""
        click.echo(f"{name}: {received / 1e6:.0f}{of_all} MB{left}", err=True)

    return heard
