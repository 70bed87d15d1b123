"""Progress of long operations, always on standard error."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from einstellung.cli.output import echo

_STAGE_INTERVAL = 5.0  # seconds between lines where there is no terminal


@contextmanager
def report_progress(title: str = "") -> Iterator[None]:
    """Show how far a report is while it is written in this block: a bar on a terminal, a line every few seconds elsewhere."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from einstellung.report.stages import listening
    from einstellung.visible import visible

    lead = f"report of {title}" if title else "report"
    console = Console(stderr=True)
    if not console.is_terminal:
        with listening(_stage_lines(lead)):
            yield
        return
    columns = (TextColumn(escape(visible(lead))), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        with listening(
            lambda *stage: bar.update(task, description=_stage(*stage), completed=stage[1] - 1, total=stage[2])
        ):
            yield


def _stage_lines(lead: str) -> Callable[[str, int, int], None]:
    """A line when a report begins, and one every few seconds while it is written."""
    last = -math.inf

    def on_stage(what: str, number: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _STAGE_INTERVAL:
            last = time.monotonic()
            echo(f"{lead}: {_stage(what, number, total)}", err=True)

    return on_stage


def _stage(what: str, number: int, total: int) -> str:
    """A stage in words.

    >>> _stage("figure", 3, 12), _stage("scoring", 1, 1)
    ('figure 3 of 12', 'scoring')
    """
    return f"{what} {number} of {total}" if total > 1 else what


@contextmanager
def progress_bar(title: str, done: str, unit: str = "images") -> Iterator[Callable[[int, int], object]]:
    """Yield a callback ``(count, total)``: a bar called ``title`` on a terminal, lines with ``done`` and ``unit`` elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from einstellung.scenes.progress import progress_logger

    console = Console(stderr=True)
    if not console.is_terminal:
        yield progress_logger(done, lambda line: echo(line, err=True), unit=unit)
        return
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda count, total: bar.update(task, completed=count, total=total)
